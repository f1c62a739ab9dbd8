# cython: infer_types=True
"""The output tiles in the last-level buffer, where partial outputs accumulate."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.extensor.layout import HALVES, NOTHING, PARTIALS, ROW, SIGNAL, TILE
from fiberscope.hw.value_type import DOUBLE, ValueType
from fiberscope.sim.channel import Channel, seen_from
from fiberscope.sim.component import Component, Input, Output, Signal

EMPTY = -1
UNKNOWN = -1
SCATTER = 2654435769  # 2^32 over the golden ratio (Knuth, The Art of Computer Programming 3, 6.4)
FIRST_SLOTS = 64  # of a table that was never used; a power of two, like all sizes


class OutputRow:  # C: final
    """A row of microtiles of an output tile: its elements by key, in a hash table, and what was visited.

    A key is the place of an element in the row: number of its microtile times the places of a microtile, plus
    its place in there.

    A store (docs/blocks.md) that changes hands as a whole: the output buffer adds to it, and when it is
    complete the drain reads and empties it. The values are left as they are: the keys say what is there.

    Args:
        columns: microtiles of the row.
        value_type: of the values.
    """

    WRITERS: ClassVar[Mapping[str, str]] = {"values": "outputs"}

    def __init__(self, columns: int, value_type: ValueType = DOUBLE) -> None:
        self.value_type = value_type
        self.visited = array("b", bytes(columns))
        self.additions = 0  # into an element that was there
        self.count = 0
        self._allocate(FIRST_SLOTS)

    def _allocate(self, slots: int) -> None:
        self.mask = slots - 1
        self.used = array("q", bytes(8 * (slots // 2)))  # the first ``count``: places of elements
        self.keys = array("q", [EMPTY]) * slots
        self.values = array("d", bytes(8 * slots))

    def visit(self, column: int) -> None:
        """Note that a microtile was worked on, be there an element or not."""
        self.visited[column] = 1

    def add(self, key: int, value: float) -> None:
        """Add to an element, which is made if it is new."""
        place = self._place(key)
        if self.keys[place] == key:
            self.values[place] = self.value_type.add(self.values[place], value)
            self.additions += 1
        else:
            self._put(place, key, value)
            if 2 * self.count > self.mask:
                self._grow()

    def _put(self, place: int, key: int, value: float) -> None:  # C: noexcept, inline
        self.keys[place] = key
        self.values[place] = value
        self.used[self.count] = place
        self.count += 1

    def _place(self, key: int) -> int:  # C: noexcept
        """Return the place of an element, present or not. Dense parts of a row form clusters."""
        mask = self.mask
        place = (key * SCATTER >> 15) & mask
        while self.keys[place] != EMPTY and self.keys[place] != key:
            place = (place + 1) & mask
        return place

    def _grow(self) -> None:
        keys, values, slots = self.keys, self.values, self.mask + 1
        self._allocate(2 * slots)
        self.count = 0
        for i in range(slots):
            if keys[i] != EMPTY:
                self._put(self._place(keys[i]), keys[i], values[i])

    def take(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:  # C: def
        """Empty the row: the keys of its elements, sorted, their values, and the microtiles visited."""
        keys, visited = np.asarray(self.keys), np.asarray(self.visited)
        used = np.asarray(self.used)[: self.count]
        order = used[np.argsort(keys[used])]
        taken = keys[order], np.asarray(self.values)[order], np.flatnonzero(visited)
        keys[order] = EMPTY
        visited[:] = 0
        self.count = 0
        return taken


class PartialSlot:  # C: final
    """The partial outputs of a microtile product on their way from a core, a store: keys and values."""

    WRITERS: ClassVar[Mapping[str, str]] = {"keys": "core", "values": "core"}

    def __init__(self) -> None:
        self.count = 0
        self.keys = array("q", bytes(8 * FIRST_SLOTS))
        self.values = array("d", bytes(8 * FIRST_SLOTS))

    def clear(self) -> None:
        """Make it empty."""
        self.count = 0

    def append(self, key: int, value: float) -> None:
        """Put an element behind the others."""
        if self.count == len(self.keys):
            self._grow()
        self.keys[self.count] = key
        self.values[self.count] = value
        self.count += 1

    def _grow(self) -> None:
        self.keys = array("q", bytes(np.asarray(self.keys))) * 2
        self.values = array("d", bytes(np.asarray(self.values))) * 2


class OutputBuffer(Component):
    """Adds partial outputs to the output tiles of the last-level buffer.

    Interface: the partial outputs of a microtile product come in on ``partials[i]`` from processing element
    i. On ``rows`` come how many rows of microtiles a tile will have, and of each how many products, once that
    is known. When those have come the row is complete: ``finished`` passes it to the drain. ``completed``
    says when all rows of a tile are.

    Timing: a product of each processing element and a token of ``rows`` a cycle. A core makes at most one
    partial output a cycle, and each has a port of its own: its outputs arrive while it works, and nothing
    waits here.

    Args:
        name: instance name.
        output_rows: those of the first half, then those of the second.
        slots: by number, where the cores put partial outputs.
        halves: of the buffer; there may be more than two, each with a tile.
    """

    PORTS = (
        Input("rows", ROW),
        Input("partials", PARTIALS, array=True),
        Output("finished", ROW),
        Output("completed", SIGNAL, optional=True),
    )
    COUNTERS = ("partial_outputs",)  # that came
    SIGNALS = (Signal("missing", 32),)

    rows: Channel
    partials: list[Channel]
    finished: Channel
    completed: Channel | None

    def __init__(
        self, name: str, output_rows: list[OutputRow], slots: list[PartialSlot], *, halves: int = HALVES
    ) -> None:
        super().__init__(name)
        self.output_rows = output_rows
        self.slots = slots
        self.height = len(output_rows) // halves
        self.done = array("q", bytes(8 * len(output_rows)))  # products that came, by row
        self.expected = array("q", [UNKNOWN] * len(output_rows))
        self.missing = array("q", bytes(8 * halves))  # rows that are not complete, by half
        self.partial_outputs = 0

    def elaborate(self) -> None:
        """Count the processing elements."""
        super().elaborate()
        self.ways = len(self.partials)
        self.seen_from = seen_from(self.partials)  # C: long[::1]

    def tick(self, now: int) -> int:
        """Take what has come from the dispatcher and from every processing element."""
        progress = self.rows.can_pop()
        if progress:
            self._announce()
        for way in range(self.ways):
            if self.seen_from[way] <= now:
                self._take(self.partials[way])
                progress = True
        return self.busy(now + 1) if progress else self.idle()

    def _announce(self) -> None:
        """A tile and its rows, or a row and its products."""
        half, row, count = self.rows.control(), self.rows.coordinate(), self.rows.reference()
        self.rows.pop()
        if row == TILE:
            self.missing[half] = count
            self.finished.push(half, TILE, count)
        else:
            self.expected[half * self.height + row] = count
            self._complete(half, row)

    def _take(self, way: Channel) -> None:
        """Add the partial outputs of a product."""
        half, row = way.control(), way.reference()
        place = half * self.height + row
        if way.coordinate() != NOTHING:
            slot, target = self.slots[way.coordinate()], self.output_rows[place]
            for i in range(slot.count):
                target.add(slot.keys[i], slot.values[i])
            self.partial_outputs += slot.count
        self.done[place] += 1
        way.pop()
        self._complete(half, row)

    def _complete(self, half: int, row: int) -> None:
        """Pass a row on if all its products have come; there is space for all rows of all halves."""
        place = half * self.height + row
        if self.done[place] == self.expected[place]:
            self.done[place] = 0
            self.expected[place] = UNKNOWN
            self.finished.push(half, row)
            self.missing[half] -= 1
            if self.missing[half] == 0 and self.completed is not None:
                self.completed.push(half)

    def counters(self) -> dict[str, int]:
        """Partial outputs that came, and those of them that were added to one that was there."""
        return {**super().counters(), "add": sum(row.additions for row in self.output_rows)}

    def sample(self) -> tuple[int, ...]:
        """Rows that are not complete."""
        return (sum(self.missing),)
