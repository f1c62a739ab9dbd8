"""What is said when a simulator, a source, a module or a bench is not as it should be."""

from dataclasses import replace

import pytest
from block_bench import bench

from hw.rtl.hdl import HdlError, ports, require, run
from hw.rtl.interface import Wire
from hw.rtl.merger import MergerParameters
from sim import SimulationError

SMALL = MergerParameters(radix=2, coordinate_bits=4, reference_bits=4, value_bits=32)
ODD = """
module odd #(parameter W = 8) (input clk, input wire [W-1:0] a, output reg [63:0] z, inout wire b);
  reg [W:0] inner; inner_part part(clk);
  always @(posedge clk) z <= a;
endmodule
module inner_part(input k); endmodule
"""


def small(folder, old="", new=""):
    """The bench of a small merger, whose Verilog has one text in the place of another."""
    return bench("merger", SMALL, folder, (3,), spoil=lambda text: text.replace(old, new) if old else text)


def test_the_ports_of_any_module_are_found(simulator, tmp_path):
    source = tmp_path / "odd.v"
    source.write_text(ODD)
    assert ports([source], "odd", tmp_path) == [
        Wire("clk", "input", 1), Wire("a", "input", 8), Wire("z", "output", 64), Wire("b", "inout", 1),
    ]  # fmt: skip
    assert ports([source], "inner_part", tmp_path) == [Wire("k", "input", 1)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("_coordinate < ", "_coordinate <= ", "merger, seed 3: .* differs"),
        ("if (rst)", "if (0)", "tasks_ready of the module is X: not reset"),
    ],
)
def test_planted_a_module_that_is_broken_is_found(old, new, message, simulator, tmp_path):
    assert run(small(tmp_path), simulator) == 1
    with pytest.raises(HdlError, match=rf"(?s)1 of 1 tests of pair_bench failed under icarus:.*{message}"):
        run(small(tmp_path, old, new), simulator)


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ("skipped_bench", "skipped_bench ran no test under icarus"),
        ("empty_bench", "(?s)icarus came to no result for merger:.*No tests were discovered"),
        ("no_bench", "(?s)icarus came to no result for merger:.*No module named 'no_bench'"),
    ],
)
def test_a_bench_that_runs_no_test_is_a_failure(tests, message, simulator, tmp_path):
    with pytest.raises(HdlError, match=message):
        run(replace(small(tmp_path), tests=tests), simulator)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ways_1_ready", "ways_1_rdy", "  missing  output ways_1_ready\n  unknown  output ways_1_rdy"),
        ("endmodule", "endmodul", "iverilog does not accept module merger:\n.*syntax error"),
        ("module merger", "module merge", "iverilog does not accept module merger:\n.*root module"),
    ],
)
def test_a_source_that_will_not_do_is_refused_before_the_run(old, new, message, simulator, tmp_path):
    with pytest.raises(SimulationError, match=f"(?s){message}"):
        run(small(tmp_path, old, new), simulator)
    assert not (tmp_path / "bench" / "results.xml").exists()


def test_a_source_that_is_not_there(simulator, tmp_path):
    with pytest.raises(HdlError, match=r"none\.v: no such Verilog file"):
        ports([tmp_path / "none.v"], "merger", tmp_path)


def test_a_simulator_that_is_missing_or_unknown(monkeypatch, tmp_path):
    with pytest.raises(HdlError, match="no HDL simulator vcs; known: icarus"):
        require("vcs")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HdlError, match=r"no iverilog on the PATH \(on Debian: apt install iverilog\)"):
        require("icarus")
