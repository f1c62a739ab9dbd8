"""Every block's Verilog passes all of Verilator's lint rules, but for exceptions with a reason."""

import re
from fnmatch import fnmatch
from itertools import cycle
from pathlib import Path

import pytest
from extremes import smallest
from optional_programs import require
from scenarios import SCENARIOS
from whole_matrices import SMALL

from fiberscope import cli
from fiberscope.accelerators.gamma import element_rtl, scheduler_rtl
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.axis import axis
from fiberscope.hw.rtl.kit.checks import checked
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.tools.hdl import HdlError
from fiberscope.hw.rtl.tools.lint import PORT_WAIVERS, WAIVERS, Waiver, lint

FEW = 5  # the default run has every block at its smallest, and every fifth drawn and with other ports
DRAWN = (1, 0)  # the first without status outputs
PORTS = {
    "registered": lambda block, given: registered(block).verilog(given),
    "checked": checked,
    "axis": axis,
}
COMPLAINT = re.compile(r"^%Warning-(\w+): \S+ (.*)$", re.MULTILINE)
PAGE = Path(__file__).parents[2] / "docs" / "rtl.md"


@pytest.fixture(scope="module")
def lint_of(tmp_path_factory):
    """Checks a text of Verilog; skips where there is no Verilator."""
    require("lint")
    folder = tmp_path_factory.mktemp("lint")

    def check(text, module, *waivers):
        source = folder / f"{module}.v"
        source.write_text(text)
        lint(source, module, folder, *waivers)

    return check


@pytest.fixture(scope="module")
def complaints(lint_of):
    """Rule and message of all that Verilator says when nothing is excepted."""
    found = set()
    for block in SCENARIOS:
        for drawn in DRAWN:
            try:
                lint_of(verilog(block, drawn), block, ())
            except HdlError as error:
                found |= set(COMPLAINT.findall(str(error)))
    return found


def verilog(block, seed):
    return BLOCKS[block].verilog(SCENARIOS[block].drawn(seed), status=seed != 1)


def slow(*given):
    return pytest.param(*given, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("block", "drawn"),
    [
        (block, drawn) if drawn == DRAWN[0] and number % FEW == 0 else slow(block, drawn)
        for number, block in enumerate(SCENARIOS)
        for drawn in DRAWN
    ],
)
def test_the_verilog_is_clean(block, drawn, lint_of):
    lint_of(verilog(block, drawn), block)


@pytest.mark.parametrize(
    "given", [{}, slow({"elements": 3, "stream_lines": 5}), slow({"elements": 1, "tasks": 1, "stream": 1})]
)
def test_so_is_a_scheduler(given, lint_of):
    text = scheduler_rtl.BLOCK.verilog(scheduler_rtl.SchedulerParameters(**given))
    narrow = Waiver("UNUSEDSIGNAL", "*'completions_*'*", "memories are as large as needed, numbers are not")
    lint_of(text, "scheduler", (*WAIVERS, narrow))


ELEMENT = (
    *WAIVERS,
    Waiver("DECLFILENAME", "Filename 'pe' does not match MODULE name: 'pe_*", "a composition is one file"),
    Waiver("UNUSEDSIGNAL", "*'replies_coordinate'*", "a unit needs its own part of a tag"),
    Waiver("UNUSEDSIGNAL", "*'products_reference'*", "a sum has no scale"),
    Waiver("PINCONNECTEMPTY", "*empty reference: *", "status outputs that nobody reads"),
)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {
            "radix": 3,
            "buffer_lines": 2,
            "finishing": 3,
            "page_bytes": 64,
            "row_reads": 4,
            "element_bytes": 16,
        },
        {
            "radix": 2,
            "finishing": 1,
            "page_bytes": 32,
            "line_bytes": 32,
            "element_bytes": 16,
            "task_queue": 1,
        },
    ],
)
def test_so_is_a_processing_element(given, lint_of):
    lint_of(element_rtl.BLOCK.verilog(element_rtl.ElementParameters(**given)), "pe", ELEMENT)


MACHINE = (
    *ELEMENT,
    Waiver("DECLFILENAME", "Filename 'gamma_axi' does not match MODULE name: *", "it is one file"),
    Waiver("UNUSEDSIGNAL", "*'completions_*'*", "memories are as large as needed, numbers are not"),
    Waiver("UNUSEDSIGNAL", "Signal is not used: 'drained_valid'*", "one asks only if it is empty"),
    Waiver("UNUSEDSIGNAL", "Signal is not used: 'r_*'*", "what is read is taken as it comes"),
    Waiver("UNUSEDSIGNAL", "Signal is not used: 'b_*'*", "of a write is counted that it is answered"),
)


@pytest.mark.slow
def test_so_is_a_machine_in_one_module(tmp_path, lint_of):
    settings = (*SMALL, "memory.channels=2")
    assert (
        cli.run(["rtl", "export", "gamma", *(f"--set={one}" for one in settings), "-o", str(tmp_path)]) == 0
    )
    lint_of((tmp_path / "gamma.v").read_text(), "gamma_axi", MACHINE)


@pytest.mark.parametrize("block", BLOCKS)
def test_so_is_the_smallest(block, lint_of):
    lint_of(BLOCKS[block].verilog(smallest(block)), block)


@pytest.mark.parametrize(
    ("block", "ports"),
    [
        (block, ports) if ports == by_turns and number % FEW == 0 else slow(block, ports)
        for number, (block, by_turns) in enumerate(zip(BLOCKS, cycle(PORTS), strict=False))
        for ports in PORTS
    ],
)
def test_so_it_is_by_default_with_registered_ports(block, ports, lint_of):
    """The block itself stands in the same file."""
    text = PORTS[ports](BLOCKS[block], BLOCKS[block].parameters())
    lint_of(text, block, (*WAIVERS, *PORT_WAIVERS))


def test_each_exception_for_ports_is_needed(lint_of):
    block = BLOCKS["skip_ahead"]
    found = []
    for text in (axis(block, block.parameters()), registered(block).verilog(block.parameters())):
        with pytest.raises(HdlError) as caught:
            lint_of(text, "skip_ahead", WAIVERS)
        found += COMPLAINT.findall(str(caught.value))
    for waiver in PORT_WAIVERS:
        assert any(rule == waiver.rule and fnmatch(said, waiver.match) for rule, said in found), waiver


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("input [31:0] ways_0_coordinate", "input [32:0] ways_0_coordinate", "WIDTH"),
        ("    // Temporaries", "    wire spare = tasks_valid;", "UNUSEDSIGNAL: .*'spare'"),
        ("running_00 <= node00_goes_o", "running_00 = node00_goes_o", "BLKSEQ"),
        ("assign node00_sent = ", "assign node00_sent = node00_sent & ", "UNOPTFLAT"),
    ],
)
def test_planted_what_a_linter_is_for_is_found(old, new, complaint, lint_of):
    text = BLOCKS["merger"].verilog(BLOCKS["merger"].parameters(radix=2))
    assert old in text
    with pytest.raises(HdlError, match=f"verilator does not accept module merger:\n(?s:.*){complaint}"):
        lint_of(text.replace(old, new), "merger")


@pytest.mark.slow
@pytest.mark.parametrize("waiver", WAIVERS, ids=lambda waiver: f"{waiver.rule} {waiver.match}")
def test_each_exception_is_needed(waiver, complaints):
    assert any(rule == waiver.rule and fnmatch(said, waiver.match) for rule, said in complaints)


def test_the_page_lists_the_exceptions():
    for waivers in (WAIVERS, PORT_WAIVERS):
        rows = [f"| `{waiver.rule}` | `{waiver.match}` | {waiver.reason} |" for waiver in waivers]
        assert "\n".join(["| --- | --- | --- |", *rows, ""]) in PAGE.read_text(encoding="utf-8")
