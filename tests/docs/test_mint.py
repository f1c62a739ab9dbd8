"""The charts of the page on MINT are what runs show; its tables what the code gives."""

import re
import sys
from pathlib import Path

import pytest
from optional_programs import require

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "converters" / "support"))

from conversions import EXAMPLE, machine, parameters  # noqa: E402

from fiberscope import cli  # noqa: E402
from fiberscope.converters.recipes import sources, targets  # noqa: E402
from fiberscope.workloads.formats import FORMATS  # noqa: E402

PAGE = (ROOT / "docs" / "mint.md").read_text(encoding="utf-8")
CHARTS = re.findall(r"<!-- (\w+) (\w+) (\d+) -->\n```text\n(.*?)```", PAGE, re.DOTALL)


def chart(source: str, target: str, chunk: int) -> str:
    """In which cycles the counts of each block change."""
    made, _ = machine(EXAMPLE, source, target, parameters=parameters(("lanes.chunk", chunk)))
    parts = {"read": made.reader, **made.stages, "write": made.writer}
    marks: dict[str, list[int]] = {name: [] for name in parts}
    before = {name: part.counters() for name, part in parts.items()}
    while made.kernel.step():
        for name, part in parts.items():
            if (now := part.counters()) != before[name]:
                marks[name].append(made.kernel.cycle)
            before[name] = now
    cycles = 1 + max(max(ticked) for ticked in marks.values())
    rows = ("".join("#" if cycle in ticked else "." for cycle in range(cycles)) for ticked in marks.values())
    return "".join(f"{name:<13}{row}\n" for name, row in zip(marks, rows, strict=True))


@pytest.mark.parametrize(("source", "target", "chunk", "drawn"), CHARTS)
def test_a_chart_is_what_a_run_shows(source, target, chunk, drawn):
    assert chart(source, target, int(chunk)) == drawn


def test_the_page_has_its_charts():
    assert [found[:2] for found in CHARTS] == [("csr", "csc"), ("rlc", "coo")]


def test_the_table_of_recipes_is_theirs():
    told = {
        row[0].lower(): [name.lower() for name in row[1].split(", ")]
        for row in re.findall(r"^\| (\w+) \| ([A-Z][\w, ]+) \|$", PAGE, re.MULTILINE)
    }
    assert told.keys() == set(sources())
    assert all(set(told[source]) == set(targets(source)) - {source} for source in told)


def test_the_sizes_that_are_drawn_are_those_of_the_formats():
    told = {}
    for name in FORMATS:
        drawn = re.search(rf" {name} +\S.*? {{3,}}(\d{{3}})( bits)?$", PAGE, re.MULTILINE)
        assert drawn is not None, name
        told[name] = int(drawn[1])
    assert told == {name: form.size_bits(EXAMPLE, 32) for name, form in FORMATS.items()}


def test_the_sums_of_the_variants_are_those_of_the_gates_that_the_page_has():
    pytest.importorskip("pyrtl")
    from fiberscope.hw.rtl.tools.area import Area
    from published.mint import mint_tables, sum_gates

    begin, end = (f"<!-- compare mint: {word} -->\n" for word in ("begin", "end"))
    told = PAGE.partition(begin)[2].partition(end)[0]
    row = re.compile(r"^\| ([a-z ]+) \| (\w+) \| ([\d,]+) \| ([\d,]+) \|", re.MULTILINE)
    measured = {
        kind: (block, Area({"AND": int(gates.replace(",", ""))}, int(flip_flops.replace(",", "")), 0, 0))
        for kind, block, gates, flip_flops in row.findall(told)
    }
    assert len(measured) == 7
    yosys = re.search(r"by Yosys (\S+):", told)
    assert yosys is not None
    tables = mint_tables(sum_gates(measured), yosys[1])
    assert "\n" + "\n".join(table.markdown() for table in tables) + "\n" == told


@pytest.mark.slow
def test_the_gates_are_those_that_the_command_counts(tmp_path):
    require("yosys")
    page = tmp_path / "mint.md"
    page.write_text(PAGE, encoding="utf-8")
    assert cli.run(["compare", "mint", "--write", str(page)]) == 0
    assert page.read_text(encoding="utf-8") == PAGE
