"""The page's table of what every twin becomes in cells is what the command measures."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from optional_programs import needs

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.tools.area import SHIPPED, Cells, cells_of

PAGE = Path(__file__).parents[2] / "docs" / "rtl.md"
LIBRARY = SHIPPED["osu018"][0]
FO4_NS = 0.099  # of the library, as the page has it
ROW = re.compile(r"^\| `(\w+)` \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) \| (\d+) \| ([\d,]+) \|", re.MULTILINE)
needs_cells = needs("cells")
CHAIN = 6  # inverters of which each drives four


def shown() -> dict[str, list[str]]:
    return {block: numbers for block, *numbers in ROW.findall(PAGE.read_text(encoding="utf-8"))}


def as_shown(cells: Cells) -> list[str]:
    fo4 = cells.path_ns / FO4_NS
    numbers = [f"{cells.area:,.0f}", f"{cells.memory_bits:,}"]
    return [*numbers, f"{cells.path_ns:.2f}", f"{fo4:.0f}", f"{cells.megahertz:,.0f}"]


def test_every_twin_has_its_row():
    assert shown().keys() == BLOCKS.keys()


@pytest.mark.slow
@needs_cells
@needs("yosys")
@pytest.mark.parametrize("name", BLOCKS)
def test_the_row_of_a_twin_is_what_is_measured(name):
    """Set FIBERSCOPE_UPDATE_DOCS=1 to write what is measured now."""
    block = BLOCKS[name]
    found = as_shown(cells_of(block.verilog(block.parameters()), name, LIBRARY))
    if os.environ.get("FIBERSCOPE_UPDATE_DOCS"):
        text = PAGE.read_text(encoding="utf-8")
        row = re.compile(rf"^\| `{name}` \|(?: [\d,.]+ \|){{5}}", re.MULTILINE)
        PAGE.write_text(row.sub(" | ".join(["| `" + name + "`", *found]) + " |", text), encoding="utf-8")
    assert shown()[name] == found


@needs_cells
@needs("sta")
def test_the_library_has_the_inverter_that_the_page_says(tmp_path):
    assert inverter_ns(tmp_path) == pytest.approx(FO4_NS, abs=5e-4)


def inverter_ns(folder: Path) -> float:
    """Mean delay of the inverters in the midst of a chain in which each drives four, by OpenSTA."""
    cells = [f"INVX1 i{n}(.A(n{n}), .Y(n{n + 1}));" for n in range(CHAIN)]
    cells += [f"INVX1 l{n}_{m}(.A(n{n}));" for n in range(1, CHAIN) for m in range(3)]
    wires = ", ".join(f"n{n}" for n in range(1, CHAIN))
    body = "\n".join([f"wire {wires};", *cells])
    module = f"module chain(input n0, output n{CHAIN});\n{body}\nendmodule\n"
    (folder / "chain.v").write_text(module)
    script = f"""\
read_liberty {LIBRARY}
read_verilog chain.v
link_design chain
create_clock -name c -period 10
set_input_delay 0 -clock c [get_ports n0]
set_output_delay 0 -clock c [get_ports n{CHAIN}]
report_checks -format full -digits 4
exit
"""
    (folder / "chain.tcl").write_text(script)
    command = ["sta", "-no_splash", "-exit", "chain.tcl"]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    delays = [float(delay) for delay in re.findall(r"(\d\.\d+) +\d\.\d+ [v^] i\d/Y", said)]
    assert len(delays) == CHAIN, said
    return sum(delays[2:4]) / 2
