"""The site in a browser, on a screen and on a telephone: nothing is wider than its column."""

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest
from optional_programs import browser, needs

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, needs("browser")]

# Names what sticks out of the window, or of the page's column where nothing scrolls; or a bar of two rows.
MEASURE = """<script>addEventListener("load", () => setTimeout(() => {
  const faults = [], scrolls = element => element && element !== document.body &&
    (getComputedStyle(element).overflowX !== "visible" || scrolls(element.parentElement));
  const name = item => `${item.tagName}.${item.className} ${item.textContent.trim().slice(0, 30)}`;
  if (document.scrollingElement.scrollWidth > innerWidth) faults.push("the page is wider than the window");
  const column = document.querySelector(".md-content, .column").getBoundingClientRect();
  for (const element of document.querySelectorAll("article *, .column *")) {
    const box = element.getBoundingClientRect(), wide = box.width && box.right > column.right + 1;
    if (wide && !scrolls(element)) faults.push(name(element));
  }
  const bar = document.querySelector("header");
  if (bar && bar.getBoundingClientRect().height > 60) faults.push("the bar has two rows");
  parent.postMessage({faults: faults.join("; ")}, "*");
}, 300))</script>"""

# A frame of the width asked for, as no window is narrower than 500 pixels.
FRAME = """<body><iframe src="{}" style="width: {}px; height: 900px; border: 0"></iframe><script>
addEventListener("message", event => {{
  if ("faults" in event.data) document.body.setAttribute("data-faults", event.data.faults);
}})</script>"""


def faults(page: Path, width: int) -> str:
    """What is wrong with a page in a window so wide, in words; empty if nothing is."""
    measured = page.with_name(f"measured-{page.name}")
    measured.write_text(page.read_text(encoding="utf-8") + MEASURE, encoding="utf-8")
    frame = page.with_name(f"measured-frame-{page.name}")
    frame.write_text(FRAME.format(measured.name, width), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom"]
    command = [str(browser()), *options, "--window-size=1600,900", frame.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    found = re.search(r'data-faults="([^"]*)"', shown)
    assert found is not None, f"{page.name} was not measured"
    return html.unescape(found[1])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("width", [1300, 400])
def test_nothing_sticks_out_of_its_column(site: Path, width: int) -> None:
    pages = [page for page in sorted(site.glob("*.html")) if not page.name.startswith(("404", "measured"))]
    assert len(pages) > 20
    assert {page.name: found for page in pages if (found := faults(page, width))} == {}


def test_no_table_scrolls_on_a_screen(site: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="the extra dev is not installed")
    wide = "boxes => boxes.filter(b => b.scrollWidth > b.clientWidth + 1).map(b => b.innerText.slice(0, 60))"
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=browser(), args=["--no-sandbox", "--disable-gpu"])
        page = opened.new_page(viewport={"width": 1280, "height": 900})
        tables = {}
        for file in sorted(site.glob("[a-z]*.html")):
            page.goto(file.as_uri())
            tables[file.name] = page.eval_on_selector_all(".md-typeset__scrollwrap", wide)
        opened.close()
    assert len(tables) > 20
    assert {name: found for name, found in tables.items() if found} == {}


def test_the_search_works_where_pages_are_opened_from_files(site: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="the extra dev is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=browser(), args=["--no-sandbox", "--disable-gpu"])
        page = opened.new_page()
        page.goto((site / "index.html").as_uri())
        page.keyboard.press("/")
        page.keyboard.type("FiberCache")
        page.wait_for_selector(".md-search-result__item", timeout=20_000)
        assert "Gamma" in page.locator(".md-search-result__list").inner_text()
        opened.close()


def test_planted_a_wide_table_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    column = '<div class="column" style="width: 300px">{}</div>'
    page.write_text(column.format('<table width="900"><tr><td>wide</td></tr></table>'))
    assert "TABLE" in faults(page, 400)
    assert "the page is wider than the window" in faults(page, 400)
    page.write_text(column.format("<p>narrow</p>"))
    assert faults(page, 400) == ""
    page.write_text(column.format('<p style="width: 450px">wider than a telephone</p>'))
    assert "the page is wider than the window" in faults(page, 400)
