"""States over time: their sums are the report's, for any intervals, window and way of running."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace

import pytest

import fiberscope
from fiberscope.accelerators import configuration, find
from fiberscope.models.graphs.execution import run as run_graph
from fiberscope.results.errors import UnwrittenFileError
from fiberscope.results.recording import simulation
from fiberscope.results.recording.document import ComponentStates, StateTimeline, iterate_slices
from fiberscope.results.recording.files import StateFiles
from fiberscope.results.recording.watch import Queue, StateWatch
from fiberscope.results.report import timeline
from fiberscope.sim import ANY, Component, Input, Kernel, Output
from fiberscope.workloads import load

MATRIX = "uniform:rows=40,cols=40,nonzeros=300,seed=3"
SETTINGS = {"pe.count": 4, "pe.radix": 4, "fibercache.banks": 4, "fibercache.size": "8 KiB"}
LARGE = ("outerspace", "sigma", "graphicionado", "weight_stationary")
FINE = {"max_intervals": 1 << 20}
KINDS = {"busy": "busy", "idle": "idle", "wait": "input_stall", "full": "output_stall"}


def summed(states):
    """Cycles of each component by what a report calls them, over all intervals."""
    found = {}
    for name, one in states.components.items():
        totals = dict.fromkeys(KINDS.values(), 0)
        for state, cycles in one.states.items():
            totals[KINDS[state.partition(":")[0]]] += sum(cycles)
        found[name] = totals
    return found


def told(report):
    return {
        name: {kind: getattr(one, kind) for kind in KINDS.values()} for name, one in report.components.items()
    }


def by_port(report):
    """Stalls of a report by component and port, those of an array together."""
    found = {}
    for name, one in report.components.items():
        for word, ports in (("wait", one.input_stall_by_port), ("full", one.output_stall_by_port)):
            for port, cycles in ports.items():
                key = (name, f"{word}:{port.partition('[')[0]}")
                found[key] = found.get(key, 0) + cycles
    return found


@pytest.mark.parametrize(
    "machine", ["gamma", "extensor", "toy", *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)]
)
def test_the_sums_over_time_are_the_accounting_of_the_report(machine, toy, tmp_path):
    file = tmp_path / "states.json"
    report = fiberscope.simulate(machine, MATRIX, timeline=file)
    states = StateTimeline.read(file)
    assert (states.start, states.end) == (0, report.cycles)
    assert summed(states) == told(report)
    for one in states.components.values():
        assert {len(cycles) for cycles in one.states.values()} <= {states.intervals}
        assert {len(queue.tokens) for queue in one.queues.values()} <= {states.intervals}
    ports = {}
    for name, one in states.components.items():
        for state, cycles in one.states.items():
            if ":" in state:
                key = (name, state.partition("[")[0])
                ports[key] = ports.get(key, 0) + sum(cycles)
                assert one.waits_for[state]
    assert ports == by_port(report)


def test_watching_changes_nothing_of_the_report(tmp_path):
    watched = fiberscope.simulate("gamma", MATRIX, settings=SETTINGS, timeline=tmp_path / "states.json")
    alone = fiberscope.simulate("gamma", MATRIX, settings=SETTINGS)
    assert watched.model_copy(update={"host": alone.host}) == alone


def seen(window=None, limits=None, **kernel_options):
    """Gamma's states, of a small run."""
    kind = find("gamma")
    parameters = configuration.load(kind.configuration, kind.shipped, name="gamma", settings=SETTINGS)
    matrix = load(MATRIX).matrix
    machine = kind.models["event"](parameters, matrix, matrix, kernel=Kernel(**kernel_options))
    watch = StateWatch(machine.kernel, window, **(limits or {}))
    timeline.run(machine, [watch], None, lambda _cycle: None)
    return watch.states()


@pytest.mark.parametrize("way", [{"sleep": False}, {"order_seed": 5}], ids=["never asleep", "shuffled"])
def test_it_does_not_depend_on_how_the_machine_runs(way):
    assert seen(**way) == seen()


def test_longer_intervals_are_the_shorter_ones_together():
    fine = seen(limits=FINE)
    assert fine.interval == 1
    for one in fine.components.values():
        assert {sum(spent) for spent in zip(*one.states.values(), strict=True)} <= {0, 1, 2}
    coarse = seen(limits={"max_intervals": 50})
    assert coarse.intervals <= 50 < fine.intervals
    check_intervals(coarse, fine)


def check_intervals(coarse, fine):
    """Each interval has the sum of its cycles, and the tokens of its last; only the last one is shorter."""
    ends = [coarse.start + (number + 1) * coarse.interval for number in range(coarse.intervals)]
    ends = [min(coarse.end, end) for end in ends]
    for name, one in coarse.components.items():
        exact = fine.components[name]
        for state, cycles in one.states.items():
            sums = [0, *accumulate(exact.states[state])]
            assert list(accumulate(cycles)) == [sums[end] - sums[coarse.start] for end in ends]
        for port, queue in one.queues.items():
            assert queue.tokens == [exact.queues[port].tokens[end - 1] for end in ends]


def test_only_the_last_interval_of_a_window_or_a_run_is_shorter():
    fine = seen(limits=FINE)
    for cycles in range(1, 24):
        check_intervals(seen((300, 300 + cycles), limits={"max_intervals": 8}), fine)
    for fewer in range(5):
        check_intervals(seen(limits={"max_intervals": fine.end - fewer}), fine)


@pytest.mark.parametrize("window", [(0, 100), (300, 700), (301, 302), (1000, 10**9), (10**8, 10**9)])
def test_a_window_is_cut_out_of_the_whole(window):
    whole, part = seen(limits=FINE), seen(window, limits=FINE)
    start, end = window
    assert (part.start, part.end) == (start, max(start, min(end, whole.end)))
    for name, one in part.components.items():
        cut = {
            state: cycles[start:end]
            for state, cycles in whole.components[name].states.items()
            if any(cycles[start:end])
        }
        assert one.states == cut
        assert {port: queue.tokens for port, queue in one.queues.items()} == {
            port: queue.tokens[start:end] for port, queue in whole.components[name].queues.items()
        }


class Restless(Component):
    """Changes its state at random, and is never done before a million cycles."""

    PORTS = (Input("in", ANY), Output("out", ANY))
    LAST = 1_000_000

    def __init__(self, name, seed):
        super().__init__(name)
        self.random = random.Random(seed)

    def tick(self, now):
        if now >= self.LAST:
            return self.idle()
        self.wake_at(min(self.LAST, now + self.random.randrange(1, 8000)))
        waits = (lambda: self.wait_input(self.source), lambda: self.wait_output(self.sink))
        self.random.choice((self.idle, *waits, lambda: self.busy(now + 1)))()  # works: it is no deadlock
        return -1

    def elaborate(self):
        self.source, self.sink = self.channel("in"), self.channel("out")


def test_a_million_cycles_of_200_components_stay_below_five_megabytes():
    kernel = Kernel()
    kernel.clock("core", 10**9)
    ring = [kernel.add(Restless(f"ring.part{number:03d}", number)) for number in range(200)]
    for before, after in zip(ring, [*ring[1:], ring[0]], strict=True):
        kernel.connect(before, "out", after, "in", capacity=1)
    kernel.build()
    watch = StateWatch(kernel)
    machine = type("Machine", (), {"kernel": kernel})()
    timeline.run(machine, [watch], Restless.LAST, lambda _cycle: None)
    states = watch.states()
    size = len(states.to_json())
    assert states.end == Restless.LAST
    assert 1_000_000 < size < 5_000_000
    assert states.intervals > 300
    assert all(sum(map(sum, one.states.values())) == Restless.LAST for one in states.components.values())


def test_some_families_are_seen_as_they_are_among_all():
    whole, some = seen(), seen(limits={"families": {"pe.merger", "scheduler"}})
    assert set(some.components) == {
        "gamma.scheduler",
        *(f"gamma.pe{number:02}.merger" for number in range(4)),
    }
    assert all(one == whole.components[name] for name, one in some.components.items())


def test_intervals_grow_until_the_document_is_small_enough():
    large = seen()
    small = seen(limits={"max_bytes": 100_000})
    assert len(large.to_json()) > 100_000
    assert len(small.to_json()) < 120_000  # names and braces are not counted to the letter
    assert small.interval > large.interval
    assert summed(small) == summed(large)
    ratio = small.interval // large.interval
    ends = [min(number, large.intervals) - 1 for number in range(ratio, large.intervals + ratio, ratio)]
    for name, one in small.components.items():
        for port, queue in one.queues.items():
            fine = large.components[name].queues[port].tokens
            assert queue.tokens == [fine[end] for end in ends]


@pytest.mark.parametrize(
    ("capacities", "together"), [((2, 5), 7), ((2, None, 5), None), ((None, 2), None), ((), 0)]
)
def test_channels_of_an_array_of_ports_have_room_together(capacities, together):
    queue = Queue()
    for capacity in capacities:
        queue.add(SimpleNamespace(bounded=capacity is not None, capacity=capacity))
    assert (queue.capacity, len(queue.channels)) == (together, len(capacities))


def test_slices_by_hand():
    """Intervals of 2 cycles: busy; busy and idle, in which order is not known; idle twice."""
    states = {"busy": [2, 1, 0, 0], "idle": [0, 1, 2, 2]}
    assert list(iterate_slices(ComponentStates(clock="core", states=states))) == [
        ("busy", 0, 2, 0),
        ("busy", 2, 3, 2),
        ("idle", 3, 4, 2),
        ("idle", 4, 8, 0),
    ]


def test_a_graph_tells_its_blocks(tmp_path):
    file = tmp_path / "states.json"
    tensors = {"B": "uniform:rows=12,cols=9,nonzeros=40", "c": "ones"}
    report = run_graph("examples/graphs/spmv.gv", tensors, timeline=StateFiles(file))
    states = StateTimeline.read(file)
    assert summed(states) == told(report)


@pytest.mark.parametrize(
    ("fault", "error"), [("deadlock", fiberscope.DeadlockedRunError), ("wrong", fiberscope.VerificationError)]
)
def test_a_run_that_goes_wrong_leaves_its_timeline(fault, error, toy, tmp_path):
    file = tmp_path / "states.json"
    with pytest.raises(error) as raised:
        fiberscope.simulate(toy, MATRIX, settings={"fault": fault}, timeline=file)
    assert summed(StateTimeline.read(file)) == told(raised.value.report)


def test_an_incomplete_run_has_all_up_to_its_limit(tmp_path):
    file = tmp_path / "states.json"
    report = fiberscope.simulate("gamma", MATRIX, settings=SETTINGS, cycle_limit=555, timeline=file)
    states = StateTimeline.read(file)
    assert states.end == 555
    assert summed(states) == told(report)


def test_a_run_of_no_cycle_has_no_interval(toy, tmp_path):
    import numpy as np
    from scipy import sparse

    file = tmp_path / "states.json"
    fiberscope.simulate(
        toy, sparse.csr_array(np.zeros((4, 4))), timeline=StateFiles(file, tmp_path / "trace")
    )
    states = StateTimeline.read(file)
    assert (states.intervals, states.end) == (0, 0)


def simulated(given):
    """A run with a file, or with the arguments of ``StateFiles``."""
    files = StateFiles(*given) if isinstance(given, tuple) else given
    fiberscope.simulate("gamma", MATRIX, timeline=files)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((Path("-"),), "-: a timeline goes to a file; give it a name"),
        ((Path("a.json"), None, (9, 3)), "the timeline's window 9:3 holds no cycle"),
        ((None, None, (1, 3)), "a timeline's window needs a timeline"),
        (7, "timeline=7: it should be a path or a fiberscope.StateFiles"),
        ("none/a.json", "none/a.json: there is no folder none"),
        ((Path("a"), Path("a")), "a: cannot be both the timeline and the trace for Perfetto"),
    ],
)
def test_what_cannot_be_is_refused(given, message, here):
    with pytest.raises(fiberscope.InputError, match=message):
        simulated(given)
    assert list(here.iterdir()) == []


def test_a_missing_library_is_named(monkeypatch, toy, tmp_path):
    monkeypatch.setattr("fiberscope.results.recording.perfetto.find_spec", lambda _name: None)
    with pytest.raises(fiberscope.InputError, match=r"pip install 'fiberscope\[perfetto\]'"):
        fiberscope.simulate(toy, MATRIX, timeline=StateFiles(perfetto=tmp_path / "trace"))


def test_a_file_that_cannot_be_written_costs_no_report(toy, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()

    def remove(stage, _done, _total):
        if stage == "simulating" and folder.exists():
            folder.rmdir()

    with pytest.raises(fiberscope.UnwrittenFileError, match="cannot write it") as raised:
        fiberscope.simulate(toy, MATRIX, timeline=folder / "states.json", progress=remove)
    assert raised.value.report.complete


@pytest.mark.parametrize("text", ["", "{}", json.dumps({"schema": "fiberscope-report-1"})])
def test_another_document_is_refused(text, tmp_path):
    file = tmp_path / "states.json"
    file.write_text(text)
    with pytest.raises(fiberscope.InputError, match="not a timeline of the schema fiberscope-timeline-1"):
        StateTimeline.read(file)
    with pytest.raises(fiberscope.InputError, match="cannot read the timeline"):
        StateTimeline.read(tmp_path / "none")


def test_states_are_written_even_if_the_memory_trace_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def fail(*_arguments: object) -> Iterator[Callable[[], str]]:
        yield lambda: "no room for the trace"

    monkeypatch.setattr(simulation, "record_requests", fail)
    states = StateFiles(timeline=tmp_path / "states.json")
    with pytest.raises(UnwrittenFileError, match="no room for the trace"):
        fiberscope.simulate(
            "gamma", "uniform:rows=9,cols=9,nonzeros=20", memory_trace=tmp_path / "trace", timeline=states
        )
    assert json.loads((tmp_path / "states.json").read_text())["components"]
