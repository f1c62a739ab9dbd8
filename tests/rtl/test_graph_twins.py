"""The twins of the graph pipeline's parts: the page's worked example, permutations, what cannot be built."""

from array import array

import pytest

from fiberscope.hw.memory import atomic_update_rtl as atomic_update
from fiberscope.hw.memory import prefetch_rtl as prefetch
from fiberscope.hw.memory import touched_rtl as touched
from fiberscope.hw.memory.atomic_update import ADD, FORWARD, STALL, AtomicUpdate
from fiberscope.hw.memory.atomic_update_rtl import AtomicUpdateParameters
from fiberscope.hw.memory.prefetch_rtl import StreamPrefetcherParameters
from fiberscope.hw.memory.touched_rtl import TouchedBitmapParameters
from fiberscope.hw.networks import islip_rtl as islip
from fiberscope.hw.networks.islip_rtl import IslipParameters
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.sram import list_macros
from fiberscope.sim.testing import run_block

WORKED = [(0, 5, 0, 9.0), (0, 5, 0, 4.0), (0, 7, 0, 1.0), (0, 5, 0, 6.0), (1, 0, 0, 0.0)]


def run(block, parameters, inputs, outputs, **bench):
    adapter = block.adapter("unit", block.interface(parameters), PyrtlBackend(block.twin(parameters)))
    return run_block(adapter, inputs, outputs, **bench)


@pytest.mark.parametrize(("mode", "stalls", "forwarded", "end"), [(STALL, 3, 0, 11), (FORWARD, 0, 2, 8)])
def test_the_worked_example(mode, stalls, forwarded, end):
    """Updates accepted in 0, 3, 4, 6 or in 0 to 3, the stop behind them, of the cycle in which all show."""
    given = AtomicUpdateParameters(mode, entries=8, read_latency=1)
    inputs = {"updates": WORKED, "reads": [(0, 5, 0, 0.0), (0, 7, 0, 0.0)]}
    outcome = run(atomic_update.BLOCK, given, inputs, ["touched", "temporaries"], capacity=16)
    assert outcome.received["touched"][-1] == (end + 1, (1, 0, 0, 0.0))
    assert [token[1::2] for token in outcome.tokens("temporaries")] == [(5, 4.0), (7, 1.0)]
    counters = {"accepted": 4, "stalls": stalls, "forwarded": forwarded}
    assert outcome.statistics["unit"].counters == counters


@pytest.mark.parametrize("shift", range(4))
def test_permutations_pass_the_crossbar_at_full_rate(shift):
    inputs = {f"inputs[{i}]": [(0, 4 * n + (i + shift) % 4, 0, 0.0) for n in range(20)] for i in range(4)}
    outputs = [f"outputs[{i}]" for i in range(4)]
    given = IslipParameters(4, 4, 2, 32)
    outcome = run(islip.BLOCK, given, inputs, outputs, capacity=64)
    assert {received[-1][0] for received in outcome.received.values()} == {22}
    assert outcome.statistics["unit"].counters == {"transfers": 80, "conflicts": 0}


def test_memories_are_those_of_macros():
    """T of 256 words of 32 bits; two bitmaps of 32 words, of which each bit is written by itself."""
    (macro,) = list_macros(atomic_update.BLOCK.twin(AtomicUpdateParameters()))
    assert (macro.entries, macro.bits, macro.lanes) == (256, 32, 1)
    found = list_macros(touched.BLOCK.twin(TouchedBitmapParameters(writers=2)))
    assert [(macro.entries, macro.bits, macro.lanes) for macro in found] == [(32, 1, 32)] * 2


def test_parameters_are_those_of_the_component():
    block = atomic_update.BLOCK
    given = block.matching(array("d", [0.0] * 9), ADD, neutral=0.0, mode=FORWARD, reduce_latency=4)
    made = block.component("unit", given)
    assert isinstance(made, AtomicUpdate)
    assert (made.window, made.neutral, made.operation) == (7, 0.0, ADD)
    assert touched.BLOCK.matching(100, width=64).words == 2
    assert prefetch.BLOCK.matching(64, 8, lines=2).line_bytes == 64


def test_what_cannot_be_built_is_refused():
    with pytest.raises(ValueError, match="atomic_update: an operation of your own has no module"):
        atomic_update.BLOCK.matching(array("d", [0.0]), max, neutral=0.0)
    with pytest.raises(ValueError, match="atomic_update: neutral must be 0 for add, not inf"):
        atomic_update.BLOCK.matching(array("d", [0.0]), ADD, neutral=float("inf"))
    with pytest.raises(ValueError, match="touched: block must be 1, not 8; leave off the low bits"):
        touched.BLOCK.matching(100, block=8)
    with pytest.raises(ValueError, match="stream_prefetcher: port must be 0, not 3; put it behind"):
        prefetch.BLOCK.matching(0, 8, port=3)
    with pytest.raises(ValueError, match="stream_prefetcher: base must be a multiple of 64, not 32"):
        StreamPrefetcherParameters(32)
    with pytest.raises(ValueError, match="stream_prefetcher: element_bytes must be from 1 to 8, not 12"):
        StreamPrefetcherParameters(line_bytes=8)
