"""Events that a live view has published, in a bounded size, for pages that are opened later."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

__all__ = ["MOST_POINTS", "MOST_ROWS", "History"]

MOST_POINTS = 120  # of the states over time; where there are more, every second one goes
Data: TypeAlias = Mapping[str, Any]
MOST_ROWS = 500  # of a sweep, the last ones
MACHINE, STATE, POINTS, ROWS = "machine", "state", "points", "rows"


class History:
    """The last event of each kind; of states the counts over time, of rows the last ones."""

    def __init__(self) -> None:
        self._last: dict[str, Data] = {}
        self._points: list[tuple[int, list[int]]] = []  # cycle, and the cycles so far in each state
        self._rows: deque[Any] = deque(maxlen=MOST_ROWS)

    def add(self, event: str, data: Data) -> None:
        """Keep an event; one that begins a machine forgets those of the machine before."""
        if event == ROWS:
            self._rows.extend(data["rows"])
            return
        if event == MACHINE:
            self._last, self._points = {}, []
        if event == STATE:
            self._keep_point(data)
        self._last[event] = data

    def _keep_point(self, data: Data) -> None:
        point = data["cycle"], data["states"]
        while self._points and self._points[-1][0] >= point[0]:  # the debugger goes back
            self._points.pop()
        self._points.append(point)
        if len(self._points) > MOST_POINTS:
            del self._points[-2::-2]

    def events(self) -> Iterator[tuple[str, Data]]:
        """The events with which a page has seen all."""
        for event, data in self._last.items():
            yield event, data
            if event == MACHINE:
                yield POINTS, {"points": self._points}
        if self._rows:
            yield ROWS, {"rows": list(self._rows)}
