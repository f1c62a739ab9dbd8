"""The bank in HDL simulators: memories believed right after the reset, and lines in and out of its array."""

import random
from dataclasses import replace

import pytest
from bank_bench import Bench, requests
from block_bench import bench
from scenarios import LARGE, SCENARIOS

from fiberscope.hw.memory.cache_rtl import BLOCK
from fiberscope.hw.rtl.tools.hdl import HdlError, run
from fiberscope.hw.rtl.tools.verilated import VerilatedBackend, VerilatedModule


@pytest.mark.parametrize("block", ["bank"])
@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_planted_a_set_that_counts_as_written_after_the_reset_is_found(block, simulator, tmp_path):
    def believed(text):
        assert "assign set_known = " in text
        return text.replace("assign set_known = ", "assign set_known = 1'd1 | ")

    spoilt = bench(block, SCENARIOS[block].drawn(5), tmp_path, (0,), spoil=believed)
    with pytest.raises(
        HdlError, match=r"in cycle \d+, \S+: \S+ is [01X]*X[01X]*: not reset, or driven by nothing"
    ):
        run(spoilt, simulator)


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["verilator"], indirect=True)
def test_lines_come_back_from_the_array_in_verilog(simulator, tmp_path):
    assert simulator == "verilator"
    given = replace(LARGE["bank"].drawn(3), data="array")
    (tmp_path / "bank.v").write_text(BLOCK.verilog(given))
    module = VerilatedModule([tmp_path / "bank.v"], BLOCK.interface(given), tmp_path)
    generator = random.Random(3)
    sent = requests(LARGE["bank"].inputs(random.Random(3), given)["requests"], given, generator)
    bench = Bench(given, VerilatedBackend(module), sent, generator)
    bench.run()
    assert min(bench.events["read"], bench.events["written"]) > 200
