"""What stands beside exported Verilog: README, constraints, file list and core file."""

import hashlib
import re
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from cones import cone
from kept import check_kept_text
from optional_programs import needs
from scenarios import SCENARIOS

from fiberscope import cli
from fiberscope.base.version import RELEASE
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.sram import list_macros
from fiberscope.rtl.handover.module_text import contract_text, module_ports
from fiberscope.rtl.handover.readme import write_readme
from fiberscope.rtl.handover.structure import combinational_paths, memories

KINDS = ("plain", "registered", "checked", "axis")
FEW = ("two_finger", "accumulator", "divider", "bank")  # one of a stream, of lanes, of rows, with memories


def exported(folder: Path, block: str, *options: str) -> Path:
    parameters = asdict(SCENARIOS[block].drawn(1))
    settings = [f"--set={name}={value}" for name, value in parameters.items()]
    assert cli.run(["rtl", "export", block, *settings, *options, "-o", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("ports", KINDS)
@pytest.mark.parametrize("block", FEW)
def test_each_port_is_in_the_readme_and_has_a_delay(block, ports, tmp_path):
    exported(tmp_path, block, f"--ports={ports}", "--clock-ns=2.5")
    text, readme = (tmp_path / f"{block}.v").read_text(), (tmp_path / "README.md").read_text()
    names = [port.name for port in module_ports(text, block)]
    assert names[0] == ("aclk" if ports == "axis" else "clk")
    assert f"```\n{contract_text(text)}\n```" in readme
    assert re.findall(r"^\| `(\w+)` \| (?:input|output) \| \d+ \|$", readme, re.MULTILINE) == names
    for suffix in ("sdc", "xdc"):
        lines = (tmp_path / f"{block}.{suffix}").read_text().splitlines()
        assert f"create_clock -name {names[0]} -period 2.500 [get_ports {{{names[0]}}}]" in lines
        delays = [line for line in lines if line.startswith("set_") and "delay" in line]
        for port in module_ports(text, block)[1:]:
            target = f"[get_ports {{{port.name}{'[*]' if port.width > 1 else ''}}}]"
            commands = {line.partition(" -clock")[0] for line in delays if line.endswith(target)}
            expected = {f"set_{port.direction}_delay {bound}" for bound in ("-max 0.750", "-min 0.000")}
            assert commands == expected
    assert "set_units" not in (tmp_path / f"{block}.xdc").read_text()


def test_all_texts_of_an_export_are_as_kept(tmp_path):
    """Without netlists, whose names depend on the version of PyRTL; of the stimuli, the digest is kept."""
    assert cli.run(["rtl", "export", "stop_dropper", "--formal", "-o", str(tmp_path)]) == 0
    texts = {path.name: path.read_text() for path in sorted(tmp_path.iterdir())}
    del texts["stop_dropper.v"], texts["stop_dropper_claims.v"]
    texts["stop_dropper_tb.hex"] = hashlib.sha256(texts["stop_dropper_tb.hex"].encode()).hexdigest() + "\n"
    text = "".join(f"==== {name}\n{text}" for name, text in texts.items())
    text = re.sub(r"version \S+\.$", "version 1.2.3.", text, flags=re.MULTILINE)
    text = text.replace(f"stop_dropper:{RELEASE}", "stop_dropper:1.2.3")
    check_kept_text(Path(__file__).parent / "stop_dropper_export.txt", text)


@needs("sta")
def test_timing_analysis_reads_the_constraints(tmp_path):
    exported(tmp_path, "two_finger", "--clock-ns=7.5")
    ports = module_ports((tmp_path / "two_finger.v").read_text(), "two_finger")
    # A netlist without cells has all that constraints name.
    text = ",\n".join(str(port) for port in ports)
    (tmp_path / "ports.v").write_text(f"module two_finger(\n{text}\n);\nendmodule\n")
    thresholds = [
        f"{side}_threshold_pct_{edge} : {percent};"
        for side, percent in (("input", 50), ("output", 50), ("slew_lower", 20), ("slew_upper", 80))
        for edge in ("rise", "fall")
    ]
    library = "\n".join(["library(empty) {", 'time_unit : "1ns";', *thresholds, "}", ""])
    (tmp_path / "empty.lib").write_text(library)
    (tmp_path / "run.tcl").write_text(
        "read_liberty empty.lib\nread_verilog ports.v\nlink_design two_finger\nread_sdc two_finger.sdc\n"
        "puts [get_property [get_clocks clk] period]\nexit\n"
    )
    run = subprocess.run(
        ["sta", "-no_splash", "-exit", "run.tcl"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    said = run.stdout + run.stderr
    assert "7.5" in said
    assert "rror" not in said, said
    assert "arning" not in said, said


@pytest.mark.parametrize("block", BLOCKS)
def test_paths_without_a_register_and_memories_are_those_of_the_logic(block):
    twin = BLOCKS[block].twin(SCENARIOS[block].drawn(1), status=False)
    wires = {wire.name: wire for wire in twin.block.wirevector_set}
    pins = {wire.name for wire in twin.interface.wires() if wire.direction == "input"}
    expected: dict[str, set[str]] = {}
    for wire in twin.interface.wires():
        if wire.direction == "output" and (inputs := pins.intersection(cone(twin.block, wires[wire.name]))):
            alike = [re.sub(r"\d+", "*", name) for name in (wire.name, *inputs)]
            expected.setdefault(alike[0], set()).update(alike[1:])
    paths = {output: set(inputs) for output, inputs in combinational_paths(twin, {})}
    assert paths == expected
    synchronous = {memory for memory in memories(twin) if memory.registered}
    assert sum(memory.bits * memory.entries * memories(twin)[memory] for memory in synchronous) == sum(
        macro.total_bits for macro in list_macros(twin)
    )


def test_the_list_and_the_core_name_the_files(tmp_path):
    exported(tmp_path, "two_finger")
    assert (tmp_path / "two_finger.f").read_text() == "two_finger.v\n"
    core = yaml.safe_load((tmp_path / "two_finger.core").read_text().partition("\n")[2])
    assert re.fullmatch(r"[\w.:-]+", core["name"])  # other characters are refused by FuseSoC
    assert all((tmp_path / file).is_file() for file in core["filesets"]["rtl"]["files"])


def test_a_readme_of_other_origin_stays(tmp_path, refusal):
    path = tmp_path / "README.md"
    path.write_text("# Mine\n")
    error = refusal("rtl", "export", "two_finger", "-o", str(tmp_path))
    assert error == (
        f"fiberscope: {path}: was not written by an export, and stays; choose another folder with -o\n"
    )
    assert path.read_text() == "# Mine\n"
    assert [file.name for file in tmp_path.iterdir()] == ["README.md"]


def test_an_empty_section_is_left_out_and_a_readme_of_an_export_is_replaced(tmp_path):
    write_readme(tmp_path, "one", "A block.", "1.0", {"First": "text", "Second": " "})
    assert "## Second" not in (tmp_path / "README.md").read_text()
    text = write_readme(tmp_path, "two", "A block.", "1.0", {"Third": "text"}).read_text()
    assert (
        text == "# two\n\nA block.\n\nWritten by `fiberscope rtl export`, version 1.0.\n\n## Third\n\ntext\n"
    )
