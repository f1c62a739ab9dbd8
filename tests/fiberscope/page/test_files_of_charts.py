"""What the buttons beside a chart save: the picture as it is shown, and the numbers that it is drawn of."""

import csv
import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import fiberscope
from fiberscope.page.document import page
from fiberscope.page.run import run_data
from fiberscope.results.recording.document import StateTimeline
from fiberscope.results.report.document import Report

Open = Callable[..., Any]
MATRIX = "uniform:rows=40,cols=40,nonzeros=300,seed=3"
SVG = "{http://www.w3.org/2000/svg}"
KINDS = "Kinds of components"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files")
    report = fiberscope.simulate("gamma", MATRIX, timeline=made / "states.json")
    report.write(made / "report.json")
    data = run_data(report, StateTimeline.read(made / "states.json"))
    (made / "run.html").write_text(page(data, data["title"]), encoding="utf-8")
    return made


def saved(tab: Any, kind: str, title: str) -> bytes:
    """The file that a button saves, pressed by the keyboard."""
    button = tab.get_by_role("button", name=f"Save as {kind}: {title}", exact=True)
    button.focus()
    with tab.expect_download() as download:
        tab.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(f".{kind.lower()}")
    return Path(download.value.path()).read_bytes()


def table(tab: Any, title: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(saved(tab, "CSV", title).decode())))


MARGIN = 12  # pixels around a saved picture
# from the left of its figure, and from the figure's top to the middle of its line
PLACE_OF_TITLE = """figure => {
    const line = figure.querySelector(".head > :first-child").getBoundingClientRect();
    const whole = figure.getBoundingClientRect();
    return [line.x - whole.x, line.y - whole.y + line.height / 2];
}"""


def test_every_chart_of_a_run_is_saved_in_three_ways(opened: Open, folder: Path) -> None:
    tab = opened(folder / "run.html")
    figures = tab.locator("figure:has(svg, canvas) .head > :first-child").all_inner_texts()
    assert len(figures) >= 4
    for title in figures:
        root = ElementTree.fromstring(saved(tab, "SVG", title))
        width, height = (float(root.get(side)) for side in ("width", "height"))
        assert saved(tab, "PNG", title)[16:24] == struct.pack(">II", int(2 * width), int(2 * height))
        heading = next(text for text in root.iter(f"{SVG}text") if text.text == title)
        shown = tab.locator("figure", has=tab.get_by_role("heading", name=title, exact=True)).first
        place = shown.evaluate(PLACE_OF_TITLE)
        assert [float(heading.get(side)) - MARGIN for side in "xy"] == pytest.approx(place, abs=1)
        assert len(table(tab, title)) > 1


def test_a_saved_picture_needs_no_style_sheet(opened: Open, folder: Path) -> None:
    tab = opened(folder / "run.html", color_scheme="dark")
    text = saved(tab, "SVG", KINDS).decode()
    assert "var(" not in text
    assert "currentColor" not in text
    assert f'fill="{tab.evaluate("getComputedStyle(document.body).backgroundColor")}"' in text
    shown = tab.locator("figure", has=tab.get_by_role("heading", name=KINDS)).locator("svg rect").first
    assert f'fill="{shown.evaluate("bar => getComputedStyle(bar).fill")}"' in text


def test_a_saved_table_has_the_numbers_of_the_report(opened: Open, folder: Path) -> None:
    report = Report.read(folder / "report.json")
    tab = opened(folder / "run.html")
    told = {name: [int(count) for count in counts] for name, *counts in table(tab, "Traffic")[1:]}
    moved = {name: [one.read_bytes, one.write_bytes] for name, one in report.traffic.items()}
    assert told == {**moved, "in all": [sum(column) for column in zip(*moved.values(), strict=True)]}
    heads, *rows = table(tab, KINDS)
    assert heads[1:] == [
        f"{state} (share)" for state in ("busy", "waiting for input", "waiting for output", "idle")
    ]
    assert all(sum(map(float, shares)) == pytest.approx(1) for _, *shares in rows)


def test_a_saved_table_of_runs_has_all_that_the_filter_leaves(opened: Open, tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="the extra 'sweep' is not installed")
    from studies import BYTES, PES, cycles, study

    from fiberscope.page import study_data

    data = study_data(study(tmp_path / "study"), "A study")
    (tmp_path / "study.html").write_text(page(data, "A study"), encoding="utf-8")
    tab = opened(
        tmp_path / "study.html", "#filter=wiki-Vote status=done&columns=pe_count,fibercache_size,cycles"
    )
    heads, *rows = table(tab, "Runs")
    assert heads == ["run", "fibercache.size (bytes)", "pe.count", "cycles"]
    told = {tuple(map(int, row[1:])) for row in rows}
    every = {(size, pes, cycles(pes)) for pes in PES for size in BYTES.values()}
    assert told < every
    assert len(told) == len(rows) == len(every) - 1  # one of them failed
    assert saved(tab, "PNG", "cycles by fibercache.size").startswith(b"\x89PNG")
