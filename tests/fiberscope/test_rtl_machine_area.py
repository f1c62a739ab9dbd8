"""``fiberscope rtl area`` of a machine: its parts as modules, times how many there are, and their sum."""

import json
import re
from pathlib import Path

import pytest
from optional_programs import require

from fiberscope import cli
from fiberscope.results.costs.netlists import LIBRARY, LIBRARY_NM, PRICED
from fiberscope.results.costs.paths import SPEEDUPS
from fiberscope.results.costs.scaling import compute_area_factor

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.tools.area import cells_of, library
from fiberscope.rtl.machine_area import Row, clock_lines, collect_parts

PAGE = Path(__file__).parents[2] / "docs" / "rtl_machine.md"
MATRIX = "uniform:rows=12,cols=12,nonzeros=30"
SMALL = ("pe.count=3", "pe.radix=2", "fibercache.banks=2", "fibercache.size=4KiB", "memory.channels=2")
ELEMENTS = ("format.element=8", "format.value=4", "format.dense=none")


@pytest.fixture
def yosys():
    """Skips where there is no Yosys, or no cells."""
    require("yosys", "cells")


@pytest.fixture(autouse=True)
def _own_cache(here, monkeypatch):
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(here / "cache"))


def counts(*settings):
    found = collect_parts("gamma", MATRIX, settings)
    sums = {part.family: 0 for part in found.parts}
    for part in found.parts:
        sums[part.family] += part.count
    return sums, found


def area(capsys, *arguments):
    code = cli.run(["rtl", "area", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_every_unit_is_a_part_as_often_as_there_are_elements_and_banks():
    sums, found = counts(*SMALL, *ELEMENTS)
    units = ("prefetcher", "reader", "merger", "multiplier", "accumulator", "writer")
    assert {name: sums[f"pe.{name}"] for name in units} == dict.fromkeys(units, 3)
    assert (sums["fibercache.bank"], sums["scheduler"], sums["pages"]) == (2, 1, 1)
    assert sums["pe.channels"] == 3 * 5  # those of ``wires``, but what its way and the multiplier have inside
    assert not found.without


def test_lines_are_in_the_banks_and_go_through_the_networks():
    found = counts(*SMALL, *ELEMENTS)[1]
    modules = {part.family: part.module.parameters for part in found.parts}
    assert modules["fibercache.bank"].data == "array"
    assert {one.line_bits for name, one in modules.items() if name.startswith("network.")} == {512}


def test_of_a_part_without_a_module_those_within_count_and_it_is_said():
    sums, found = counts(*SMALL)
    assert "pe.reader" not in sums
    assert sums["pe.merger"] == 3
    assert "set format.element=8" in found.without["pe"]


def test_parts_are_listed_without_a_run(monkeypatch):
    monkeypatch.setattr("fiberscope.run.execute.run_recorded", None)
    assert counts(*SMALL)[0]["pe.merger"] == 3


@pytest.mark.usefixtures("yosys")
def test_an_area_is_that_of_the_netlist_times_how_many_there_are(capsys):
    settings = [f"--set={one}" for one in (*SMALL, *ELEMENTS)]
    wanted = ["--part=pages", "--part=pe.accumulator"]
    code, out, err = area(capsys, "gamma", MATRIX, *settings, *wanted, "--json=area.json")
    assert code == 0
    assert [line.partition(":")[2] for line in err.splitlines()] == [" synthesizing"] * 2
    pages, sums = json.loads(Path("area.json").read_text())["parts"]
    module = BLOCKS["accumulator"]
    parameters = module.parameters(reference_bits=32, sum_bits=32)
    cells = cells_of(module.verilog(parameters), "accumulator", library(LIBRARY))
    assert (sums["count"], sums["cells"], sums["flip_flops"]) == (3, 3 * cells.cells, 3 * cells.flip_flops)
    assert sums["um2"] == pytest.approx(3 * cells.area * compute_area_factor(LIBRARY_NM, 45))
    assert sums["path_ns"] == cells.path_ns
    total = next(line for line in out.splitlines() if line.startswith("in all"))
    assert total.split()[2:4] == ["4", f"{pages['cells'] + sums['cells']:,}"]
    slowest = max(pages, sums, key=lambda part: part["path_ns"])
    least, most = (slowest["path_ns"] / speedup for speedup in reversed(SPEEDUPS))
    reached = f"{1000 / most:,.0f} to {1000 / least:,.0f} MHz in 45 nm, by a guess"
    assert f"The machine assumes 1 GHz. Its RTL reaches {reached}:\n" in out
    assert json.loads(Path("area.json").read_text())["clock"] == {
        "part": slowest["family"],
        "path_ns": [least, most],
        "hertz": [1e9 / most, 1e9 / least],
        "assumed_hertz": 1e9,
    }
    assert "Published: 30.6 mm2 of the machine as it ships" in out
    assert area(capsys, "gamma", MATRIX, *settings, *wanted)[2] == ""  # what was measured stays


def row(family, path_ns, library=LIBRARY):
    return Row(family, 1, 0, 0, 0, 0, 0.0, 0.0, path_ns, library)


def test_the_clock_of_the_slowest_part_is_beside_that_of_the_machine():
    rows = [row("fast", 1.0), row("slow", 5.1), row("middle", 4.0)]
    assert [*clock_lines(1.0, rows)] == [
        "The machine assumes 1 GHz. Its RTL reaches 608 to 1,000 MHz in 45 nm, by a guess:",
        "the slowest part, slow with 5.10 ns here, takes 1.00 to 1.65 ns.",
        "1 GHz may be missed by slow, middle:",
        "a run then takes 1.0 to 1.6 times as long as its report says.",
    ]
    *_, factors = clock_lines(2.0, rows)
    assert factors == "a run then takes 2.0 to 3.3 times as long as its report says."
    assert len([*clock_lines(0.25, rows)]) == 2  # all meet it


def test_of_cells_of_45_nm_the_clock_is_no_guess():
    rows = [row("fast", 0.5, PRICED), row("slow", 1.25, PRICED)]
    assert [*clock_lines(1.0, rows)] == [
        "The machine assumes 1 GHz. Its RTL reaches 800 MHz in 45 nm, without wires and flip-flops:",
        "the slowest part, slow, takes 1.25 ns.",
        "1 GHz is missed by slow:",
        "a run then takes 1.2 times as long as its report says.",
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["gamma", "--part=pe.mergre"], "gamma has no part pe.mergre as RTL; did you mean pe.merger"),
        (
            ["weight_stationary"],
            "weight_stationary has no part all to replace; none of its parts exists as RTL",
        ),
        (["gamma", "--liberty=my.lib"], "my.lib: no such Liberty file; known by name: osu018"),
    ],
)
def test_what_cannot_be_measured_costs_a_line(capsys, arguments, line):
    code, out, err = area(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"fiberscope: {line}")
    assert err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("yosys")
def test_the_page_shows_what_the_command_says(capsys):
    shown = re.search(
        r"^    \$ fiberscope rtl area (gamma .*)\n((?:    .*\n|\n)+)", PAGE.read_text("utf-8"), re.M
    )
    code, out, _err = area(capsys, *shown[1].split())
    assert code == 0
    said = [line.rstrip() for line in out.splitlines()]
    assert said == [line[4:].rstrip() for line in shown[2].rstrip().splitlines()]
