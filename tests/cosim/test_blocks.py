"""Every block's Verilog, in an HDL simulator: cycle by cycle the component; several blocks a run."""

import os

import pytest
from block_bench import benches
from scenarios import ALIKE, LARGE, LARGE_SEEDS, SCENARIOS

from fiberscope.hw.rtl.tools.hdl import run

SEEDS = (0, 1)  # the second begins with what the first leaves in the registers
# A reader, a joiner and a writer of streams, a network and a packer of converters; PyRTL runs all by default.
SOME_ALIKE = (
    "compressed_scanner",
    "fiber_intersect",
    "compressed_writer",
    "sorting_network",
    "counter_banks",
)
# An array of many ports, memories of many sets, many lanes in a wire; PyRTL's simulation runs all by default.
LARGE_BY_DEFAULT = ("merger", "bank", "channel", "prefix_sum")
TOGETHER = 8  # blocks in one run
WANTED = os.environ.get("FIBERSCOPE_BLOCK")


def runs(*arguments, by_default, of=SCENARIOS):
    """Groups of blocks, those of the default run first; the one that is wanted alone."""
    asked = [block for block in of if not WANTED or block == WANTED]
    first = [block for block in asked if block in by_default]
    rest = [block for block in asked if block not in first]
    return [
        pytest.param(*arguments, blocks[start : start + TOGETHER], marks=marks)
        for blocks, marks in ((first, ()), (rest, pytest.mark.slow))
        for start in range(0, len(blocks), TOGETHER)
    ]


@pytest.mark.parametrize(
    ("drawn", "blocks"),
    [
        *runs(5, by_default=SCENARIOS.keys() - ALIKE.difference(SOME_ALIKE)),
        *runs(6, by_default=()),
    ],
)
def test_the_verilog_is_the_component(drawn, blocks, simulator, tmp_path):
    bench = benches({block: SCENARIOS[block].drawn(drawn) for block in blocks}, tmp_path, SEEDS)
    assert run(bench, simulator) == len(blocks)


@pytest.mark.parametrize("blocks", runs(by_default=LARGE_BY_DEFAULT, of=LARGE))
def test_the_verilog_is_the_component_at_large_sizes(blocks, simulator, tmp_path):
    seed = LARGE_SEEDS[-1]
    bench = benches({block: LARGE[block].drawn(seed) for block in blocks}, tmp_path, [seed], large=True)
    assert run(bench, simulator) == len(blocks)
