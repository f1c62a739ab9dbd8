"""History of published events in a bounded size, for pages that connect later."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

MAX_POINTS = 120  # largest number of points of the states over time
MAX_ROWS = 500  # largest number of rows of a sweep
MACHINE, STATE, POINTS, ROWS = "machine", "state", "points", "rows"  # kinds of events

EventData: TypeAlias = Mapping[str, Any]


class History:
    """The last event of each kind, the states over time, and the latest rows of a sweep.

    When there are more than ``MAX_POINTS`` points of states, every second point is dropped.
    """

    def __init__(self) -> None:
        self._last: dict[str, EventData] = {}
        self._points: list[tuple[int, list[int]]] = []  # cycle, and accumulated cycles in each state
        self._rows: deque[Any] = deque(maxlen=MAX_ROWS)

    def add(self, event: str, data: EventData) -> None:
        """Record an event; a new machine clears the events of the previous machine, but not the rows.

        Args:
            event: the kind of event.
            data: the content, which can be written as JSON.
        """
        if event == ROWS:
            self._rows.extend(data["rows"])
            return
        if event == MACHINE:
            self._last, self._points = {}, []
        if event == STATE:
            self._add_point(data)
        self._last[event] = data

    def _add_point(self, data: EventData) -> None:
        point = data["cycle"], data["states"]
        # Later points are dropped if the debugger has gone back, and that of the same cycle during a pause.
        while self._points and self._points[-1][0] >= point[0]:
            self._points.pop()
        self._points.append(point)
        if len(self._points) > MAX_POINTS:
            del self._points[-2::-2]  # keeps the last point

    def events(self) -> Iterator[tuple[str, EventData]]:
        """Yield the events that bring a new page up to date."""
        for event, data in self._last.items():
            yield event, data
            if event == MACHINE:
                yield POINTS, {"points": self._points}
        if self._rows:
            yield ROWS, {"rows": list(self._rows)}
