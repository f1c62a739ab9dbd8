"""Progress callbacks of a run, the estimate of its end, and hints for installing missing extras."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

__all__ = ["CYCLES", "SIMULATING", "Progress", "Stage", "StageWatcher", "ignore_progress", "install_commands"]

SIMULATING = "simulating"
CYCLES = "cycles"

# Callback with the stage, the work done and the work in total (0 if unknown), called now and then. During a
# simulation it is called with the stages "simulating" (work) and "cycles" (current cycle and cycle limit).
Progress: TypeAlias = Callable[[str, int, int], None]


def ignore_progress(_stage: str, _done: int, _total: int) -> None:
    """Ignore the progress of a run."""


@dataclass
class Stage:
    """Progress of one stage of a run, with an estimate of its end.

    ``share`` is of its work or, where a limit of cycles ends it sooner, of these; None where nobody knows.
    """

    name: str
    began: float  # seconds, of any clock
    share: float | None = None
    cycle: int | None = None
    first_share: float = 0.0
    first_cycle: int = 0

    def restart(self, now: float) -> None:
        """Estimate the end from what follows alone."""
        self.began, self.first_share, self.first_cycle = now, self.share or 0.0, self.cycle or 0

    def reach(self, done: int, total: int) -> None:
        """So much of its work is done."""
        self.share = min(1.0, done / total) if total else None

    def reach_cycle(self, cycle: int, limit: int) -> None:
        """It has come to this cycle, behind ``reach``; a limit of 0 is none."""
        self.cycle = cycle
        if limit:
            self.share = max(self.share or 0.0, min(1.0, cycle / limit))

    def text(self, now: float) -> str:
        """The time that is left, cycle and rate, as far as they are known."""
        seconds = max(now - self.began, 1e-9)
        parts = []
        if self.share and self.share > self.first_share:
            left = round(seconds * (1 - self.share) / (self.share - self.first_share))
            parts.append(f"about {timedelta(seconds=left)} left")
        if self.cycle is not None:
            parts += [f"cycle {self.cycle:,}", f"{(self.cycle - self.first_cycle) / seconds:,.0f} cycles/s"]
        return ", ".join(parts)


class StageWatcher:
    """A progress callback that keeps a ``Stage`` for each stage and shows it at every call.

    Args:
        show: called with the stage that has advanced.
        clock: returns seconds.
    """

    def __init__(self, show: Callable[[Stage], None], clock: Callable[[], float]) -> None:
        self._show, self._clock = show, clock
        self._stages: dict[str, Stage] = {}

    def __call__(self, news: str, done: int, total: int) -> None:
        """Take the progress of a run, as ``Progress`` says."""
        name = SIMULATING if news == CYCLES else news
        stage = self._stages.setdefault(name, Stage(name, self._clock()))
        if news == CYCLES:
            stage.reach_cycle(done, total)
        else:
            stage.reach(done, total)
        if news != SIMULATING:  # the cycle comes at once behind it
            self._show(stage)


def install_commands(extra: str) -> str:
    """Return the commands that install an extra, with pip and in a clone of the repository."""
    return f"pip install 'fiberscope[{extra}]', in a clone make .venv/{extra}"
