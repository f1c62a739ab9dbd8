"""The flow for an ECP5 FPGA: harness, constraints and scripts, and how its results are read."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from optional_programs import needs

from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.tools.simulator import HdlError
from fiberscope.rtl.ecp5 import Ecp5Result, find_program, parse_results, run_ecp5, write_scripts
from fiberscope.rtl.handover.module_text import module_ports

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests" / "oracles" / "ecp5"  # array: memory=registered entries=512 value_bits=16
PIN = re.compile(r"\.(?P<port>\w+)\((?P<side>input|output)s\[(?P<high>\d+):(?P<low>\d+)\]\)")


def exported(folder: Path, block: str, *options: str) -> Path:
    assert cli.run(["rtl", "export", block, *options, "-o", str(folder)]) == 0
    return folder


def kept(name: str):
    return json.loads((KEPT / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("ports", ["plain", "axis"])
def test_each_bit_of_each_port_has_a_register_of_its_own(ports, tmp_path):
    exported(tmp_path, "two_finger", f"--ports={ports}")
    assert write_scripts(tmp_path) == "two_finger_ecp5"
    text = (tmp_path / "two_finger_ecp5.v").read_text()
    clock, *others = module_ports((tmp_path / "two_finger.v").read_text(), "two_finger")
    assert f".{clock.name}(clk)" in text
    pins = {pin["port"]: pin for pin in PIN.finditer(text)}
    assert list(pins) == [port.name for port in others]
    for side, registers in (("input", "inputs"), ("output", "captured, collected")):
        bits = [
            bit
            for port in others
            if port.direction == side
            for bit in range(int(pins[port.name]["low"]), int(pins[port.name]["high"]) + 1)
        ]
        assert all(pins[port.name]["side"] == side for port in others if port.direction == side)
        assert bits == list(range(sum(port.width for port in others if port.direction == side)))
        assert f"reg [{len(bits) - 1}:0] {registers};" in text
    assert f"assign serial_out = collected[{len(bits) - 1}];" in text


def test_scripts_have_the_files_the_top_and_the_clock_of_the_export(tmp_path):
    exported(tmp_path, "array", "--set=memory=registered", "--sram-wrappers", "--clock-ns=4")
    name = write_scripts(tmp_path)
    assert (tmp_path / f"{name}.lpf").read_text() == 'FREQUENCY PORT "clk" 250.000 MHZ;\n'
    script = (tmp_path / f"{name}.ys").read_text().splitlines()
    assert f"read_verilog -sv {(tmp_path / 'array.f').read_text().replace(chr(10), ' ').strip()}" in script
    assert "hierarchy -check -top array" in script
    assert f"synth_ecp5 -top {name} -noflatten -json {name}.json" in script


@needs("icarus")
def test_the_harness_is_verilog(tmp_path):
    from fiberscope.hw.rtl.tools.icarus import Icarus

    exported(tmp_path, "divider", "--set=width=4")
    name = write_scripts(tmp_path)
    ports = Icarus().ports([tmp_path / f"{name}.v", tmp_path / "divider.v"], name, tmp_path / "build")
    assert [(port.name, port.width) for port in ports] == [("clk", 1), ("serial_in", 1), ("serial_out", 1)]


def test_results_of_a_kept_run():
    result = parse_results(kept("cells"), kept("report"))
    assert result == Ecp5Result(44, 50, 1, 0, pytest.approx(134.48, abs=0.005))


def test_carries_and_lut_ram_count_by_their_sites():
    cells = {"modules": {"\\x": {"num_cells_by_type": {"LUT4": 5, "CCU2C": 3, "TRELLIS_DPR16X4": 2}}}}
    result = parse_results(cells, {"fmax": {"clk": {"achieved": 50.0, "constraint": 100.0}}})
    assert result == Ecp5Result(5 + 3 * 2 + 2 * 6, 0, 0, 0, 50.0)


def test_a_module_that_is_too_large_has_no_clock():
    assert parse_results(kept("cells"), None) == Ecp5Result(44, 50, 1, 0, None)


def test_a_report_without_a_clock_is_refused():
    with pytest.raises(HdlError, match="nextpnr reports 0 clocks, not one"):
        parse_results(kept("cells"), kept("report") | {"fmax": {}})


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="0 core files; one is in a folder of 'fiberscope rtl export'"):
        write_scripts(tmp_path)


def test_a_broken_core_file_is_refused_before_a_tool_is_looked_up(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    for text in ("filesets: {", "name: x", "[]"):
        (tmp_path / "x.core").write_text(text)
        with pytest.raises(InputError, match=r"x\.core: not a core file of 'fiberscope rtl export'"):
            run_ecp5(tmp_path)


def test_a_name_that_is_no_design_costs_a_line():
    command = [sys.executable, "published/ecp5.py", "mergr"]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("ecp5.py: mergr: neither a folder nor a design; designs: merger, ")
    assert outcome.stderr.count("\n") == 1


def test_a_missing_program_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HdlError, match=r"no-such-tool is not installed: pip install 'fiberscope\[ecp5\]'"):
        find_program("no-such-tool")


@pytest.mark.slow
def test_a_small_block_is_placed_and_routed(tmp_path):
    try:
        find_program("yosys"), find_program("nextpnr-ecp5")
    except HdlError as missing:
        pytest.skip(str(missing))
    exported(tmp_path, "array", "--set=memory=registered", "--set=entries=512", "--set=value_bits=16")
    result = run_ecp5(tmp_path)
    assert (result.block_rams, result.multipliers) == (1, 0)
    assert 0 < result.luts < 200
    assert 0 < result.flip_flops < 200
    assert 20 < result.megahertz < 500
