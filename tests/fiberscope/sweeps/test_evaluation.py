"""A suite in one study file, and its figures and tables on pages."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import fiberscope
from fiberscope import cli
from fiberscope.explore.sweeps.evaluation import Evaluation
from fiberscope.results.figures.pages import (
    HEIGHT,
    ROW_HEIGHT,
    TOP_MARGIN,
    FigureItem,
    TableItem,
    draw_pages,
    write_pages,
)
from fiberscope.results.figures.style import open_paper_figure

pytest.importorskip("matplotlib")

STUDY = """\
machines:
  - {name: two, accelerator: gamma, set: {pe.count: 2}}
  - {name: four, accelerator: gamma, set: {pe.count: 4}}
workloads:
  small: "uniform:rows=20,cols=20,nonzeros=60"
  large: "uniform:rows=30,cols=30,nonzeros=90"
settings: {memory.model: simple}
store: kept
evaluation:
  against: four
  columns: [time]
  mean: [harmonic]
  title: Two and four
  width: column
  figures: [speedup, {show: traffic, caption: "Bytes by tensor."}]
  tables: [[speedup, cycles], {show: resources, caption: "Who has what."}]
"""


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    Path("study.yaml").write_text(STUDY)
    return here


def table(rows: int, **fields: object) -> TableItem:
    """A table of that many rows in two blocks."""
    cells = [[f"row {number}", "1.00"] for number in range(rows)]
    blocks = [("first", cells[: rows // 2]), ("", cells[rows // 2 :])]
    return TableItem(["name", "value"], blocks, [("machine", 1)], "Table 1. All.", ["a note"])


def test_a_file_makes_a_paper(printed) -> None:
    words = ["suite", "study.yaml", "--paper", "p.pdf", "--latex", "t.tex", "--workers", "1", "--quiet"]
    out = printed(*words)
    assert "Paper: p.pdf, 1 page" in out
    assert "two, time [" in out
    assert "harmonic mean of 2" in out
    assert "small" in out
    assert Path("p.pdf").read_bytes().startswith(b"%PDF")
    latex = Path("t.tex").read_text(encoding="utf-8")
    assert latex.count(r"\begin{table}") == 2
    assert "Who has what." in latex
    assert Path("kept").is_dir()
    first = Path("p.pdf").read_bytes()
    assert cli.run(words) == 0
    assert Path("p.pdf").read_bytes() == first


def test_options_replace_keys_of_the_file(printed) -> None:
    Path("list.txt").write_text("other = uniform:rows=10,cols=10,nonzeros=20\n")
    words = ["suite", "study.yaml", "--workloads", "list.txt", "--against", "two", "--columns", "speedup"]
    out = printed(*words, "--workers", "1", "--quiet", "--latex", "t.tex")
    assert "Speedup over two" in out
    assert "other" in out
    assert "small" not in out
    assert "Speedup over two" in Path("t.tex").read_text(encoding="utf-8")


def test_a_fault_of_a_machine_is_placed_in_the_file(refusal) -> None:
    Path("study.yaml").write_text(STUDY.replace("pe.count: 4", "pe.count: 0"))
    assert "study.yaml:3:54: pe.count is 0" in refusal("suite", "study.yaml", "--quiet")


@pytest.mark.parametrize("show", ["[cycles, resources]", "[resources, resources]"])
def test_the_table_of_resources_has_no_columns(refusal, show: str) -> None:
    Path("study.yaml").write_text(STUDY.replace("[speedup, cycles]", show))
    error = refusal("suite", "study.yaml", "--quiet")
    assert "study.yaml:16:" in error
    assert "resources is a table of its own" in error


def test_python_takes_the_file() -> None:
    suite = fiberscope.suite("study.yaml", workers=1, progress=False)
    assert suite.against == "four"
    assert list(suite.labels.values()) == ["small", "large"]
    assert suite.evaluation.title == "Two and four"


def test_defaults_show_a_table_and_the_resources() -> None:
    assert [each.show for each in Evaluation().all_tables()] == [["cycles", "speedup"], ["resources"]]


def test_a_long_table_goes_on_over_pages() -> None:
    pieces = list(table(200).split(HEIGHT - 2 * TOP_MARGIN))
    assert sum(len(rows) for piece in pieces for _, rows in piece.blocks) == 200
    assert all(piece.height <= HEIGHT - 2 * TOP_MARGIN for piece in pieces)
    assert pieces[1].caption == "Table 1, continued."
    assert [piece.notes for piece in pieces[:-1]] == [()] * (len(pieces) - 1)
    assert list(table(20).split(HEIGHT - 2 * TOP_MARGIN)) == [table(20)]


@pytest.mark.parametrize("blocks", [1, 2, 30])
@pytest.mark.parametrize("rows", [1, 2, 20])
@pytest.mark.parametrize("title", ["", "t{}"])
def test_each_page_of_a_table_is_as_full_as_it_can_be(blocks: int, rows: int, title: str) -> None:
    cells = [
        (title.format(block), [[f"{block}", f"{row}"] for row in range(rows)]) for block in range(blocks)
    ]
    whole = TableItem(["name", "value"], cells, (), "Table 1. All of it.", ["a note"] * 3)
    pieces, height = list(whole.split(5.0)), 5.0
    assert [row for piece in pieces for row in piece._rows] == whole._rows
    assert all(piece.height <= height for piece in pieces)
    for piece, following in pairwise(pieces):
        first = following.blocks[0][0], following.blocks[0][1][:1]
        notes = following.notes if len(following._rows) == 1 else ()
        assert replace(piece, blocks=[*piece.blocks, first], notes=notes).height > height - ROW_HEIGHT / 2


@pytest.mark.parametrize(("width", "pages"), [(7.16, 2), (3.4, 1)])
def test_narrow_figures_stand_in_two_columns(width: float, pages: int, folder: Path) -> None:
    items = []
    for number in range(4):
        with open_paper_figure(width, 3.5) as figure:
            figure.subplots().plot([0, 1], [0, number])
        items.append(FigureItem(figure, f"Figure {number + 1}. A line that needs two lines or more."))
    drawn = draw_pages(items, "")
    assert len(drawn) == pages
    write_pages(drawn, folder / "pages.pdf")
    boxes = [item.figure.bbox_inches for item in items]
    assert all(box.x0 > 0.5 and box.x1 < 8.0 and box.y0 > 0.5 and box.y1 < 10.5 for box in boxes)
    columns = {round(box.x0, 2) for box in boxes}
    assert len(columns) == 3 - pages
