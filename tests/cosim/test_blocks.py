"""Every block's Verilog, in an HDL simulator: cycle by cycle the component."""

import pytest
from block_bench import bench
from scenarios import SCENARIOS

from hw.rtl.hdl import run

SEEDS = (0, 1, 2)


@pytest.mark.parametrize("drawn", [5, 6])
@pytest.mark.parametrize("block", SCENARIOS)
def test_the_verilog_is_the_component(block, drawn, simulator, tmp_path):
    assert run(bench(block, SCENARIOS[block].drawn(drawn), tmp_path, SEEDS), simulator) == 1
