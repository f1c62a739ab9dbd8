"""The page of a study as people use it: pointing, typing, by keyboard alone, by a link."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb", reason="the extra 'sweep' is not installed")

from studies import BYTES, EVIL, PES, SIZES, cycles, study, traffic

from fiberscope.page import page, study_data
from fiberscope.results.store import Store
from fiberscope.results.store.columns import encode_row

Open = Callable[..., Any]
SHOWN = "#count"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
CHARTS = ("By parameter", "Trade-off", "Where cycles went", "Roofline", "Two runs")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    data = study_data(study(folder / "study"), f"A study {EVIL}")
    (folder / "study.html").write_text(page(data, data["title"]), encoding="utf-8")
    return folder / "study.html"


def rows(tab: Any) -> list[list[str]]:
    """The texts of the table of runs."""
    return tab.eval_on_selector_all(
        ".runs tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.innerText))"
    )


def heads(tab: Any) -> list[str]:
    return tab.eval_on_selector_all(
        ".runs thead th", "heads => heads.map(h => h.innerText.replace(/ [▲▼]/, ''))"
    )


def column(tab: Any, name: str) -> list[str]:
    at = heads(tab).index(name)
    return [row[at] for row in rows(tab)]


def test_a_name_with_markup_is_text(opened: Open, file: Path) -> None:
    tab = opened(file)
    assert EVIL in tab.inner_text("h1")
    assert EVIL in column(tab, "workload")
    for chart in CHARTS:
        tab.get_by_role("tab", name=chart).click()
    assert tab.title() == f"A study {EVIL}"
    assert tab.locator("img").count() == 0


def test_a_study_of_one_run_is_one_run(opened: Open, tmp_path: Path) -> None:
    data = study_data(study(tmp_path / "study", 1), "One")
    (tmp_path / "one.html").write_text(page(data, "One"), encoding="utf-8")
    assert "1 run. Version" in opened(tmp_path / "one.html").inner_text("header")


def test_typing_a_filter_leaves_the_runs_that_meet_it(opened: Open, file: Path) -> None:
    tab = opened(file)
    tab.get_by_label("Filter", exact=True).fill("pe.count > 16 fibercache.size <= 768KiB wiki-Vote")
    assert tab.inner_text(SHOWN) == "4 of 36 runs are shown."
    assert {
        (pes, size) for pes, size in zip(column(tab, "pe.count"), column(tab, "fibercache.size"), strict=True)
    } == {(pes, size) for pes in ("32", "64") for size in ("192 KiB", "768 KiB")}
    assert tab.locator("#chart [role=option]").count() == 2 * 3  # two charts, and one run of the four failed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pe.cuont > 3", "There is no column pe.cuont; the columns are status, "),
        ("pe.count > many", "pe.count holds numbers, and many is none."),
        ("workload > 3", "workload holds words; compare it with = or !=."),
    ],
)
def test_a_filter_that_makes_no_sense_says_why(opened: Open, file: Path, text: str, said: str) -> None:
    tab = opened(file)
    tab.get_by_label("Filter", exact=True).fill(text)
    assert tab.get_by_role("alert").inner_text().startswith(said)


def test_a_head_sorts_up_then_down_then_not(opened: Open, file: Path) -> None:
    tab = opened(file)
    head = tab.locator("#sort-cycles")
    head.click()
    ran = [text for text in column(tab, "cycles") if text]
    assert ran == sorted(ran, key=lambda text: int(text.replace(",", "")))
    assert column(tab, "cycles")[-3:] == ["", "", ""]
    assert tab.locator("th[aria-sort=ascending]").inner_text().startswith("cycles")
    head.click()
    assert [text for text in column(tab, "cycles") if text] == ran[::-1]
    head.click()
    assert tab.locator("th[aria-sort=ascending], th[aria-sort=descending]").count() == 0


def test_a_failed_run_shows_its_reason(opened: Open, file: Path) -> None:
    tab = opened(file, "#is.status=deadlock")
    assert len(rows(tab)) == 3
    assert column(tab, "bottleneck")[0] == f"gamma.pe00 waits for {EVIL} with 64 PEs"
    tab.locator(".runs tbody tr").first.click()
    assert f"deadlock: gamma.pe00 waits for {EVIL}" in tab.inner_text("aside")


def test_clicking_a_point_shows_that_run(opened: Open, file: Path) -> None:
    tab = opened(file, "#show=front&filter=wiki-Vote")
    point = tab.locator("#chart .point").nth(4)
    number = tab.evaluate(
        "node => Data.byId.get(node.id.replace('trade-', '')).number", point.element_handle()
    )
    point.click(force=True)
    assert tab.inner_text("aside h2") == f"Run {number}"
    assert "Computation is the limit" in tab.inner_text("aside")
    assert tab.locator(".runs tr.selected").inner_text().startswith(str(number))


def test_the_front_is_what_no_run_beats(opened: Open, file: Path) -> None:
    """Fewer cycles by PEs, less traffic by size: only the largest of both is on the front."""
    tab = opened(file, "#show=front")
    tab.get_by_text("The same as a table").click()
    tab.wait_for_selector("figure tbody tr")  # it is made when it is opened
    table = tab.locator("figure table tbody tr")
    assert table.count() == 3  # one a workload
    assert f"{cycles(64):,}" in table.first.inner_text()
    assert f"{traffic('3MiB') / 2**20:.4g} MiB" in table.first.inner_text()
    tab.select_option("#choose-x", "operations_per_second")
    assert "higher operations a second" in tab.inner_text("figcaption")
    assert tab.locator("figure table").count() == 0


def machines_on_workloads(folder: Path) -> Path:
    """The page of a suite: three machines on four workloads with long names."""
    store = Store(folder / "suite", make=True)
    for machine, factor in {"gamma": 1, "outerspace": 9, "sigma": 3}.items():
        for seed in range(4):
            workload = f"uniform:rows=300,cols=300,nonzeros=2000,seed={seed}"
            told = {"status": "done", "accelerator": machine, "workload": workload, "command": "sim"}
            told["machine"] = machine
            numbers = {"cycles": 1000 * factor + seed, "traffic_bytes": 5000 * factor, "seconds": 1e-6}
            digest = f"{machine}{seed}"
            store.add(digest, encode_row({"digest": digest, **told, **numbers, "version": "0.2.0"}, {}))
    store.gather()
    file = folder / "suite.html"
    file.write_text(page(study_data(store), "Suite"), encoding="utf-8")
    return file


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.slow), 400])
def test_colours_of_a_suite_are_its_machines_and_labels_do_not_overlap(
    opened: Open, tmp_path: Path, width: int
) -> None:
    tab = opened(machines_on_workloads(tmp_path))
    tab.set_viewport_size({"width": width, "height": 900})
    assert tab.eval_on_selector("#choose-by", "select => select.value") == "workload"
    assert tab.eval_on_selector("#choose-group", "select => select.value") == "accelerator"
    legend = tab.locator("figure .legend").first.inner_text().split()
    assert legend == ["gamma", "outerspace", "sigma"]
    ends = """svg => [...svg.querySelectorAll('[aria-label="x-axis tick label"] text')].map(text => {
        const box = text.getBBox(), at = text.getCTM();
        return [at.e + at.a * (box.x + box.width), at.f + at.b * (box.x + box.width), text.textContent, at.b]
    })"""
    labels = tab.eval_on_selector("figure svg[aria-label]", ends)
    texts = [text for _x, _y, text, _turn in labels]
    assert texts == [f"uniform seed={seed}" for seed in range(4)]
    across = [x for x, _y, _text, _turn in labels]
    turned = any(turn for *_rest, turn in labels)
    apart = [after - before for before, after in pairwise(across)]
    assert min(apart) > (20 if turned else 7 * len(texts[0]))
    tab.get_by_role("tab", name="Trade-off").click()
    assert "4 of 12 runs are on a front" in tab.inner_text("figcaption")


def test_a_parameter_across_is_not_the_colour(opened: Open, file: Path) -> None:
    tab = opened(file, "#by=workload")
    assert tab.eval_on_selector("#choose-group", "select => select.value") == "fibercache_size"
    tab = opened(file)
    across, colour = (
        tab.eval_on_selector(f"#choose-{key}", "select => select.value") for key in ("by", "group")
    )
    assert (across, colour) == ("fibercache_size", "workload")


def test_medians_by_parameter_are_those_of_the_runs(opened: Open, file: Path) -> None:
    tab = opened(file, "#by=pe_count&upper=cycles&group=none")
    tab.get_by_text("The same as a table").first.click()
    told = tab.eval_on_selector_all(
        "figure:first-child tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.innerText))"
    )
    runs = {pes: 3 * len(SIZES) - 3 * (pes == 64) for pes in PES}
    assert told == [[str(pes), "all runs", str(runs[pes]), *3 * [f"{cycles(pes):,}"]] for pes in sorted(PES)]


def test_bars_are_the_shares_of_the_runs_in_the_order_of_the_table(opened: Open, file: Path) -> None:
    tab = opened(file, "#show=cycles&sort=-pe_count&filter=wiki-Vote")
    assert tab.eval_on_selector("#choose-part", "select => select.value") == "pe.merger"
    tab.get_by_text("The same as a table").click()
    tab.wait_for_selector("figure tbody tr")  # it is made when it is opened
    told = tab.eval_on_selector_all(
        "figure tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.innerText))"
    )
    assert [row[1:] for row in told] == 11 * [["50%", "25%", "12.5%", "12.5%"]]
    assert [row[0].split(":")[0] for row in told] == [row[0] for row in rows(tab) if "done" in row]


def test_roofs_are_those_of_memory_and_workers(opened: Open, file: Path) -> None:
    tab = opened(file, "#show=roofline&filter=wiki-Vote pe.count = 8 fibercache.size = 3MiB")
    tab.get_by_text("The same as a table").click()
    tab.wait_for_selector("figure tbody tr")  # it is made when it is opened
    [told] = tab.eval_on_selector_all(
        "figure tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.innerText))"
    )
    rate, intensity = 1e6 / (cycles(8) / 1e9), 1e6 / traffic("3MiB")
    assert told[1:] == [f"{intensity:.4g}", f"{rate / 1e9:g} G ops/s", f"{2 * rate / 1e9:g} G ops/s", "50%"]
    assert intensity * 128e9 > 2 * rate  # so that the workers are the roof there


def test_two_runs_stand_side_by_side(opened: Open, file: Path) -> None:
    tab = opened(file, "#filter=wiki-Vote fibercache.size=3MiB&sort=pe_count")
    tab.get_by_role("button", name="Look at run").first.click()
    tab.get_by_role("button", name="as the second run").nth(2).click()
    tab.get_by_role("tab", name="Two runs").click()
    text = tab.inner_text("#chart").replace("\t", " ")
    assert "pe.count 8 16" in text
    assert f"cycles {cycles(8):,} {cycles(16):,} x 0.5" in text
    assert tab.locator("#chart svg[aria-label^='Where the cycles went']").count() == 2


def test_a_link_keeps_the_view(opened: Open, file: Path) -> None:
    tab = opened(file)
    tab.get_by_role("tab", name="Trade-off").click()
    tab.get_by_label("Filter", exact=True).fill("wiki-Vote")
    tab.select_option("#choose-y", "operations_per_second")
    tab.locator("#sort-cycles").click()
    tab.locator(".runs tbody tr").nth(2).click()
    other = opened(file, tab.evaluate("location.hash"))
    for part in ("main", "aside", "#chart", ".runs"):
        assert other.inner_text(part) == tab.inner_text(part)
    assert other.input_value("#filter") == "wiki-Vote"
    assert other.locator("#chart .point.selected").count() == 1


def test_a_link_with_nonsense_shows_the_page_all_the_same(opened: Open, file: Path) -> None:
    tab = opened(
        file, "#show=x&by=x&x=x&y=&group=%00&sort=-&page=-7&run=nobody&other=1&columns=a,,&part=b&filter=%22"
    )
    assert tab.get_by_role("tab").count() == len(CHARTS)
    assert len(rows(tab)) == 36


@pytest.mark.parametrize(
    "row",
    [
        {"status": "refused", "reason": "no"},
        {"status": "done"},
        {
            "status": "done",
            "accelerator": "mine",
            "workload": "w",
            "cycles": 0,
            "seconds": 0.0,
            "traffic_bytes": 0,
        },
        {"status": "done", "accelerator": "mine", "workload": "", "cycles": 5, "kinds": "{}", "config": "{}"},
    ],
    ids=["refused", "nothing known", "nothing done", "little known"],
)
def test_a_study_of_one_odd_run_has_every_view(opened: Open, tmp_path: Path, row: dict[str, Any]) -> None:
    made = Store(tmp_path / "study", make=True)
    made.add("d", encode_row({"digest": "d", **row}, {"quick": True}))
    (tmp_path / "odd.html").write_text(page(study_data(made), "odd"), encoding="utf-8")
    tab = opened(tmp_path / "odd.html")
    for chart in CHARTS:
        tab.get_by_role("tab", name=chart).click()
    tab.locator(".runs tbody tr").click()
    assert tab.inner_text("aside h2") == "Run 1"
    assert len(rows(tab)) == 1


def test_all_of_it_by_keyboard(opened: Open, file: Path) -> None:
    tab = opened(file)
    press = tab.keyboard.press
    press("Tab")
    press("Enter")  # skip to the filter
    tab.keyboard.type("wiki-Vote")
    assert tab.inner_text(SHOWN) == "12 of 36 runs are shown."
    reach(tab, "tab-parameter")
    press("ArrowRight")
    assert tab.evaluate("document.activeElement.id") == "tab-front"
    reach(tab, "trade-")
    first = tab.evaluate("document.activeElement.id")
    press("End")
    last = tab.evaluate("document.activeElement.id")
    assert last != first
    assert "cycles" in tab.inner_text("output.readout")
    press("Enter")
    assert tab.locator(f"[id='{last}']").get_attribute("aria-selected") == "true"
    assert tab.evaluate("document.activeElement.id") == last
    press("Home")
    press("Shift+Enter")
    assert tab.evaluate("new URLSearchParams(location.hash.slice(1)).get('other')") == first.removeprefix(
        "trade-"
    )
    reach(tab, "sort-cycles")
    press("Enter")
    assert tab.locator("th[aria-sort=ascending]").count() == 1
    assert tab.evaluate("document.activeElement.id") == "sort-cycles"


def reach(tab: Any, name: str) -> None:
    """Press Tab until something with such an id has the focus."""
    for _ in range(60):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.id").startswith(name):
            return
    pytest.fail(f"no way to {name} by the keyboard")


def inaccessible(tab: Any, show: str) -> dict[str, list[str]]:
    """What axe finds wrong with a view of two runs, by rule; axe is vendored beside the tests."""
    ids = tab.evaluate("Data.runs.filter(Data.done).slice(0, 2).map(run => run.id)")
    tab.evaluate(f"location.hash = 'show={show}&run={ids[0]}&other={ids[1]}&filter=pe.count=8 wiki-Vote'")
    tab.wait_for_selector(f"#tab-{show}[aria-selected=true]")
    if not tab.evaluate("'axe' in window"):
        tab.add_script_tag(path=Path(__file__).parent / "vendor" / "axe.min.js")
    found = tab.evaluate("tags => axe.run({ runOnly: tags })", RULES)
    return {
        each["id"]: [node["html"] + node["failureSummary"] for node in each["nodes"]]
        for each in found["violations"]
    }


def test_the_first_view_is_accessible(opened: Open, file: Path) -> None:
    assert inaccessible(opened(file), "parameter") == {}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible(opened: Open, file: Path, scheme: str) -> None:
    tab = opened(file, color_scheme=scheme)
    views = ("parameter", "front", "cycles", "roofline", "sides")
    assert {view: found for view in views if (found := inaccessible(tab, view))} == {}


@pytest.mark.slow
def test_planted_what_is_not_accessible_is_found(opened: Open, file: Path) -> None:
    tab = opened(file)
    tab.evaluate("document.body.append(element('button'))")
    assert "button-name" in inaccessible(tab, "parameter")


@pytest.mark.parametrize("width", [pytest.param(1400, marks=pytest.mark.slow), 390])
def test_nothing_is_wider_than_the_window(opened: Open, file: Path, width: int) -> None:
    tab = opened(file)
    tab.set_viewport_size({"width": width, "height": 900})
    for chart in CHARTS:
        tab.get_by_role("tab", name=chart).click()
        tab.wait_for_timeout(30)
        assert tab.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), chart


def test_the_table_is_as_wide_as_its_box_and_its_rows_are_a_line_high(opened: Open, file: Path) -> None:
    tab = opened(file)
    tab.set_viewport_size({"width": 1280, "height": 900})
    wide = "one => one.getBoundingClientRect().width"
    assert tab.eval_on_selector(".runs", wide) <= tab.eval_on_selector(".wide:has(.runs)", wide) + 0.5
    whole = tab.eval_on_selector(".columns", wide)
    assert tab.eval_on_selector(".table", wide) == whole  # nothing is beside it: no run is chosen
    tab.locator(".runs tbody tr").first.click()
    assert tab.eval_on_selector(".table", wide) < whole
    high = "rows => rows.map(row => row.getBoundingClientRect().height)"
    for width in (1280, 400):
        tab.set_viewport_size({"width": width, "height": 900})
        heights = set(tab.eval_on_selector_all(".runs tbody tr", high))
        assert len(heights) == 1
        assert heights.pop() < 2 * 20  # two lines of text
    sentence = tab.locator(".runs td.sentence").first
    assert sentence.get_attribute("title") == sentence.inner_text()  # whole, however much of it is shown


def test_dark_mode_is_dark(opened: Open, file: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    assert opened(file).evaluate(ground) == "rgb(255, 255, 255)"
    assert opened(file, color_scheme="dark").evaluate(ground) == "rgb(15, 19, 24)"


def test_sizes_are_as_the_store_has_them(opened: Open, file: Path) -> None:
    tab = opened(file)
    assert set(tab.evaluate("Data.runs.map(run => run.fibercache_size)")) == set(BYTES.values())
