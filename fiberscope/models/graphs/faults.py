"""Collection of the faults of a graph, which one message reports."""

from __future__ import annotations

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.dot import Location

MOST_SHOWN = 20


class Unreadable(ValueError):  # noqa: N818 - a property of the graph, not an error of its user
    """The graph has no expression; the message has the reason."""


class Faults:
    """Faults of a graph, each with its location in a file if there is one."""

    def __init__(self) -> None:
        self.lines: dict[str, None] = {}  # an ordered set

    def add(self, location: Location | None, fault: str) -> None:
        """Add a fault; an equal fault counts once."""
        self.lines[f"{location}: {fault}" if location else fault] = None

    def raise_any(self) -> None:
        """Refuse the graph if it has faults.

        Raises:
            InputError: the first ``MOST_SHOWN`` faults in one line, and the number of all faults.
        """
        if not self.lines:
            return
        shown = list(self.lines)[:MOST_SHOWN]
        omitted_count = len(self.lines) - len(shown)
        omitted = [f"and {omitted_count} more"] if omitted_count else []
        count = f"{len(self.lines)} faults: " if len(self.lines) > 1 else ""
        raise InputError(count + "; ".join([*shown, *omitted]))
