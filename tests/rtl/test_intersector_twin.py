"""The intersectors' twins: the largest window, twins broken on purpose, and what they refuse."""

import random
from dataclasses import replace

import pyrtl
import pytest
from fiber_streams import STOP_TOKEN
from intersector_scenario import SKIP_AHEAD, TWO_FINGER, intersector_inputs
from pairs import check_pair

from fiberscope.hw.fibers import windows_rtl as windows
from fiberscope.hw.fibers.intersect_rtl import SkipAheadParameters
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.sim import Kernel
from fiberscope.sim.testing import StreamSink, StreamSource


@pytest.fixture(autouse=True)
def waveforms_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)


def fiber(coordinates):
    return [(0, coordinate, 0, 0.0) for coordinate in coordinates] + [STOP_TOKEN]


def test_the_largest_window():
    parameters = SkipAheadParameters(window=32)
    inputs = intersector_inputs(random.Random(32), parameters)
    inputs["a"] += fiber(range(0, 400, 2))
    inputs["b"] += fiber(range(1, 400, 40))
    assert check_pair(replace(SKIP_AHEAD.pair(32, parameters), inputs=inputs)) > 500


def test_the_fiber_number_is_that_of_the_component():
    inputs = {"a": fiber([]) * 300 + fiber(range(20)), "b": fiber([]) * 300 + fiber([90])}
    pair = replace(SKIP_AHEAD.pair(1, SkipAheadParameters(window=2)), inputs=inputs)
    assert check_pair(pair) > 300


@pytest.mark.parametrize("seed", range(3))
def test_skips_may_be_left_unconnected(seed):
    assert check_pair(replace(SKIP_AHEAD.pair(seed), outputs=TWO_FINGER.outputs)) > 500


def check_found(scenario, seed, message):
    with pytest.raises(AssertionError, match=message):
        check_pair(scenario.pair(seed))


def test_planted_a_window_that_drops_one_at_a_time_is_found(monkeypatch):
    below = windows.Comparisons.below

    def first_only(self):
        passed = below(self)
        return passed[:1] + [pyrtl.Const(0, 1)] * (len(passed) - 1)

    monkeypatch.setattr(windows.Comparisons, "below", first_only)
    check_found(SKIP_AHEAD, 3, r"skip_ahead, seed 3: .* differs: ")


def test_planted_a_window_that_skips_past_a_stop_is_found(monkeypatch):
    def anywhere(self):
        own, _other = self._sides
        return [present & row[0] for present, row in zip(own.present, self.less, strict=True)]

    monkeypatch.setattr(windows.Comparisons, "below", anywhere)
    check_found(SKIP_AHEAD, 3, "skip_ahead, seed 3: ")


def test_without_status_outputs_what_they_count_is_not_told():
    block, parameters = BLOCKS["skip_ahead"], SkipAheadParameters(window=2)
    twin = block.twin(parameters, status=False)
    names = {wire.name for wire in twin.interface.wires()}
    assert not names & {"step", "continued", "dropped", "pending", "shown_a"}
    kernel = Kernel()
    kernel.clock("core", 10**9)
    stand_in = kernel.add(block.stand_in("block", twin.interface, PyrtlBackend(twin)))
    stand_in.drain = 4
    for side in "ab":
        kernel.connect(kernel.add(StreamSource(side, fiber([2, 3, 7]))), "out", stand_in, side, capacity=2)
        kernel.connect(stand_in, f"matches_{side}", kernel.add(StreamSink(f"m{side}")), "in", capacity=2)
    kernel.run()
    assert stand_in.counters() == {"matches": 3, "fibers": 1, "skips": 0}
