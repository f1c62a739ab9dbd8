"""Progress: the share, the cycle, the rate and the time left; a line a minute where nobody watches."""

import io

import pytest
from rich.console import Console

import fiberscope
from fiberscope.base.progress import CYCLES, SIMULATING, Stage, StageWatcher
from fiberscope.commands import progress
from fiberscope.commands.progress import progress_display

SMALL = "uniform:rows=30,cols=30,nonzeros=90,seed=5"


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_is_from_what_is_done() -> None:
    stage = Stage("simulating", started_at=0.0)
    stage.reach(25, 100)
    stage.reach_cycle(50_000, 0)
    assert stage.text(20.0) == "about 0:01:00 left, cycle 50,000, 2,500 cycles/s"


def test_a_limit_of_cycles_ends_a_run_sooner() -> None:
    stage = Stage("simulating", started_at=0.0)
    stage.reach(1, 100)
    stage.reach_cycle(500, 1000)
    assert stage.share == 0.5
    assert stage.text(30.0).startswith("about 0:00:30 left")
    stage.reach(80, 100)
    stage.reach_cycle(501, 1000)
    assert stage.share == 0.8


def test_an_estimate_counts_from_where_a_command_of_the_debugger_begins() -> None:
    stage = Stage("simulating", started_at=0.0)
    stage.reach(50, 100)
    stage.reach_cycle(10_000, 0)
    stage.restart(1000.0)
    assert stage.text(1000.0) == "cycle 10,000, 0 cycles/s"
    stage.reach(60, 100)
    stage.reach_cycle(12_000, 0)
    assert stage.text(1010.0) == "about 0:00:40 left, cycle 12,000, 200 cycles/s"


def test_what_is_not_known_is_not_said() -> None:
    stage = Stage("verifying", started_at=0.0)
    stage.reach(0, 0)
    assert (stage.share, stage.text(9.0)) == (None, "")


def test_without_a_terminal_there_is_a_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with progress_display(quiet=False, clock=clock) as tell:
        assert tell is not None
        for second in range(0, 150, 10):
            clock.now = 1000.0 + second
            tell("simulating", second, 1000)
            tell("cycles", 1000 * second, 0)
    assert capsys.readouterr().err.splitlines() == [
        "fiberscope: simulating 6%, about 0:15:40 left, cycle 60,000, 1,000 cycles/s",
        "fiberscope: simulating 12%, about 0:14:40 left, cycle 120,000, 1,000 cycles/s",
    ]


def test_a_person_sees_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    clock, screen = Clock(), io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    with progress._show_progress_bars(console, clock) as show:
        stage = Stage("simulating", started_at=clock.now)
        stage.reach(1, 2)
        stage.reach_cycle(70_000_000, 0)
        clock.now += 70
        show(stage)
    assert "50%" in screen.getvalue()
    assert "about 0:01:10 left, cycle 70,000,000, 1,000,000 cycles/s" in screen.getvalue()


@pytest.mark.parametrize("has_cycles", [False, True])
def test_a_run_with_or_without_cycles_is_shown(has_cycles: bool) -> None:
    """A sampled run reports its windows alone; the reports of a simulation come in pairs, shown once."""
    shown: list[tuple[float | None, int | None]] = []
    watch = StageWatcher(lambda stage: shown.append((stage.share, stage.cycle)), lambda: 0.0)
    for done in (1, 2, 4):
        watch(SIMULATING, done, 4)
        if has_cycles:
            watch(CYCLES, 10 * done, 0)
    cycles = [(0.25, 10), (0.5, 20), (1.0, 40)]
    assert shown == ([(0.25, None), *cycles] if has_cycles else [(0.25, None), (0.5, None), (1.0, None)])


def test_quiet_is_quiet() -> None:
    with progress_display(quiet=True) as tell:
        assert tell is None


def test_a_run_tells_its_cycles_and_its_limit(toy: str) -> None:
    told: list[tuple[str, int, int]] = []
    fiberscope.simulate(toy, SMALL, cycle_limit=10, progress=lambda *news: told.append(news))
    cycles = [(done, limit) for name, done, limit in told if name == "cycles"]
    assert cycles[-1][1] == 10
    assert [name for name, _, _ in told[-2:]] == ["simulating", "cycles"]
