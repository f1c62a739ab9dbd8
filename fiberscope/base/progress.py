"""Progress callbacks of a run, and hints for installing missing extras."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Progress", "installing", "nobody"]

# Stage, work done, work in all (0 where unknown); called now and then. While "simulating" is how much of the
# work is done, "cycles" is the cycle that it has come to, and the limit.
Progress: TypeAlias = Callable[[str, int, int], None]


def nobody(_stage: str, _done: int, _total: int) -> None:
    """Tell nobody."""


def installing(extra: str) -> str:
    """Return the command that installs an extra: of a package, or in a clone with its own environment."""
    return f"pip install 'fiberscope[{extra}]', in a clone make .venv/{extra}"
