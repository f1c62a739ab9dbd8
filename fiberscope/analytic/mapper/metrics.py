"""What mappings can be judged by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fiberscope.analytic.density import Numbers
from fiberscope.analytic.evaluate import Evaluated

__all__ = ["METRICS"]


def _edp(found: Evaluated) -> Numbers:
    """Joules times cycles."""
    return found.edp


def _delay(found: Evaluated) -> Numbers:
    """Cycles."""
    return found.cycles


def _energy(found: Evaluated) -> Numbers:
    """Picojoules."""
    return found.energy_pj


METRICS: Final[dict[str, Callable[[Evaluated], Numbers]]] = {"edp": _edp, "delay": _delay, "energy": _energy}
