"""The page of a single run as people use it: its drawing, its chart of states by wheel and by keyboard."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fiberscope
from fiberscope import cli
from fiberscope.page.document import page
from fiberscope.page.run import run_data
from fiberscope.results.recording.document import StateTimeline
from fiberscope.results.report.document import Report

Open = Callable[..., Any]
MATRIX = "uniform:rows=40,cols=40,nonzeros=300,seed=3"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
EVIL = "</script><img src=x onerror=alert(1)>"
TOLD = "#waits-told"


def make_page(report: Path, states: Path, output: Path, code: int = 0) -> None:
    assert cli.run(["page", str(report), "--timeline", str(states), "-o", str(output)]) == code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("run")
    fiberscope.simulate("gamma", MATRIX, timeline=made / "states.json").write(made / "report.json")
    make_page(made / "report.json", made / "states.json", made / "run.html")
    return made


@pytest.fixture
def tab(opened: Open, folder: Path) -> Any:
    return opened(folder / "run.html")


def test_the_machine_is_drawn_with_the_shares_of_the_report(tab: Any, folder: Path) -> None:
    report = Report.read(folder / "report.json")
    mergers = [one for name, one in report.components.items() if name.endswith(".merger")]
    busy = sum(one.busy for one in mergers) / sum(one.cycles for one in mergers)
    title = tab.eval_on_selector_all(".machine g title", "all => all.map(one => one.textContent)")
    assert f"pe.merger: busy {busy:.0%}" in " ".join(title)
    wide = tab.eval_on_selector_all(
        ".machine g",
        "all => all.map(one => [...one.querySelectorAll('rect')].map(r => +r.getAttribute('width')))",
    )
    assert len(wide) == tab.locator(".machine text:not(.count)").count()
    assert all(sum(parts) == pytest.approx(162, abs=0.1) for parts in wide)
    assert report.bottleneck in tab.inner_text("#bottleneck")


def test_the_cursor_tells_what_the_timeline_has(tab: Any, folder: Path) -> None:
    states = StateTimeline.read(folder / "states.json")
    tab.fill("#only", "pe07.reader")
    tab.focus("#waits")
    for _ in range(7):
        tab.keyboard.press("ArrowLeft")
    cycle = int(re.search(r"cycle ([\d,]+)", tab.inner_text(TOLD))[1].replace(",", ""))
    (taken,) = [state for state, at in states.components["gamma.pe07.reader"].states.items() if at[cycle]]
    words = {"busy": "busy", "idle": "idle", "wait": "waiting for input", "full": "waiting for output"}
    assert f"{words[taken.partition(':')[0]]} 100%" in tab.inner_text(TOLD)


def test_keys_zoom_and_move_and_the_link_keeps_it(tab: Any, opened: Open, folder: Path) -> None:
    tab.focus("#waits")
    for key in ("+", "+", "ArrowRight"):
        tab.keyboard.press(key)
    fragment = tab.evaluate("location.hash")
    first, last = (int(re.search(rf"{key}=(\d+)", fragment)[1]) for key in ("from", "to"))
    assert 150 < last - first < 250
    again = opened(folder / "run.html", fragment)
    assert again.inner_text("#waits-range") == tab.inner_text("#waits-range")
    told = tab.inner_text("#waits-range"), tab.inner_text(TOLD)
    for key in ("x", "Control+Home", "Meta+Home", "Control+ArrowRight"):  # of the browser, or of nobody
        tab.keyboard.press(key)
    assert (tab.inner_text("#waits-range"), tab.inner_text(TOLD)) == told
    tab.keyboard.press("Home")
    assert "from" not in tab.evaluate("location.hash")


def test_arrows_move_the_cursor_by_rows_and_by_cycles(tab: Any) -> None:
    def told() -> tuple[str, int]:
        text = tab.inner_text(TOLD)
        cycle = re.search(r"cycle ([\d,]+)", text)
        assert cycle is not None
        return text.replace(cycle[0], ""), int(cycle[1].replace(",", ""))

    tab.focus("#waits")
    tab.keyboard.press("ArrowLeft")
    start = told()
    tab.keyboard.press("ArrowDown")
    assert told()[0] != start[0]
    assert told()[1] == start[1]
    tab.keyboard.press("ArrowUp")
    assert told() == start
    tab.keyboard.press("ArrowRight")
    assert told()[1] > start[1]
    tab.keyboard.press("ArrowLeft")
    assert told() == start


def test_the_wheel_zooms_where_it_points(tab: Any) -> None:
    tab.locator("#waits").scroll_into_view_if_needed()
    box = tab.locator("#waits").bounding_box()
    tab.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 50)
    for _ in range(6):
        tab.mouse.wheel(0, -100)
    tab.wait_for_function("location.hash.includes('from=')")
    assert int(re.search(r"from=(\d+)", tab.evaluate("location.hash"))[1]) > 300
    tab.click("#whole")
    assert "from" not in tab.evaluate("location.hash")


def test_enter_leads_to_whom_a_component_waits_for(tab: Any, folder: Path) -> None:
    states = StateTimeline.read(folder / "states.json")
    tab.fill("#only", "pe00.merger")
    tab.focus("#waits")
    waits = states.components["gamma.pe00.merger"].states["wait:ways"]
    at = next(cycle for cycle, waited in enumerate(waits) if waited)
    tab.evaluate(f"location.hash = '#only=pe00.merger&from={at}&to={at + 4}'")
    tab.wait_for_function("document.querySelector('#waits-range').textContent.includes('of 1.')")
    box = tab.locator("#waits").bounding_box()
    tab.mouse.move(box["x"] + 220, box["y"] + 8)
    assert "waiting for input 100% (ways; from gamma.pe00.reader)" in tab.inner_text(TOLD)
    tab.focus("#waits")
    tab.keyboard.press("Enter")
    assert tab.inner_text(TOLD).startswith("gamma.pe00.reader")


def test_enter_follows_a_request_through_networks_into_memory(tab: Any, folder: Path) -> None:
    states = StateTimeline.read(folder / "states.json")
    chains = states.chains
    assert chains is not None
    name, number, links = next(
        (name, number, [chains.links[place] for place in chain])
        for name, samples in chains.components.items()
        for number, chain in enumerate(samples)
        if len(chain) > 2 and "memory.channel" in chains.links[chain[-1]][0]
    )
    at = states.start + number * chains.interval
    tab.evaluate(f"location.hash = '#only={name}&from={at}&to={at + 4}'")
    tab.wait_for_function("document.querySelector('#waits-range').textContent.includes('of 1.')")
    tab.focus("#waits")
    box = tab.locator("#waits").bounding_box()
    tab.mouse.move(box["x"] + 220, box["y"] + 8)
    shown = [line.inner_text() for line in tab.locator("#waits-chain li").all()]
    assert shown == [" ".join(link) for link in links]
    for component in list(dict.fromkeys(component for component, _text in links))[1:]:
        tab.keyboard.press("Enter")
        assert tab.inner_text(TOLD).startswith(f"{component},")


def inaccessible(tab: Any) -> list[tuple[str, list[str]]]:
    """What axe finds wrong, by rule."""
    tab.add_script_tag(path=Path(__file__).parent / "vendor" / "axe.min.js")
    found = tab.evaluate("tags => axe.run({ runOnly: tags })", RULES)
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]]


def test_the_page_is_accessible(tab: Any) -> None:
    assert inaccessible(tab) == []


@pytest.mark.slow
def test_the_dark_page_is_accessible_with_all_its_tables(opened: Open, folder: Path) -> None:
    tab = opened(folder / "run.html", color_scheme="dark")
    for details in tab.locator("summary").all():
        details.click()
    assert inaccessible(tab) == []


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.slow), 400])
def test_nothing_is_cut(opened: Open, folder: Path, width: int) -> None:
    """Neither page nor drawing is wider than its place; what is wider scrolls in a box of its own."""
    tab = opened(folder / "run.html")
    tab.set_viewport_size({"width": width, "height": 900})
    tab.reload()
    for summary in tab.locator("summary").all():
        summary.click()
    assert tab.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    right = "all => all.map(one => one.closest('.wide') ? 0 : one.getBoundingClientRect().right)"
    assert max(tab.eval_on_selector_all("main svg, main canvas, main svg text, main table", right)) <= width
    left = "all => all.map(one => one.getBoundingClientRect().left)"
    assert min(tab.eval_on_selector_all("main svg text", left)) >= 0
    assert tab.evaluate("document.querySelector('.machine text').getBoundingClientRect().height") > 8


def test_names_with_markup_are_text(opened: Open, tmp_path: Path) -> None:
    report = fiberscope.simulate("gamma", MATRIX)
    evil = report.model_copy(
        update={
            "workload": report.workload.model_copy(update={"name": EVIL}),
            "traffic": {EVIL: next(iter(report.traffic.values()))},
            "components": {**report.components, EVIL: next(iter(report.components.values()))},
            "bottleneck": EVIL,
        }
    )
    (tmp_path / "evil.html").write_text(page(run_data(evil), EVIL), encoding="utf-8")
    tab = opened(tmp_path / "evil.html")
    assert EVIL in tab.inner_text("h1")
    assert EVIL in tab.inner_text("#bottleneck")
    assert tab.locator("img").count() == 0


def test_a_graph_is_drawn_as_long_as_its_file_is_that_graph(opened: Open, tmp_path: Path) -> None:
    graph = tmp_path / "spmv.gv"
    text = (Path(__file__).parents[3] / "examples/graphs/spmv.gv").read_text(encoding="utf-8")
    graph.write_text(text, encoding="utf-8")
    told = ["--json", f"{tmp_path}/r.json", "--timeline", f"{tmp_path}/s.json", "-q"]
    assert cli.run(["graph", "run", str(graph), "B=uniform:rows=12,cols=9,nonzeros=40", "c=ones", *told]) == 0
    make_page(tmp_path / "r.json", tmp_path / "s.json", tmp_path / "g.html")
    tab = opened(tmp_path / "g.html")
    assert tab.locator(".machine g title").count() == 12
    assert tab.locator("#waits").count() == 1
    assert "What the blocks of a graph cost is not known." in tab.inner_text("main")
    graph.write_text(text.replace("mul", "add"), encoding="utf-8")
    assert run_data(Report.read(tmp_path / "r.json"))["undrawn"].endswith("has no block graph.mul any more")


def test_a_conversion_is_drawn_with_its_roof() -> None:
    data = run_data(fiberscope.convert("csr", "csc", MATRIX))
    assert data["machine"].count("<g data-box=") == 14
    assert data["roofline"]["bandwidth"] > 0
    assert data["roofline"]["peak"] is None  # no part counts its compare-exchanges


def test_states_of_another_run_are_refused(folder: Path, tmp_path: Path, refusal) -> None:
    fiberscope.simulate("gamma", MATRIX.replace("seed=3", "seed=4")).write(tmp_path / "other.json")
    output = tmp_path / "page.html"
    error = refusal(
        "page", f"{tmp_path}/other.json", "--timeline", f"{folder}/states.json", "-o", str(output)
    )
    assert "the timeline is not of this run: gamma.scheduler differs" in error
    assert not output.exists()


@pytest.mark.parametrize("machine", ["extensor", "outerspace", "sigma"])
def test_other_machines_are_drawn_too(machine: str) -> None:
    data = run_data(fiberscope.simulate(machine, "uniform:rows=9,cols=9,nonzeros=20"))
    assert data["undrawn"] == ""
    assert data["machine"].count("<g data-box=") > 4
