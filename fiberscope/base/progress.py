"""Progress callbacks of a run, the estimate of the remaining time, and hints for installing extras."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

# Names of the two reports of a simulation, see ``Progress``.
SIMULATING = "simulating"
CYCLES = "cycles"

# Callback with the stage, the completed work and the total work (0 if unknown). During a simulation, the
# stages are "simulating" (work) and "cycles" (current cycle and cycle limit).
Progress: TypeAlias = Callable[[str, int, int], None]


def ignore_progress(_stage: str, _done: int, _total: int) -> None:
    """Ignore the progress of a run."""


@dataclass
class Stage:
    """Progress of one stage of a run, with an estimate of the remaining time.

    Args:
        name: the name of the stage.
        started_at: the start of the stage, or of the last ``restart``, in seconds of any clock.
        share: the completed share of the work, or of the cycle limit if the limit is nearer; None if unknown.
        cycle: the current cycle; None if the stage has no cycles.
        first_share, first_cycle: share and cycle at ``started_at``.
    """

    name: str
    started_at: float
    share: float | None = None
    cycle: int | None = None
    first_share: float = 0.0
    first_cycle: int = 0

    def restart(self, now: float) -> None:
        """Base the estimate on the progress from now on."""
        self.started_at, self.first_share, self.first_cycle = now, self.share or 0.0, self.cycle or 0

    def reach(self, done: int, total: int) -> None:
        """Set the completed work; a total of 0 means unknown."""
        self.share = min(1.0, done / total) if total else None

    def reach_cycle(self, cycle: int, limit: int) -> None:
        """Set the current cycle, after ``reach``. A limit of 0 means no limit."""
        self.cycle = cycle
        if limit:
            self.share = max(self.share or 0.0, min(1.0, cycle / limit))

    def text(self, now: float) -> str:
        """Return the remaining time, the cycle and the rate, if known."""
        seconds = max(now - self.started_at, 1e-9)
        parts = []
        if self.share and self.share > self.first_share:
            remaining = round(seconds * (1 - self.share) / (self.share - self.first_share))
            parts.append(f"about {timedelta(seconds=remaining)} left")
        if self.cycle is not None:
            parts += [f"cycle {self.cycle:,}", f"{(self.cycle - self.first_cycle) / seconds:,.0f} cycles/s"]
        return ", ".join(parts)


class StageWatcher:
    """A progress callback that keeps a ``Stage`` for each stage and shows the stage that has advanced.

    Once a stage has cycles, a call for ``SIMULATING`` shows nothing: the next call for ``CYCLES`` shows both
    reports. A sampled run has no calls for ``CYCLES``.

    Args:
        show: called with the stage that has advanced.
        clock: returns seconds.
    """

    def __init__(self, show: Callable[[Stage], None], clock: Callable[[], float]) -> None:
        self._show, self._clock = show, clock
        self._stages: dict[str, Stage] = {}

    def __call__(self, stage_name: str, done: int, total: int) -> None:
        """Update a stage; see ``Progress`` for the arguments."""
        name = SIMULATING if stage_name == CYCLES else stage_name
        stage = self._stages.setdefault(name, Stage(name, self._clock()))
        if stage_name == CYCLES:
            stage.reach_cycle(done, total)
        else:
            stage.reach(done, total)
        if stage_name != SIMULATING or stage.cycle is None:
            self._show(stage)


def install_commands(extra: str) -> str:
    """Return the commands that install an extra, with pip and in a clone of the repository."""
    return f"pip install 'fiberscope[{extra}]', in a clone make .venv/{extra}"
