"""What a machine did over time: the sums, the intervals, and that nothing of how it runs shows in it."""

import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

import fiberscope
from fiberscope.accelerators import configuration, find
from fiberscope.accelerators.machine import Traffic
from fiberscope.results.report import timeline
from fiberscope.results.report.parts import Timeline
from fiberscope.results.report.timeline import Watch
from fiberscope.sim import Component, Kernel, import_mode
from fiberscope.workloads import load

MATRIX = "uniform:rows=60,cols=60,nonzeros=600,seed=3"
SETTINGS = {"pe.count": 4, "pe.radix": 4, "fibercache.banks": 4, "fibercache.size": "8 KiB"}


def watched_gamma(cycle_limit=None, **kernel_options):
    kind = find("gamma")
    parameters = configuration.load(kind.configuration, kind.shipped, name="gamma", settings=SETTINGS)
    matrix = load(MATRIX).matrix
    machine = kind.models["event"](parameters, matrix, matrix, kernel=Kernel(**kernel_options))
    watch = Watch(machine, histograms=True)
    run = timeline.run(machine, [watch], cycle_limit, lambda _cycle: None)
    return machine, run, watch


def test_the_sums_are_those_of_the_run():
    machine, run, watch = watched_gamma()
    seen = watch.timeline(run.cycles)
    traffic = machine.traffic().values()
    assert sum(seen.read_bytes) == sum(part.read_bytes for part in traffic) > 0
    assert sum(seen.write_bytes) == sum(part.write_bytes for part in traffic) > 0
    assert sum(seen.multiply) == machine.operations()["multiply"] > 0
    assert (
        len(seen.read_bytes) == len(seen.write_bytes) == len(seen.multiply) == -(-run.cycles // seen.interval)
    )


def test_each_interval_is_what_a_run_stopped_there_has_more_than_one_stopped_before():
    _machine, run, watch = watched_gamma()
    seen = watch.timeline(run.cycles)
    ends = [seen.interval * number for number in range(1, 4)]
    totals = [0]
    for end in ends:
        machine, stopped, _watch = watched_gamma(cycle_limit=end)
        assert (stopped.reason, stopped.cycles) == ("cycle limit", end)
        totals.append(machine.operations()["multiply"])
    assert seen.multiply[:3] == [after - before for before, after in pairwise(totals)]
    assert seen.multiply[1] > 0


@pytest.mark.parametrize("way", [{"sleep": False}, {"order_seed": 5}], ids=["never asleep", "shuffled"])
def test_it_does_not_depend_on_how_the_machine_runs(way):
    _machine, run, watch = watched_gamma()
    _other, other_run, other_watch = watched_gamma(**way)
    assert other_run == run
    assert other_watch.timeline(run.cycles) == watch.timeline(run.cycles)
    assert other_watch.occupancies() == watch.occupancies() != {}


def test_watching_changes_nothing_of_the_run():
    machine, run, _watch = watched_gamma()
    kind = find("gamma")
    matrix = load(MATRIX).matrix
    alone = kind.models["event"](machine.parameters, matrix, matrix)
    assert alone.kernel.run() == run
    assert alone.kernel.statistics() == machine.kernel.statistics()


def test_a_long_run_has_a_bounded_number_of_intervals(monkeypatch):
    monkeypatch.setattr(timeline, "FIRST_INTERVAL", 8)
    fine_machine, run, fine = watched_gamma()
    monkeypatch.setattr(timeline, "MAX_INTERVALS", 8)
    _machine, _run, coarse = watched_gamma()
    few, many = coarse.timeline(run.cycles), fine.timeline(run.cycles)
    assert 4 <= len(few.multiply) <= 8 < len(many.multiply)
    ratio = few.interval // many.interval
    assert few.multiply == [sum(many.multiply[i : i + ratio]) for i in range(0, len(many.multiply), ratio)]
    assert sum(few.multiply) == fine_machine.operations()["multiply"]


class Drained(Component):
    """Works, a multiply a cycle, then is idle but ticks on, as an adapter of RTL does."""

    PORTS = ()

    def __init__(self, work, drain):
        super().__init__("drained")
        self.work, self.drain, self.done = work, drain, 0

    def tick(self, now):
        if now < self.work:
            self.done = now + 1
            return self.busy(now + 1)
        wake = self.idle()
        if now < self.work + self.drain:
            self.wake_at(now + 1)
        return wake


def watched_drain(work, drain):
    kernel = Kernel()
    kernel.clock("core", 10**9)
    part = kernel.add(Drained(work, drain))
    machine = SimpleNamespace(
        kernel=kernel, traffic=dict, operations=lambda: {"multiply": part.done}, work="multiply"
    )
    watch = Watch(machine)
    run = timeline.run(machine, [watch], None, lambda _cycle: None)
    assert (run.cycles, kernel.cycle) == (work, work + drain)
    return watch.timeline(run.cycles)


@pytest.mark.parametrize("drain", [1, 7, 8])
def test_what_ticks_on_after_the_end_adds_nothing(drain, monkeypatch):
    monkeypatch.setattr(timeline, "FIRST_INTERVAL", 8)
    monkeypatch.setattr(timeline, "MAX_INTERVALS", 4)
    for work in range(1, 150):
        assert watched_drain(work, drain) == watched_drain(work, 0), work


def test_what_ticks_on_for_long_adds_no_interval():
    seen = watched_drain(work=700, drain=2000)
    assert (seen.interval, seen.multiply) == (512, [512, 188])


def test_occupancies_cover_all_channels_of_a_kind_within_their_capacity():
    machine, run, watch = watched_gamma()
    seen = watch.occupancies()
    ways = seen["pe.merger.ways"]
    assert ways.channels == 4 * 4
    assert max(ways.cycles) <= ways.capacity
    looked = run.cycles // watch.timeline(run.cycles).interval * watch.timeline(run.cycles).interval
    for name, part in seen.items():
        assert sum(part.cycles.values()) == part.channels * looked, name
    assert sum(part.channels for part in seen.values()) == len(machine.kernel.channels())


@pytest.mark.parametrize("capacities", [(2, 5), (5, 2)])
def test_the_capacity_of_a_kind_is_that_of_its_largest_channel(capacities):
    channels = [
        SimpleNamespace(name=f"m.pe{number}.in", capacity=capacity, occupancy=capacity)
        for number, capacity in enumerate(capacities)
    ]
    watch = Watch(SimpleNamespace(kernel=SimpleNamespace(channels=lambda: channels)), histograms=True)
    watch._count_occupancies(8)
    watch._count_occupancies(10)
    (kind,) = watch.occupancies().values()
    assert (kind.channels, kind.capacity, kind.cycles) == (2, 5, {2: 10, 5: 10})


def test_bytes_and_work_are_those_of_all_tensors():
    moved = {"A": Traffic(3, 10), "B": Traffic(40, 20)}
    machine = SimpleNamespace(
        kernel=None, traffic=lambda: moved, operations=lambda: {"multiply": 7}, work="multiply"
    )
    seen = Watch(machine).timeline(5)
    assert (seen.read_bytes, seen.write_bytes, seen.multiply) == ([43], [30], [7])


def test_histograms_are_in_the_report_only_when_asked_for(toy):
    plain = fiberscope.simulate(toy, MATRIX)
    asked = fiberscope.simulate(toy, MATRIX, histograms=True)
    assert plain.occupancies == {}
    assert asked.occupancies
    assert plain.timeline == asked.timeline
    assert isinstance(plain.timeline, Timeline)


ONE_RUN = """
import sys, fiberscope
report = fiberscope.simulate("gamma", sys.argv[1], histograms=True, settings={settings!r})
print(report.model_dump_json(include={{"timeline", "occupancies"}}))
"""


@pytest.mark.skipif(not import_mode.compiled(), reason="compares the compiled engine with its sources")
def test_the_uncompiled_engine_sees_the_same():
    outcomes = []
    for uncompiled in ("0", "1"):
        environment = {
            **os.environ,
            import_mode.VARIABLE: uncompiled,
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        command = [sys.executable, "-c", ONE_RUN.format(settings=SETTINGS), MATRIX]
        shown = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
        outcomes.append(json.loads(shown))
    assert outcomes[0] == outcomes[1]


def test_an_interrupt_between_two_looks_ends_the_run_cleanly(monkeypatch):
    take_sample = Watch.take_sample

    def look_and_interrupt(self, cycle):
        take_sample(self, cycle)
        if cycle == 2 * timeline.FIRST_INTERVAL:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Watch, "take_sample", look_and_interrupt)
    _machine, run, watch = watched_gamma()
    assert (run.reason, run.complete) == ("interrupted", False)
    assert len(watch.timeline(run.cycles).multiply) in (2, 3)
