"""Progress callbacks of a run, and hints for installing missing extras."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Progress", "ignore_progress", "install_commands"]

# Callback with the stage, the work done and the work in total (0 if unknown), called now and then. During a
# simulation it is called with the stages "simulating" (work) and "cycles" (current cycle and cycle limit).
Progress: TypeAlias = Callable[[str, int, int], None]


def ignore_progress(_stage: str, _done: int, _total: int) -> None:
    """Ignore the progress of a run."""


def install_commands(extra: str) -> str:
    """Return the commands that install an extra, with pip and in a clone of the repository."""
    return f"pip install 'fiberscope[{extra}]', in a clone make .venv/{extra}"
