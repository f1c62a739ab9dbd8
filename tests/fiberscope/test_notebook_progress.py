"""Bars in notebooks: they appear after a second, follow a run or a sweep, and go at the end."""

import sys
import time
from collections.abc import Callable
from functools import partial
from types import ModuleType, SimpleNamespace

import pytest

import fiberscope
from fiberscope.base import notebook
from fiberscope.base.notebook import NotebookBar, in_notebook, open_progress_callback
from fiberscope.base.progress import ignore_progress
from fiberscope.models.analytic.mapper.search import Limits

SMALL = "uniform:rows=40,cols=40,nonzeros=200"


class Kernel:
    """A stand-in for the kernel of a notebook that keeps what is displayed."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, html: str, *, display_id: bool) -> "Kernel":
        assert display_id
        self.shown.append(html)
        return self

    def update(self, html: str) -> None:
        self.shown.append(html)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel, ipython, display = Kernel(), ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=kernel)  # type: ignore[attr-defined]
    display.display, display.HTML = kernel.display, str  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return kernel


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "DELAY", 0.0)
    monkeypatch.setattr(notebook, "REFRESH", 0.0)


def test_a_bar_appears_after_a_second_and_is_updated_now_and_then(kernel: Kernel) -> None:
    now = [10.0]
    bar = NotebookBar(lambda: now[0])
    for second, share in ((10.5, 0.1), (11.0, 0.2), (11.1, 0.3), (11.3, None)):
        now[0] = second
        bar.show("a<b", share, "cycle 9")
    assert kernel.shown == [
        'a&lt;b <progress value="0.200"></progress> 20% cycle 9',
        "a&lt;b <progress></progress> cycle 9",
    ]
    bar.close()
    assert kernel.shown[-1] == ""


def test_a_short_run_shows_nothing(kernel: Kernel) -> None:
    NotebookBar().close()
    assert kernel.shown == []


@pytest.mark.usefixtures("hasty")
def test_a_run_shows_its_progress_unless_it_is_told_not_to(kernel: Kernel) -> None:
    fiberscope.simulate("gamma", SMALL, progress=False)
    assert kernel.shown == []
    report = fiberscope.simulate("gamma", SMALL)
    assert any(f"cycle {report.cycles:,}" in html or "simulating" in html for html in kernel.shown)
    assert kernel.shown[-1] == ""


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    "run",
    [
        partial(fiberscope.model, "gamma", SMALL),
        partial(fiberscope.check, "gamma", SMALL),
        partial(fiberscope.convert, "csr", "csc", SMALL),
        partial(fiberscope.graph, "x(i) = B(i,j) * c(j)", {"B": SMALL, "c": "ones"}),
        partial(fiberscope.map, "matmul", limits=Limits(points=2000)),
    ],
    ids=["model", "check", "convert", "graph", "map"],
)
def test_other_runs_show_their_progress_too(kernel: Kernel, run: Callable[..., object]) -> None:
    run(progress=False)
    assert kernel.shown == []
    run()
    assert kernel.shown[-1] == ""


@pytest.mark.usefixtures("hasty")
def test_a_run_that_fails_leaves_no_bar(kernel: Kernel) -> None:
    def fail(progress: Callable[[str, int, int], None]) -> None:
        progress("loading", 1, 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), open_progress_callback(None) as tell:
        fail(tell)
    assert len(kernel.shown) == 2
    assert kernel.shown[-1] == ""


def test_elsewhere_there_is_no_bar() -> None:
    assert not in_notebook()
    for progress in (None, True, False):
        with open_progress_callback(progress) as tell:
            assert tell is ignore_progress


def test_a_callback_of_ones_own_is_called(kernel: Kernel) -> None:
    news: list[str] = []
    fiberscope.simulate("gamma", SMALL, progress=lambda stage, _done, _total: news.append(stage))
    assert "simulating" in news
    assert kernel.shown == []


@pytest.mark.usefixtures("hasty")
def test_a_sweep_shows_its_progress(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    from fiberscope.explore.sweeps import progress

    monkeypatch.setattr(progress, "REFRESH_SECONDS", 0.01)
    with progress.show_progress(progress.Progress([]), quiet=False):
        deadline = time.monotonic() + 60
        while not kernel.shown and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "0 of 0 runs" in kernel.shown[0]
    assert kernel.shown[-1] == ""
