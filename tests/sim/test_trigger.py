"""Triggers: where a waveform begins, in every way of running; what a condition may say; what it is told."""

import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from networks import Node
from vcd_reader import read_vcd
from watched import funnel, trace, watched

from fiberscope.sim import DeadlockError, Input, Kernel, Output, SimulationError
from fiberscope.sim.protocol import ANY
from fiberscope.sim.statistics import collect_statistics
from fiberscope.sim.testing import StreamSink, StreamSource
from fiberscope.sim.trace import CHECK_CYCLES, write_vcd
from fiberscope.sim.trigger import Trigger, find_channel

BUSY_FUNNEL = funnel((Node("source", 0, 40, stalls=(3, 0, 90)), Node("source", 0, 30)), pauses=(0, 5, 300))
TWO_CLOCKS = funnel(
    (Node("source", 0, 40, stalls=(0, 7)),),
    frequencies=(Fraction(10**9), Fraction(10**9, 3)),
    pauses=(0, 300),
)
WAYS_OF_RUNNING = ({}, {"sleep": False}, {"order_seed": 1}, {"order_seed": 3, "sleep": False})
CONDITIONS = (
    "cycle >= 100",
    "source0 output_stall > 100",
    "sink* busy > 150 and delay* output_stall>=40",
    "source0 idle > 100000 or cycle == 48",
)


def first_cycle(network, condition):
    """The first looked at in which the condition holds, told by looking at the machine in every cycle."""
    kernel = watched(network, sleep=False)
    kernel.build()
    trigger = Trigger(condition, kernel)
    period = kernel.clocks[0].period
    cycle = 0
    while not trigger.holds(cycle * period):
        cycle += CHECK_CYCLES
        while kernel.time < cycle * period - 1 and kernel.step():
            pass  # all before this cycle have ticked
    return cycle


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("network", [BUSY_FUNNEL, TWO_CLOCKS], ids=["one clock", "two clocks"])
def test_the_waveform_begins_where_the_condition_first_holds_however_the_machine_runs(
    tmp_path, network, condition
):
    found = set()
    for number, way in enumerate(WAYS_OF_RUNNING):
        kernel = watched(network, **way)
        path = tmp_path / str(number) / "run.vcd"
        path.parent.mkdir()
        with write_vcd(kernel, path, trigger=condition):
            kernel.run()
        found.add(path.read_bytes() + path.with_suffix(".gtkw").read_bytes())
    assert len(found) == 1
    start = read_vcd(path).start
    assert start == first_cycle(network, condition) > 0
    whole = trace(tmp_path / "whole.vcd", network, colours=True)
    for name, signal in read_vcd(path).signals.items():
        kept = [change for change in whole.signals[name].changes if change[0] > start]
        assert signal.changes == [(start, whole.signals[name].at(start)), *kept]


def test_accounts_are_those_of_the_report_and_counters_those_of_the_component():
    kernel = watched(BUSY_FUNNEL)
    kernel.run(cycle_limit=200)
    for component in kernel.components:
        counted = collect_statistics(component, kernel.wiring, 200)
        accounts = {
            "busy": counted.busy,
            "idle": counted.idle,
            "input_stall": sum(counted.input_stall.values()),
            "output_stall": sum(counted.output_stall.values()),
        }
        assert sum(accounts.values()) == 200
        for name, cycles in accounts.items():
            for sign, holds in (("==", True), (">", False), ("<=", True), ("!=", False)):
                trigger = Trigger(f"{component.name} {name} {sign} {cycles}", kernel)
                assert trigger.holds(200) == holds, trigger.text


def test_a_counter_can_be_watched():
    kernel = watched(BUSY_FUNNEL)
    kernel.components[0].counters = lambda: {"sent": 7}
    kernel.build()
    assert Trigger("* sent == 7", kernel).holds(0)
    assert not Trigger("source0 sent>7", kernel).holds(0)


def test_a_window_and_a_length_bound_what_is_recorded(tmp_path):
    def span(**options):
        wave = trace(tmp_path / "run.vcd", BUSY_FUNNEL, **options)
        return wave.start, wave.end

    assert span(trigger="cycle > 20", cycles=30) == (32, 62)
    assert span(trigger="cycle > 20", window=(100, 150)) == (100, 150)
    assert span(window=(101, 200), cycles=9) == (101, 110)


@pytest.mark.filterwarnings("ignore:the waveform:UserWarning")
def test_a_trigger_that_holds_only_outside_the_window_does_not_count(tmp_path):
    wave = trace(tmp_path / "run.vcd", BUSY_FUNNEL, window=(10, 20), trigger="cycle > 20 and cycle < 40")
    assert wave.start == wave.end == trace(tmp_path / "whole.vcd", BUSY_FUNNEL).end


def test_a_trigger_that_never_holds_is_said_and_the_file_shows_the_end_state(tmp_path):
    with pytest.warns(
        UserWarning, match=r"ended at cycle \d+, and until then its trigger 'cycle > 99999' never"
    ):
        wave = trace(tmp_path / "run.vcd", trigger="cycle > 99999")
    assert wave.start == wave.end == 18


def test_nothing_is_looked_at_before_the_window_nor_after_the_trigger_held(tmp_path, monkeypatch):
    times = []
    holds = Trigger.holds
    monkeypatch.setattr(Trigger, "holds", lambda self, time: times.append(time) or holds(self, time))
    trace(tmp_path / "run.vcd", BUSY_FUNNEL, trigger="cycle > 230", window=(200, 1000))
    assert times == [200, 216, 232]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("", r"'': nothing is no comparison; write it as in pe07 input_stall > 100"),
        ("source0 input_stall", "source0 input_stall is no comparison"),
        ("source0 busy > 3 or", "nothing is no comparison"),
        ("source0 busy > many", "many is no whole number"),
        ("source0 busy > -1", "-1 is no whole number"),
        ("source0 busy => 1", "= 1 is not understood|=> 1"),
        ("busy > 3", "busy of which component"),
        ("source0 output_stal > 3", "source0 has no output_stal; did you mean output_stall"),
        ("sorce0 busy > 3", r"no component matches the scope sorce0; did you mean .*source0"),
    ],
)
def test_what_is_no_condition_is_refused_in_one_line_before_the_run(tmp_path, condition, message):
    with pytest.raises(SimulationError, match=message) as refused:
        trace(tmp_path / "run.vcd", trigger=condition)
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_a_length_below_one_cycle_is_refused(tmp_path):
    with pytest.raises(SimulationError, match="a waveform of 0 cycles: at least 1"):
        trace(tmp_path / "run.vcd", cycles=0)


def test_the_waveform_of_a_deadlock_can_be_triggered_too():
    network = funnel((Node("source", 0, 60), Node("source", 0, 40)), "join")
    kernel = watched(network)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.vcd"
        with pytest.raises(DeadlockError), write_vcd(kernel, path, trigger="join* output_stall > 20"):
            kernel.run()
        assert read_vcd(path).start > 0


@pytest.mark.parametrize("condition", [*CONDITIONS[:3], "source0.state == full:out", "sink3.in >= 1"])
def test_a_pause_passes_no_cycle_in_which_the_condition_holds(condition):
    network = TWO_CLOCKS if "." in condition else BUSY_FUNNEL
    kernel = watched(network, sleep=False)
    kernel.build()
    predicate, period = Trigger(condition, kernel).predicate, kernel.clocks[0].period
    silent = 0  # the cycle before which it cannot hold
    for cycle in range(250):
        while kernel.time < cycle * period - 1 and kernel.step():
            pass
        pause = predicate.pause(cycle * period, 1)
        assert (pause == 0) == predicate.holds(cycle * period)
        assert pause > 0 or cycle >= silent
        silent = max(silent, cycle + pause)


FASTER = funnel((Node("source", 0, 40),), frequencies=(Fraction(10**9), Fraction(5 * 10**9, 2)))


@pytest.mark.parametrize(
    ("condition", "network", "pause"),
    [
        ("cycle > 60", BUSY_FUNNEL, 61),
        ("source0 busy > 60", BUSY_FUNNEL, 61),
        ("source0 busy >= 60", BUSY_FUNNEL, 60),
        ("* busy > 60", BUSY_FUNNEL, 61),
        ("source0 busy == 60", BUSY_FUNNEL, 60),
        ("source0 busy != 0", BUSY_FUNNEL, 1),  # not only upwards: looked at in every cycle
        ("source0 busy > 60 and cycle > 20", BUSY_FUNNEL, 61),
        ("source0 busy > 60 or cycle > 20", BUSY_FUNNEL, 21),
        ("source0 busy > 60", FASTER, 61),
        ("sink3 busy > 60", FASTER, 19),  # three of its cycles may end in one, and the first is cut off
    ],
)
def test_a_pause_is_as_long_as_a_number_needs_to_reach_its_bound(condition, network, pause):
    """From the first cycle, in a machine in which something happens in every cycle."""
    kernel = watched(network)
    kernel.build()
    assert Trigger(condition, kernel).predicate.pause(0, 1) == pause


@pytest.mark.parametrize("capacity", [1, 2, 3, 5, None])
def test_each_token_is_compared_wherever_it_lies_in_its_channel(capacity):
    """The places of a channel are used in turn, also while tokens wait for a slow reader."""
    kernel = Kernel()
    kernel.clock("core", 10**9)
    tokens = [(0, number, 100 + number, number / 2) for number in range(40)]
    source, sink = kernel.add(StreamSource("source", tokens)), kernel.add(StreamSink("sink", [2, 0, 3]))
    kernel.connect(source, "out", sink, "in", capacity=capacity)
    kernel.build()
    fields = {"coordinate": 1, "reference": 2}
    conditions = {
        (name, token[1]): Trigger(f"source.out has {name} == {token[place]}", kernel).predicate
        for name, place in fields.items()
        for token in tokens
    }
    seen = {}
    while kernel.step():
        for key, predicate in conditions.items():
            if predicate.holds(kernel.time) and key not in seen:
                seen[key] = kernel.time
    pushed = [seen["coordinate", number] for number in range(40)]
    assert pushed == [seen["reference", number] for number in range(40)] == sorted(set(pushed))
    assert all(push < pop for push, (pop, _token) in zip(pushed, sink.received, strict=True))


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("source0.out has color == 1", "a token of .* has no color"),
        ("source0.state == bussy", "bussy is no state .*did you mean busy"),
        ("source0.state > busy", "busy is no state that can be compared by == or !="),
        ("source0.nought has value == 1", "there is no channel source0.nought"),
    ],
)
def test_names_of_states_channels_and_fields_are_checked(condition, message):
    kernel = watched(BUSY_FUNNEL)
    kernel.build()
    with pytest.raises(SimulationError, match=message):
        Trigger(condition, kernel)


def test_a_channel_with_a_port_of_the_same_name_at_both_ends_is_one_channel():
    class Sender(StreamSource):
        PORTS = (Output("link", ANY),)

        def elaborate(self):
            self.out = self.channel("link")

    class Receiver(StreamSink):
        PORTS = (Input("link", ANY),)

        def elaborate(self):
            self.source = self.channel("link")

    kernel = Kernel()
    kernel.clock("core", 10**9)
    for way in range(2):
        sender = kernel.add(Sender(f"way{way}.sender", ()))
        kernel.connect(sender, "link", kernel.add(Receiver(f"way{way}.receiver")), "link", capacity=1)
    kernel.build()
    assert find_channel(kernel, "way0.*.link") is kernel.wiring.connections[0].channel
    with pytest.raises(SimulationError, match=r"matches 2 channels, way0\.\S+ and way1\.\S+ among them"):
        find_channel(kernel, "*.link")
