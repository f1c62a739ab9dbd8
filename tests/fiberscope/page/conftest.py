"""One headless browser for all tests of pages; they skip where there is none."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optional_programs
import pytest
from optional_programs import require


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    require("browser")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(
            executable_path=optional_programs.browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield launched
        launched.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a file in a tab; what a script complains of or asks of a network is a failure."""
    tabs, faults = [], []

    def open_(file: Path, fragment: str = "", **options: Any) -> Any:
        tab = browser.new_page(viewport={"width": 1400, "height": 1000}, **options)
        tabs.append(tab)
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("console", lambda message: message.type == "error" and faults.append(message.text))
        tab.on("request", lambda request: request.url.startswith("http") and faults.append(request.url))
        tab.goto(f"{file.as_uri()}{fragment}")
        return tab

    yield open_
    for tab in tabs:
        tab.close()
    assert faults == []
