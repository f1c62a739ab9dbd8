"""Every block's Verilog, in an HDL simulator: cycle by cycle the component; several blocks a run."""

import os

import pytest
from block_bench import benches
from scenarios import LARGE, LARGE_SEEDS, SCENARIOS

from fiberscope.hw.rtl.tools.hdl import run

SEEDS = (0, 1)  # the second begins with what the first leaves in the registers
# Blocks of each kind: arrays of ports, memories, compositions, lanes, stores; PyRTL runs all by default.
BY_DEFAULT = (
    "bank",
    "benes",
    "channel",
    "compressed_writer",
    "fiber_intersect",
    "merge_tree",
    "merger",
    "packer",
)
TOGETHER = 8  # blocks in one run
WANTED = os.environ.get("FIBERSCOPE_BLOCK")


def runs(*arguments, by_default=(), of=SCENARIOS):
    """Groups of blocks, those of the default run first; the one that is wanted alone."""
    asked = [block for block in of if not WANTED or block == WANTED]
    first = [block for block in asked if block in by_default]
    rest = [block for block in asked if block not in first]
    return [
        pytest.param(*arguments, blocks[start : start + TOGETHER], marks=marks)
        for blocks, marks in ((first, ()), (rest, pytest.mark.slow))
        for start in range(0, len(blocks), TOGETHER)
    ]


@pytest.mark.parametrize(("drawn", "blocks"), [*runs(5, by_default=BY_DEFAULT), *runs(6)])
def test_the_verilog_is_the_component(drawn, blocks, simulator, tmp_path):
    bench = benches({block: SCENARIOS[block].drawn(drawn) for block in blocks}, tmp_path, SEEDS)
    assert run(bench, simulator) == len(blocks)


@pytest.mark.parametrize("blocks", runs(of=LARGE))
def test_the_verilog_is_the_component_at_large_sizes(blocks, simulator, tmp_path):
    seed = LARGE_SEEDS[-1]
    bench = benches({block: LARGE[block].drawn(seed) for block in blocks}, tmp_path, [seed], large=True)
    assert run(bench, simulator) == len(blocks)
