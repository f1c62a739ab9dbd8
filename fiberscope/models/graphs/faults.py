"""Faults of a graph, gathered so that all are told at once."""

from __future__ import annotations

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.dot import Place

__all__ = ["Faults", "Unreadable"]

MOST_TOLD = 20


class Unreadable(ValueError):  # noqa: N818 - what it says is about the graph, not an error of its user
    """No expression can be read off the graph; the message says why."""


class Faults:
    """Faults of a graph, each with its place in the file where it has one."""

    def __init__(self) -> None:
        self.lines: dict[str, None] = {}  # in the order in which they were added

    def add(self, place: Place | None, what: str) -> None:
        """One more; the same one counts once."""
        self.lines[f"{place}: {what}" if place else what] = None

    def raise_any(self) -> None:
        """Refuse the graph if anything is wrong with it.

        Raises:
            InputError: with all faults, in one line.
        """
        if not self.lines:
            return
        shown = list(self.lines)[:MOST_TOLD]
        rest = len(self.lines) - len(shown)
        more = [f"and {rest} more"] if rest else []
        count = f"{len(self.lines)} faults: " if len(self.lines) > 1 else ""
        raise InputError(count + "; ".join([*shown, *more]))
