"""The intersectors' twins: what may be left out."""

from dataclasses import replace

import pytest
from fiber_streams import STOP_TOKEN
from intersector_scenario import SKIP_AHEAD, TWO_FINGER
from pairs import check_pair

from fiberscope.hw.fibers.intersect_rtl import SkipAheadParameters
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.sim import Kernel
from fiberscope.sim.testing import StreamSink, StreamSource


def fiber(coordinates):
    return [(0, coordinate, 0, 0.0) for coordinate in coordinates] + [STOP_TOKEN]


def test_the_fiber_number_is_that_of_the_component():
    inputs = {"a": fiber([]) * 300 + fiber(range(20)), "b": fiber([]) * 300 + fiber([90])}
    pair = replace(SKIP_AHEAD.pair(1, SkipAheadParameters(window=2)), inputs=inputs)
    assert check_pair(pair) > 300


@pytest.mark.parametrize("seed", range(3))
def test_skips_may_be_left_unconnected(seed):
    assert check_pair(replace(SKIP_AHEAD.pair(seed), outputs=TWO_FINGER.outputs)) > 500


def test_without_status_outputs_what_they_count_is_not_told():
    block, parameters = BLOCKS["skip_ahead"], SkipAheadParameters(window=2)
    twin = block.twin(parameters, status=False)
    names = {wire.name for wire in twin.interface.wires()}
    assert not names & {"step", "continued", "dropped", "pending", "shown_a"}
    kernel = Kernel()
    kernel.clock("core", 10**9)
    adapter = kernel.add(block.adapter("block", twin.interface, PyrtlBackend(twin)))
    adapter.drain = 4
    for side in "ab":
        kernel.connect(kernel.add(StreamSource(side, fiber([2, 3, 7]))), "out", adapter, side, capacity=2)
        kernel.connect(adapter, f"matches_{side}", kernel.add(StreamSink(f"m{side}")), "in", capacity=2)
    kernel.run()
    assert adapter.counters() == {"matches": 3, "fibers": 1, "skips": 0}
