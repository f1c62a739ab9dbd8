"""Every block's Verilog passes all of Verilator's lint rules, but for exceptions with a reason."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
from scenarios import SCENARIOS

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.axis import axis
from fiberscope.hw.rtl.kit.checks import checked
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.tools.hdl import SIMULATORS, HdlError
from fiberscope.hw.rtl.tools.lint import PORT_WAIVERS, WAIVERS, lint

DRAWN = range(3)
NARROW = {"coordinate_bits": 1, "reference_bits": 1, "value_bits": 32}
SMALLEST = {
    "merger": {"radix": 2, **NARROW},
    "bank": {
        **dict.fromkeys(("banks", "sets", "ways", "misses", "targets", "reuse_limit"), 1),
        "priority_limit": 0,
    },
    "merge_tree": {"radix": 2, "leaves": 2, "capacity": 1, **NARROW},
    "channel": {"capacity": 1, "coordinate_bits": 0, "reference_bits": 0, "value_bits": 0},
    "prefix_sum": {"lanes": 1, "width": 1},
    "divider": {"width": 1},
    "sorting_network": {"lanes": 2, "width": 1, "word_bits": 0},
    "cluster_counter": {"lanes": 1, "width": 1, "word_bits": 0},
    "comparator_bank": {"lanes": 1, "width": 1, "word_bits": 1},
    "position_multiplier": {"lanes": 1, "width": 1, "word_bits": 0},
    "packer": {"inputs": 1, "outputs": 1, "width": 1, "word_bits": 0},
    "counter_banks": {
        **dict.fromkeys(("counters", "lanes", "sweep_lanes"), 1),
        "counter_bits": 16,
        "word_bits": 0,
    },
    "adder_network": {"leaves": 2, "id_bits": 1, "operand_bits": 1},
    "benes": {"lanes": 2, "vector_bits": 1, "coordinate_bits": 1},
    "regor": {"lanes": 1, "width": 1},
    "prefix_popcount": {"lanes": 1, "width": 1, "sum_width": 1},
    "sorted_head": {"entries": 1, "column_bits": 1, "value_bits": 0},
    "accumulator": {"coordinate_bits": 1, "value_bits": 1, "sum_bits": 1},
    "bump_allocator": {"end": 0, "size_bits": 1, "who_bits": 1},
    "node_writer": {"rows": 1, "address_bits": 1, "count_bits": 1},
    "atomic_update": {
        **dict.fromkeys(("entries", "read_latency", "reduce_latency", "write_latency"), 1),
        "value_bits": 2,
    },
    "islip": {"inputs": 1, "outputs": 1, "depth": 1, "coordinate_bits": 5, "value_bits": 0},
    "touched": {"bits": 1, "count_bits": 12},
    "prefetch": {"element_bytes": 1, "line_bytes": 8, "lines": 1, "element_bits": 9, "address_bits": 16},
    "two_finger": NARROW,
    "skip_ahead": {"window": 1, **NARROW},
    "compressed_scanner": {"fibers": 1, "elements": 1, "coordinate_bits": 4, "reference_bits": 4},
    "repeat_signal": {"coordinate_bits": 4},
    "repeater": {"reference_bits": 4},
    "fiber_intersect": {"coordinate_bits": 4, "reference_bits": 4},
    "fiber_union": {"coordinate_bits": 4, "reference_bits": 4},
    "array": {"entries": 1, "reference_bits": 4, "value_bits": 1},
    "alu": {"value_bits": 1, "result_bits": 1},
    "scalar_reducer": {"value_bits": 1, "sum_bits": 1},
    "dense_scanner": {"size": 1, "coordinate_bits": 4, "reference_bits": 4},
    "coordinate_hold": {"coordinate_bits": 4},
    "fiber_reducer": {"coordinate_bits": 4, "value_bits": 1, "sum_bits": 1},
    "sparse_accumulator": {"points": 2, "coordinate_bits": 4, "value_bits": 1, "sum_bits": 1},
    "tensor_accumulator": {"ways": 1, "points": 2, "coordinate_bits": 4, "value_bits": 1, "sum_bits": 1},
    "stop_dropper": {"coordinate_bits": 4},
    "coordinate_dropper": {"coordinate_bits": 4},
    "compressed_writer": {"fibers": 1, "elements": 1, "coordinate_bits": 4},
    "values_writer": {"entries": 1, "value_bits": 1},
    "bitmap_intersector": {"width": 2, "coordinate_bits": 6, "reference_bits": 7},
}
COMPLAINT = re.compile(r"^%Warning-(\w+): \S+ (.*)$", re.MULTILINE)
PAGE = Path(__file__).parents[2] / "docs" / "rtl.md"


@pytest.fixture(scope="module")
def lint_of(tmp_path_factory):
    """Checks a text of Verilog; skips where there is no Verilator."""
    try:
        SIMULATORS["verilator"].require()
    except HdlError as error:
        pytest.skip(str(error))
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


@pytest.mark.parametrize("drawn", DRAWN)
@pytest.mark.parametrize("block", SCENARIOS)
def test_the_verilog_is_clean(block, drawn, lint_of):
    lint_of(verilog(block, drawn), block)


@pytest.mark.parametrize("block", BLOCKS)
def test_so_it_is_by_default(block, lint_of):
    lint_of(BLOCKS[block].verilog(BLOCKS[block].parameters()), block)


@pytest.mark.parametrize("block", BLOCKS)
def test_so_is_the_smallest(block, lint_of):
    lint_of(BLOCKS[block].verilog(BLOCKS[block].parameters(**SMALLEST[block])), block)


@pytest.mark.parametrize("ports", ["registered", "checked", "axis"])
@pytest.mark.parametrize("block", BLOCKS)
def test_so_it_is_with_registered_ports(block, ports, lint_of):
    made = {"registered": lambda block, parameters: registered(block).verilog(parameters)}
    text = (made | {"checked": checked, "axis": axis})[ports](BLOCKS[block], BLOCKS[block].parameters())
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
