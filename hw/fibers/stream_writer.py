"""Takes items row by row and writes them to memory as packed arrays."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from hw import lanes
from hw.fibers.memory_stream import DONE
from hw.fibers.stream_reader import check_items
from hw.fibers.streams import AddressGenerator, PackedArray
from hw.lanes import check_connected
from hw.memory import PORT_SHIFT, REQUEST, WRITE
from hw.stream import DATA, EMPTY, STREAM
from sim.channel import Channel
from sim.component import Component, Input, Output, Signal
from sim.errors import SimulationError

BEAT_WORDS = 16  # of 32 bits, as many as go out in a cycle


class StreamWriter(Component):
    """Writes the items of an array to memory, several packed arrays side by side.

    Interface: an array comes in on ``items``, row by row, see ``hw.rows``; lanes may be empty. The i-th item
    is kept in the i-th places of ``coordinates``, ``references`` and ``values``, of those that are given.
    Lines leave on ``requests`` as they fill up, the last of each array behind the stop; without it, the
    arrays stay on chip. Then a token leaves on ``done``.

    Timing: a row is taken in the cycle in which it shows, but ``BEAT_WORDS`` words go out in a cycle: while
    as many of the rows before are left, none is taken. A cycle sends one request; while ``lines`` wait to be
    sent, no row is taken. ``done`` is told in the cycle behind the one in which all is out.

    Accounting: busy while anything moves; within an array, or with a row of which not all lanes show, waiting
    for the first that shows none; waiting for space for a request.

    Counts: ``items`` taken, ``words`` they have, and ``lines`` written.

    Source: MINT (Section V): the memory controller's crossbar and FIFOs, 512 bits a cycle. On chip each word
    of an item has 32 bits (Section VI).

    Args:
        name: instance name.
        arrays: where the arrays lie, packed.
        count: of the items, at the most.
        coordinates, references, values: where they are kept, words (``q``) and doubles; shared.
        words: of an item, on chip.
        lanes: items a cycle, 1 to 256.
        port: number of its port at the network to memory.
        line_bytes: of one request.
        lines: that may wait to be sent.

    Raises:
        ValueError: for a number out of its range, or less space than for the items.
        SimulationError: when built, unless as many of ``items`` are connected as it has lanes; in the run,
            for more items than there may be.
    """

    PORTS = (
        Input("items", STREAM, array=True),
        Output("requests", REQUEST, optional=True),
        Output("done", DONE, optional=True),
    )
    SIGNALS = (Signal("taken", 48), Signal("backlog", 10))

    items: list[Channel]
    requests: Channel | None
    done: Channel | None

    def __init__(
        self,
        name: str,
        arrays: Sequence[PackedArray],
        count: int,
        *,
        coordinates: Any = None,  # noqa: ANN401 - anything with a buffer of words
        references: Any = None,  # noqa: ANN401 - as this
        values: Any = None,  # noqa: ANN401 - anything with a buffer of doubles
        words: int = 1,
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
        self.words = words
        self.lanes = lanes
        self.tag_base = port << PORT_SHIFT
        self.written = AddressGenerator(arrays, line_bytes)
        self.waiting_lines = lines
        self.within = self.ended = False  # an array; its stop is here, and it is not done
        self.taken = 0  # items
        self.last_word = 0  # behind the last word, where BEAT_WORDS go out from each cycle on
        self.lines = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count them."""
        super().elaborate()
        check_connected(self, "items", self.lanes)

    def tick(self, now: int) -> int:
        """Send a line, and take a row or tell that all is done."""
        moved = self._write()
        if self.ended:
            return self._finish(now, moved)
        missing = lanes.first_missing(self.items)
        if missing < 0 and self.last_word - now * BEAT_WORDS >= BEAT_WORDS:
            return self.busy(now + 1)
        if missing < 0 and (self.requests is None or self.written.left() < self.waiting_lines):
            self._take(now)
            return self.busy(now + 1)
        if moved:
            return self.busy(now + 1)
        if self._blocked():
            assert self.requests is not None
            return self.wait_output(self.requests)
        if self.within or lanes.any_shown(self.items):
            return self.wait_input(self.items[missing])
        return self.idle()

    def _blocked(self) -> bool:
        """Whether a line waits to be sent."""
        return self.requests is not None and self.written.left() > 0

    def _write(self) -> bool:
        if not self._blocked():
            return False
        assert self.requests is not None
        if not self.requests.can_push():
            return False
        number = self.written.next_array()
        self.requests.push(WRITE, self.tag_base, self.written.address(number))
        self.written.pass_line(number)
        self.lines += 1
        return True

    def _finish(self, now: int, moved: bool) -> int:
        """Behind the stop: tell that all is out, once it is."""
        if moved or self.last_word > now * BEAT_WORDS:
            return self.busy(now + 1)
        if self._blocked():
            assert self.requests is not None
            return self.wait_output(self.requests)
        if self.done is not None:
            if not self.done.can_push():
                return self.wait_output(self.done)
            self.done.push(0)
        self.ended = False
        return self.busy(now + 1)

    def _take(self, now: int) -> None:
        self.within = True
        before = self.taken
        for lane in range(self.lanes):
            source = self.items[lane]
            if source.control() == DATA:
                self._keep(source)
            elif source.control() != EMPTY:
                self.ended = True
            source.pop()
        if self.ended:
            self.within = False
        self.last_word = max(self.last_word, now * BEAT_WORDS) + (self.taken - before) * self.words
        self.written.extend(self.taken, self.ended)

    def _keep(self, source: Channel) -> None:
        if self.taken == self.count:
            raise SimulationError(f"{self.name}: more than {self.count} items")
        if self.has_coordinates:
            self.coordinates[self.taken] = source.coordinate()
        if self.has_references:
            self.references[self.taken] = source.reference()
        if self.has_values:
            self.values[self.taken] = source.value()
        self.taken += 1

    def counters(self) -> dict[str, int]:
        """Items taken, their words, and lines written."""
        return {"items": self.taken, "words": self.taken * self.words, "lines": self.lines}

    def sample(self) -> tuple[int, ...]:
        """Items taken, and lines that wait to be sent."""
        return (self.taken, self.written.left() if self.requests is not None else 0)
