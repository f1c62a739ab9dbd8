"""Reads packed arrays from memory and lets their items out, row by row."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from hw import lanes
from hw.fibers.streams import AddressGenerator, PackedArray
from hw.lanes import check_connected
from hw.memory import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK
from hw.rows import MAXIMUM_LANES
from hw.stream import DATA, STOP, STREAM
from hw.window import ReorderWindow
from sim.channel import Channel
from sim.component import Component, Input, Output, Signal
from sim.errors import SimulationError
from sim.protocol import Protocol

SPAN = Protocol("span of items", coordinate="first", reference="count")


class StreamReader(Component):
    """Streams the items of arrays in memory onto lanes, several arrays side by side.

    Interface: a token on ``jobs`` asks for a span of items, which leave on ``items`` as an array, row by row,
    see ``hw.rows``; item i with the i-th of ``coordinates``, ``references`` and ``values``, 0 of those that
    are not given. Without ``jobs``, all items are one span, from the first cycle on. Lines come by
    ``requests`` and ``replies``; without these, the arrays are on chip.

    Timing: a cycle sends one request, takes one reply and lets out one row, when all its items are whole; the
    last line of a row and the row go in the same cycle. Up to ``lines`` requests are in flight. A span's
    first request is sent when all rows of the span before have left.

    Accounting: busy while anything moves; else waiting for a reply, for space for a request or a row; idle
    without a job.

    Counts: ``items`` and ``rows`` that left, rows of stops among them, and ``lines`` asked for.

    Source: MINT (Section V, Figure 8): a memory controller with address generators and FIFOs. The data are in
    arrays beside the simulation; tokens of memory carry none.

    Args:
        name: instance name.
        arrays: where the arrays lie, packed.
        count: of the items.
        coordinates, references, values: the items, as words (``q``) and doubles; shared, not copied.
        lanes: items a cycle, 1 to 256.
        port: number of its port at the network to memory.
        line_bytes: of one request.
        lines: requests in flight at the most.

    Raises:
        ValueError: for a number out of its range, or fewer items than their count.
        SimulationError: when built, unless as many of ``items`` are connected as it has lanes; in the run,
            for a span that is not within the arrays.
    """

    PORTS = (
        Input("jobs", SPAN, optional=True),
        Output("items", STREAM, array=True),
        Output("requests", REQUEST, optional=True),
        Input("replies", REPLY, optional=True),
    )
    SIGNALS = (Signal("next", 48, "integer"), Signal("in_flight", 16))

    jobs: Channel | None
    items: list[Channel]
    requests: Channel | None
    replies: Channel | None

    def __init__(
        self,
        name: str,
        arrays: Sequence[PackedArray],
        count: int,
        *,
        coordinates: Any = None,  # noqa: ANN401 - anything with a buffer of words
        references: Any = None,  # noqa: ANN401 - as this
        values: Any = None,  # noqa: ANN401 - anything with a buffer of doubles
        lanes: int = 16,
        port: int = 0,
        line_bytes: int = 64,
        lines: int = 64,
    ) -> None:
        super().__init__(name)
        check_items(name, lanes, count, (coordinates, references, values))
        self.count = count
        self.has_coordinates = coordinates is not None
        self.has_references = references is not None
        self.has_values = values is not None
        self.coordinates = coordinates if self.has_coordinates else array("q")
        self.references = references if self.has_references else array("q")
        self.values = values if self.has_values else array("d")
        self.lanes = lanes
        self.tag_base = port << PORT_SHIFT
        self.asked = AddressGenerator(arrays, line_bytes)
        self.here = AddressGenerator(arrays, line_bytes)
        self.window = ReorderWindow(lines)
        self.working = False  # on a span
        self.next = self.end = 0  # item of the span that leaves next, and behind its last
        self.begun = False
        self.rows = self.sent_items = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count them."""
        super().elaborate()
        check_connected(self, "items", self.lanes)
        if (self.requests is None) != (self.replies is None):
            raise SimulationError(f"{self.name}: connect both requests and replies, or neither")

    def tick(self, now: int) -> int:
        """Take a reply, send a request, let out a row."""
        if not self.working and not self._begin():
            return self.idle()
        moved = self._receive()
        if self._ask():
            moved = True
        if self._ready():
            full = lanes.first_full(self.items)
            if full >= 0:
                return self.busy(now + 1) if moved else self.wait_output(self.items[full])
            self._send()
            moved = True
        return self.busy(now + 1) if moved else self._wait()

    def _begin(self) -> bool:
        """Take up a span, if there is one."""
        if self.jobs is None:
            if self.begun:
                return False
            self._span(0, self.count)
        elif self.jobs.can_pop():
            self._span(self.jobs.coordinate(), self.jobs.coordinate() + self.jobs.reference())
            self.jobs.pop()
        else:
            return False
        return True

    def _span(self, first: int, end: int) -> None:
        if not 0 <= first <= end <= self.count:
            raise SimulationError(f"{self.name}: there are no items {first} to {end - 1} of {self.count}")
        self.working = self.begun = True
        self.next, self.end = first, end
        self.asked.want(first, end)
        self.here.want(first, end)

    def _receive(self) -> bool:
        if self.replies is None or not self.replies.can_pop():
            return False
        for _ in range(self.window.receive(self.replies.coordinate() & TAG_MASK)):
            self.here.pass_line(self.here.next_array())  # in the order in which they were asked for
        self.replies.pop()
        return True

    def _ask(self) -> bool:
        if self.requests is None or not self.window.has_room():
            return False
        number = self.asked.next_array()
        if number < 0 or not self.requests.can_push():
            return False
        self.requests.push(READ, self.tag_base | self.window.send(), self.asked.address(number))
        self.asked.pass_line(number)
        return True

    def _ready(self) -> bool:
        """Whether the next row is whole."""
        wanted = min(self.next + self.lanes, self.end)
        return self.requests is None or self.here.whole_items(self.end) >= wanted

    def _send(self) -> None:
        """Let out a row; the span has ended with it if that has a stop."""
        for lane in range(self.lanes):
            sink = self.items[lane]
            item = self.next + lane
            if item < self.end:
                sink.push(DATA, self._coordinate(item), self._reference(item), self._value(item))
            else:
                sink.push(STOP)
                self.working = False
        sent = min(self.lanes, self.end - self.next)
        self.next += sent
        self.sent_items += sent
        self.rows += 1

    def _coordinate(self, item: int) -> int:
        return self.coordinates[item] if self.has_coordinates else 0

    def _reference(self, item: int) -> int:
        return self.references[item] if self.has_references else 0

    def _value(self, item: int) -> float:
        return self.values[item] if self.has_values else 0.0

    def _wait(self) -> int:
        """Say for what the next row waits."""
        if self.requests is not None and self.asked.next_array() >= 0 and self.window.has_room():
            return self.wait_output(self.requests)
        assert self.replies is not None
        return self.wait_input(self.replies)

    def counters(self) -> dict[str, int]:
        """Items and rows that left, and lines asked for."""
        return {"items": self.sent_items, "rows": self.rows, "lines": self.window.sent}

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.next, self.window.in_flight())


def check_items(name: str, lanes: int, count: int, parts: tuple[Any, ...]) -> None:
    """Refuse lanes out of their range, and parts of items that are not as many.

    Raises:
        ValueError: naming the component.
    """
    if not 1 <= lanes <= MAXIMUM_LANES:
        raise ValueError(f"{name}: lanes must be from 1 to {MAXIMUM_LANES}, not {lanes}")
    for part in parts:
        if part is not None and len(part) < count:
            raise ValueError(f"{name}: {count} items, of which only {len(part)} are given")
