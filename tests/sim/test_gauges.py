"""Gauges: numbers of components and channels at a time, by hand."""

import pytest
from scripted import Scripted, machine

from fiberscope.sim import DeadlockError, Kernel
from fiberscope.sim.constants import BUSY
from fiberscope.sim.gauge import AccountGauge, CycleGauge, OccupancyGauge
from fiberscope.sim.testing import StreamSink, StreamSource, data_tokens


def test_the_tokens_of_an_array_of_ports_are_those_of_all_channels() -> None:
    parts = [StreamSource(f"source{number}", data_tokens(range(9))) for number in range(2)]
    stuck = [Scripted(f"stuck{number}", lambda self, _now: self.idle()) for number in range(2)]
    for part in stuck:
        part.PORTS = StreamSink.PORTS
    kernel = machine(*parts, *stuck)
    channels = [
        kernel.connect(source, "out", sink, "in", capacity=capacity)
        for source, sink, capacity in zip(parts, stuck, (3, 4), strict=True)
    ]
    with pytest.raises(DeadlockError):
        kernel.run()
    assert [OccupancyGauge([channel]).read(0) for channel in channels] == [3, 4]
    assert OccupancyGauge(channels).read(0) == 7


@pytest.mark.parametrize(("time", "cycles"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2)])
def test_between_edges_of_a_slower_clock_a_begun_cycle_counts(time: int, cycles: int) -> None:
    kernel = Kernel()
    kernel.clock("fast", 4 * 10**9)
    slow = kernel.clock("slow", 10**9)
    part = kernel.add(Scripted("part", lambda self, now: self.busy(now + 100)), slow)
    kernel.build()
    kernel.run(cycle_limit=1)
    assert slow.period == 4
    assert AccountGauge(part, [BUSY], 1).read(time) == cycles
    assert CycleGauge(4).read(time) == cycles
