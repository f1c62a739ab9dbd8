"""Every block's Verilog, in an HDL simulator: cycle by cycle the component."""

import pytest
from block_bench import bench
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
DRAWN = [
    pytest.param(
        block,
        drawn,
        marks=pytest.mark.slow if drawn == 6 or block in ALIKE.difference(SOME_ALIKE) else (),
    )
    for block in SCENARIOS
    for drawn in (5, 6)
]
# An array of many ports, memories of many sets, many lanes in a wire; PyRTL's simulation runs all by default.
LARGE_BY_DEFAULT = ("merger", "bank", "channel", "prefix_sum")


@pytest.mark.parametrize(("block", "drawn"), DRAWN)
def test_the_verilog_is_the_component(block, drawn, simulator, tmp_path):
    assert run(bench(block, SCENARIOS[block].drawn(drawn), tmp_path, SEEDS), simulator) == 1


@pytest.mark.parametrize(
    "block",
    [block if block in LARGE_BY_DEFAULT else pytest.param(block, marks=pytest.mark.slow) for block in LARGE],
)
def test_the_verilog_is_the_component_at_large_sizes(block, simulator, tmp_path):
    seed = LARGE_SEEDS[-1]
    assert run(bench(block, LARGE[block].drawn(seed), tmp_path, [seed], large=True), simulator) == 1
