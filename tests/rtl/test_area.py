"""Areas: known modules to the gate, blocks that grow with their parameters, and what is refused."""

import sys
from dataclasses import replace
from itertools import pairwise

import pytest
from optional_programs import needs

from fiberscope.hw.fibers.merge_rtl import MergerParameters
from fiberscope.hw.fibers.merge_tree_rtl import MergeTreeParameters
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.channel import ChannelParameters
from fiberscope.hw.rtl.tools.area import SHIPPED, Area, cells_of, gates_of, library, measure, require, version
from fiberscope.hw.rtl.tools.simulator import HdlError

NARROW = MergerParameters(radix=2, coordinate_bits=4, reference_bits=4, value_bits=32)
needs_yosys = needs("yosys")
needs_cells = needs("cells")
COMBINATIONAL = """
module known(input a, input b, input c, output y, output z);
    assign y = (a ^ b) & c;
    assign z = ~a;
endmodule
"""
TWO_LEVELS = """
module known(input clk, input [3:0] d, input [1:0] at, output reg [3:0] q);
    wire [3:0] held;
    half low(clk, d[1:0], held[1:0]);
    half high(clk, d[3:2], held[3:2]);
    reg [3:0] slots [0:3];
    always @(posedge clk) begin slots[at] <= held; q <= slots[at] & held; end
endmodule
module half(input clk, input [1:0] d, output reg [1:0] q);
    always @(posedge clk) q <= d;
endmodule
"""


@needs_yosys
def test_a_module_of_three_gates():
    assert gates_of(COMBINATIONAL, "known") == Area({"AND": 1, "XOR": 1, "NOT": 1}, 0, 0, depth=2)


@needs_yosys
@needs_cells
def test_the_cells_of_a_known_module():
    inverters = "module known(input [2:0] a, output [2:0] y); assign y = ~a; endmodule"
    found = cells_of(inverters, "known", library("osu018"))
    assert (found.area, found.flip_flop_area, found.memory_bits) == (3 * 16.0, 0.0, 0)  # of INVX1 each
    assert 0.01 < found.path_ns < 0.1


@needs_yosys
@needs_cells
def test_a_library_may_have_any_name(here):
    linked = here / "a b;!touch ran;.lib"
    linked.symlink_to(library("osu018"))
    found = cells_of(COMBINATIONAL, "known", library(linked.name))
    assert found == cells_of(COMBINATIONAL, "known", library("osu018"))
    copied = here / "c'd;!touch ran;.lib"
    copied.write_bytes(library("osu018").read_bytes())
    assert cells_of(COMBINATIONAL, "known", library(copied.name)) == found
    assert not (here / "ran").exists()


@needs_yosys
def test_a_library_that_is_no_utf8_is_refused_by_its_name(tmp_path):
    cells = tmp_path / "my.lib"
    cells.write_bytes(b"library(x) { \xff }")
    with pytest.raises(HdlError, match=r"^Yosys does not accept module known with the cells of .*/my\.lib: "):
        cells_of(COMBINATIONAL, "known", library(str(cells)))


@needs_yosys
@needs_cells
def test_registers_take_their_cells_and_paths_end_at_them():
    chain = "module m(input clk, input [15:0] d, output reg q); {} endmodule"
    whole = chain.format("reg [15:0] h; always @(posedge clk) begin h <= d; q <= &h; end")
    cut = chain.format(
        "reg [15:0] h; reg [3:0] p; always @(posedge clk) begin h <= d; q <= &p; "
        "p <= {&h[15:12], &h[11:8], &h[7:4], &h[3:0]}; end"
    )
    one, two = (cells_of(text, "m", library("osu018")) for text in (whole, cut))
    assert two.flip_flop_area == one.flip_flop_area * 21 / 17
    assert two.path_ns < one.path_ns


def test_a_library_that_is_not_there_is_named(tmp_path, monkeypatch):
    with pytest.raises(HdlError, match=r"none\.lib: no such Liberty file; known by name: osu018"):
        library("none.lib")
    monkeypatch.setitem(SHIPPED, "osu018", (tmp_path / "osu018.lib", "qflow-tech-osu018"))
    with pytest.raises(HdlError, match=r"the cells osu018 are not installed .*apt install qflow-tech-osu018"):
        library("osu018")


@needs_yosys
def test_registers_memories_and_modules_within_are_counted():
    assert gates_of(TWO_LEVELS, "known") == Area({"AND": 4}, flip_flops=8, memory_bits=16, depth=1)


@needs_yosys
@pytest.mark.parametrize("bits", [1, 8, 24])
def test_the_registers_of_a_channel_of_one_slot(bits):
    given = ChannelParameters(1, 1, control_bits=0, coordinate_bits=bits, reference_bits=0, value_bits=0)
    assert measure(BLOCKS["channel"], given).flip_flops == bits + 1  # the slot, and whether it is full


@needs_yosys
def test_the_bits_of_a_channel_are_its_memory():
    area = measure(
        BLOCKS["channel"], ChannelParameters(capacity=5, latency=3, reference_bits=0, value_bits=32)
    )
    assert area.memory_bits == 8 * (1 + 32 + 32)
    assert area.flip_flops == 3 + 3 + 2 * 3 + 2  # held, shown, two pointers, in flight


@needs_yosys
def test_a_merger_grows_with_its_radix_and_widths():
    merger = BLOCKS["merger"]
    by_radix = [measure(merger, replace(NARROW, radix=radix, stages=1)) for radix in (2, 4, 8)]
    assert [area.flip_flops for area in by_radix] == [1 + 2, 1 + 4, 1 + 8]
    for less, more in pairwise(by_radix):
        assert less.gate_count < more.gate_count
        assert less.depth < more.depth
    for change in ({"coordinate_bits": 16}, {"reference_bits": 16}, {"value_bits": 64}):
        assert measure(merger, replace(NARROW, **change)).gate_count > by_radix[0].gate_count


@needs_yosys
def test_a_stage_more_of_a_merger_has_registers_and_shorter_paths():
    merger = BLOCKS["merger"]
    flat, staged = (measure(merger, replace(NARROW, radix=8, stages=stages)) for stages in (1, 3))
    tokens = 2 * (4 + 2)  # two slots behind each node but the last
    assert staged.flip_flops == 1 + 4 + 8 + tokens * (1 + 1 + 4 + 4 + 32)
    assert staged.depth < flat.depth


@needs_yosys
def test_a_composition_is_its_parts():
    given = MergeTreeParameters(2, 2, coordinate_bits=4, reference_bits=4, value_bits=32)
    tree = measure(BLOCKS["merge_tree"], given)
    merger = measure(BLOCKS["merger"], NARROW)
    channel = measure(BLOCKS["channel"], ChannelParameters(2, 1, 1, 4, 4, 32))
    assert tree.flip_flops == 3 * merger.flip_flops + 2 * channel.flip_flops
    assert tree.memory_bits == 2 * channel.memory_bits
    assert tree.gate_count == pytest.approx(3 * merger.gate_count + 2 * channel.gate_count, rel=0.1)


@needs_yosys
@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_can_be_measured(block):
    area = measure(BLOCKS[block], BLOCKS[block].parameters())
    assert area.gate_count > 10
    assert area.depth > 1
    assert set(area.gates) <= {"AND", "OR", "XOR", "MUX", "NOT"}


@needs_yosys
def test_what_yosys_does_not_accept_is_said_in_one_line():
    with pytest.raises(HdlError, match=r"^Yosys does not accept module known: .*ERROR: syntax error.*$"):
        gates_of(COMBINATIONAL.replace("assign y", "asign y"), "known")
    with pytest.raises(
        HdlError, match=r"Yosys does not accept module other: ERROR: Module `other' not found"
    ):
        gates_of(COMBINATIONAL, "other")


@needs_yosys
def test_the_version_is_known():
    assert version().startswith("0.")


def test_without_yosys_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyosys", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(HdlError, match=r"Yosys is not installed, which areas need: pip install"):
        require()
