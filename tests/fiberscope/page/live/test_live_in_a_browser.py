"""The live view as people use it: progress, pause and step, a recording, the end of a run, a deadlock."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from live_requests import order
from vcd_reader import read_vcd

import fiberscope
from fiberscope.page.live.run import LiveRun
from fiberscope.page.live.session import open_live_debugger
from fiberscope.page.live.view import LiveView
from fiberscope.results.errors import FailedRunError
from fiberscope.run.debug.session import Session

pytest.importorskip("starlette", reason="the extra live is not installed")
pytest.importorskip("uvicorn", reason="the extra live is not installed")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork a process")
SMALL = "uniform:rows=30,cols=30,nonzeros=90,seed=5"
TINY = {"pe.count": 2, "pe.radix": 4}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
PATIENCE = 60_000  # milliseconds
Shown = Callable[..., AbstractContextManager[Any]]


def run(live: LiveRun, machine: str, settings: dict[str, Any]) -> None:
    """Run a machine under a view, as the command does."""
    try:
        live.show_result(fiberscope.simulate(machine, SMALL, settings=settings, drive=live.drive))
    except FailedRunError:
        pass
    finally:
        live.close(quiet=True)


@pytest.fixture
def shown(browser: Any, here: Path) -> Shown:
    """Opens the page of a run that is paused in front of its first cycle; at the end the server is gone."""

    @contextmanager
    def open_(machine: str, settings: dict[str, Any], **options: Any) -> Iterator[Any]:
        faults: list[str] = []
        with LiveView("0", f"{machine} on {SMALL}") as view:
            assert order(view, {"do": "pause"})[0] == 200
            thread = threading.Thread(target=run, args=(LiveRun(view), machine, settings))
            thread.start()
            tab = browser.new_page(viewport={"width": 1280, "height": 1000}, **options)
            tab.set_default_timeout(PATIENCE)
            tab.on("pageerror", lambda error: faults.append(str(error)))
            tab.on("console", lambda message: message.type == "error" and faults.append(message.text))
            tab.goto(view.address)
            wait(tab, "#status", "paused")
            yield tab
            if thread.is_alive() and tab.is_enabled("#hold"):
                tab.click("#hold")
            thread.join()
            wait(tab, "#status", "")
        assert tab.inner_text("#ended")  # what it showed stays
        assert tab.locator("#over-time svg").count() == 1
        tab.close()
        assert faults == []

    return open_


def wait(tab: Any, selector: str, text: str) -> None:
    """Wait until an element has a text in it."""
    from playwright.sync_api import expect

    expect(tab.locator(selector)).to_contain_text(text, timeout=PATIENCE)


def test_a_pause_holds_the_cycle_a_step_goes_on_and_progress_moves_to_the_end(shown: Shown) -> None:
    with shown("gamma", TINY) as tab:
        wait(tab, "#rate", "cycle 0,")
        tab.fill("#cycles", "50")
        tab.click("#step")
        wait(tab, "#rate", "cycle 50,")
        before = tab.inner_text("#rate"), tab.get_attribute("#progress", "value")
        tab.wait_for_timeout(600)
        assert (tab.inner_text("#rate"), tab.get_attribute("#progress", "value")) == before
        tab.fill("#cycles", "550")
        tab.click("#step")
        wait(tab, "#rate", "cycle 600,")
        assert tab.evaluate("document.querySelector('#progress').value") > 0
        tab.click("#hold")
        wait(tab, "#ended", "The run is done")
        wait(tab, "#ended", "Verified: equal to scipy")
        wait(tab, "#status", "done 100%")
        assert tab.is_disabled("#hold")
        assert tab.is_disabled("#waveform")


def test_a_component_that_waits_is_followed_to_its_cause_and_the_machine_is_coloured(shown: Shown) -> None:
    with shown("gamma", TINY) as tab:
        tab.fill("#cycles", "100")
        tab.click("#step")
        wait(tab, "#rate", "cycle 100,")
        name = tab.locator("#waits button").first.inner_text()
        tab.locator("#waits button").first.click()
        wait(tab, "#component-state", f"{name} (")
        wait(tab, "#chain", "since cycle")
        assert tab.input_value("#component") == f"gamma.{name}"
        with fiberscope.debug("gamma", SMALL, settings=TINY) as session:
            session.goto(100)
            root = session.why(name).data[-1]
        wait(tab, "#chain li:last-child", root.text)
        wait(tab, "#drawing", "prefetcher")
        bars = tab.locator(".machine g[data-box]")
        titles = bars.evaluate_all("all => all.map(one => one.querySelector('title').textContent)")
        assert len(titles) == tab.locator(".machine text:not(.count)").count()
        assert "scheduler: busy 0%, waiting for input 0%, waiting for output 0%, idle 100%" not in titles


def test_a_recorded_waveform_opens(shown: Shown, tmp_path: Path) -> None:
    with shown("gamma", TINY) as tab:
        tab.click("#waveform")
        wait(tab, "#recordings", "waveform gamma-waveform-0.vcd, from cycle 0: recording")
        assert tab.is_disabled("#timeline")
        tab.fill("#cycles", "80")
        tab.click("#step")
        wait(tab, "#rate", "cycle 80,")
        tab.click("#stop")
        wait(tab, "#recordings", "from cycle 0 to 80: written")
        assert read_vcd(tmp_path / "gamma-waveform-0.vcd").signals


def test_a_deadlock_names_its_components(shown: Shown, toy: str) -> None:
    with shown(toy, {"fault": "deadlock"}) as tab:
        tab.click("#hold")
        wait(tab, "#ended", "deadlock at cycle")
        wait(tab, "#ended", "waits for")
        assert "failed" in tab.get_attribute("#ended", "class")


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_the_page_is_accessible(shown: Shown, scheme: str) -> None:
    axe = Path(__file__).parents[1] / "vendor" / "axe.min.js"
    with shown("gamma", TINY, color_scheme=scheme) as tab:
        tab.fill("#cycles", "100")
        tab.click("#step")
        wait(tab, "#rate", "cycle 100,")
        tab.locator("#waits button").first.click()
        wait(tab, "#drawing", "prefetcher")
        for summary in tab.locator("summary").all():
            summary.click()
        tab.add_script_tag(path=axe)
        violations = tab.evaluate("tags => axe.run({ runOnly: tags })", RULES)["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in violations] == []


def test_the_page_of_a_debugger_follows_its_stops_and_pauses_it(browser: Any) -> None:
    faults: list[str] = []
    with (
        open_live_debugger("0", f"gamma on {SMALL}") as show,
        fiberscope.debug("gamma", SMALL, settings=TINY) as session,
        show(session) as live,
    ):
        tab = browser.new_page(viewport={"width": 1280, "height": 1000})
        tab.set_default_timeout(PATIENCE)
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.goto(live.address)
        wait(tab, "#rate", "cycle 0")
        wait(tab, "#drawing", "prefetcher")
        assert [button.inner_text() for button in tab.locator(".controls > button").all()] == ["Pause"]
        assert tab.is_disabled("#hold")
        session.until("cycle >= 200")
        wait(tab, "#status", "paused")
        wait(tab, "#rate", "cycle 200: cycle >= 200 holds")
        session.goto(100)
        wait(tab, "#rate", "cycle 100")
        tab.locator("#waits button").first.click()
        wait(tab, "#chain li:last-child", session.why(tab.input_value("#component")).data[-1].text)
        stops: list[str] = []
        thread = threading.Thread(target=run_until_interrupted, args=(session, stops))
        thread.start()
        while thread.is_alive():
            tab.evaluate("document.querySelector('#hold').click()")  # does nothing while it is disabled
            tab.wait_for_timeout(50)
        wait(tab, "#rate", stops[-1])
        wait(tab, "#status", "paused")
        session.run()
        wait(tab, "#status", "done 100%")
    wait(tab, "#ended", "The session has ended")
    tab.close()
    assert faults == []


def run_until_interrupted(session: Session, stops: list[str]) -> None:
    """Run to the end again and again, until a command is interrupted; ``stops`` gets what each says."""
    while not stops or not stops[-1].endswith("interrupted"):
        stops.append(str(session.goto(0) if session.cycle else session.run()))
