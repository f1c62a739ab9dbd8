# cython: infer_types=True
"""Output buffer of ExTensor: the output tiles in the last-level buffer, which accumulate partial outputs."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.extensor.layout import HALVES, NO_SLOT, PARTIALS, ROW, SIGNAL, TILE
from fiberscope.hw.value_type import DOUBLE, ValueType
from fiberscope.sim.channel import Channel, seen_from
from fiberscope.sim.component import Component, Input, Output, Signal

EMPTY = -1  # key of an unused slot of the hash table
UNKNOWN = -1  # number of products of a row before the dispatcher has sent it
HASH_FACTOR = 2654435769  # 2^32 over the golden ratio (Knuth, The Art of Computer Programming 3, 6.4)
FIRST_SLOTS = 64  # initial size of a table; all sizes are powers of two


class OutputRow:  # C: final
    """A row of microtiles of an output tile: a hash table of elements, and the visited microtiles.

    The key of an element is the index of its microtile times the area of a microtile, plus its position in
    the microtile. Emptying the table resets the keys and leaves the values.

    A row is a store (docs/blocks.md) that changes its owner as a whole. The output buffer adds elements. When
    the row is complete, the drain reads and empties it.

    Args:
        columns: microtiles of the row.
        value_type: type in which values are added.

    Attributes:
        visited: for each microtile, whether a product contributed to it, with or without elements.
        count: number of elements.
        additions: additions to an element that was present, since the beginning of the run.
    """

    WRITERS: ClassVar[Mapping[str, str]] = {"values": "outputs"}

    def __init__(self, columns: int, value_type: ValueType = DOUBLE) -> None:
        self.value_type = value_type
        self.visited = array("b", bytes(columns))
        self.additions = 0
        self.count = 0
        self._allocate(FIRST_SLOTS)

    def _allocate(self, slots: int) -> None:
        self.mask = slots - 1
        self.occupied = array("q", bytes(8 * (slots // 2)))  # slots of the first ``count`` elements
        self.keys = array("q", [EMPTY]) * slots
        self.values = array("d", bytes(8 * slots))

    def visit(self, column: int) -> None:
        """Mark a microtile as visited."""
        self.visited[column] = 1

    def add(self, key: int, value: float) -> None:
        """Add a value to the element with this key, or insert the element."""
        slot = self._find_slot(key)
        if self.keys[slot] == key:
            self.values[slot] = self.value_type.add(self.values[slot], value)
            self.additions += 1
        else:
            self._insert(slot, key, value)
            if 2 * self.count > self.mask:
                self._grow()

    def _insert(self, slot: int, key: int, value: float) -> None:  # C: noexcept, inline
        self.keys[slot] = key
        self.values[slot] = value
        self.occupied[self.count] = slot
        self.count += 1

    def _find_slot(self, key: int) -> int:  # C: noexcept
        """Return the slot of a key in the table, or the free slot where it belongs (linear probing)."""
        mask = self.mask
        slot = (key * HASH_FACTOR >> 15) & mask
        while self.keys[slot] != EMPTY and self.keys[slot] != key:
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        keys, values, slots = self.keys, self.values, self.mask + 1
        self._allocate(2 * slots)
        self.count = 0
        for i in range(slots):
            if keys[i] != EMPTY:
                self._insert(self._find_slot(keys[i]), keys[i], values[i])

    def take(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:  # C: def
        """Empty the row; return the sorted keys of its elements, their values and the visited microtiles."""
        keys, visited = np.asarray(self.keys), np.asarray(self.visited)
        used = np.asarray(self.occupied)[: self.count]
        order = used[np.argsort(keys[used])]
        row = keys[order], np.asarray(self.values)[order], np.flatnonzero(visited)
        keys[order] = EMPTY
        visited[:] = 0
        self.count = 0
        return row


class PartialSlot:  # C: final
    """A store for the partial outputs of a microtile product that a core sends: keys and values."""

    WRITERS: ClassVar[Mapping[str, str]] = {"keys": "core", "values": "core"}

    def __init__(self) -> None:
        self.count = 0
        self.keys = array("q", bytes(8 * FIRST_SLOTS))
        self.values = array("d", bytes(8 * FIRST_SLOTS))

    def clear(self) -> None:
        """Make the slot empty."""
        self.count = 0

    def append(self, key: int, value: float) -> None:
        """Append an element."""
        if self.count == len(self.keys):
            self._grow()
        self.keys[self.count] = key
        self.values[self.count] = value
        self.count += 1

    def _grow(self) -> None:
        self.keys = array("q", bytes(np.asarray(self.keys))) * 2
        self.values = array("d", bytes(np.asarray(self.values))) * 2


class OutputBuffer(Component):
    """A component that adds partial outputs to the output tiles of the last-level buffer.

    Interface: the partial outputs of a microtile product arrive on ``partials[i]`` from processing element i.
    ``rows`` carries the number of rows of microtiles of a tile, and the number of products of each row once
    it is known. A row is complete when all its products have arrived; ``finished`` passes the row to the
    drain. ``completed`` announces that all rows of a tile are complete.

    Timing: in each cycle, one product of each processing element and one token of ``rows``. A core makes at
    most one partial output a cycle and has a port of its own. Its outputs are therefore added while it works,
    and nothing waits here.

    Args:
        output_rows: rows of the output tile in the first half of the buffer, then of the following halves.
        slots: slots of all cores, by the numbers that tokens of ``partials`` carry.
        halves: number of halves of the buffer, each with a tile; may exceed two.
    """

    PORTS = (
        Input("rows", ROW),
        Input("partials", PARTIALS, array=True),
        Output("finished", ROW),
        Output("completed", SIGNAL, optional=True),
    )
    COUNTERS = ("partial_outputs",)  # elements that arrived
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
        self.arrived = array("q", bytes(8 * len(output_rows)))  # products that arrived, by row
        self.expected = array("q", [UNKNOWN] * len(output_rows))
        self.missing = array("q", bytes(8 * halves))  # rows that are not complete, by half
        self.partial_outputs = 0

    def elaborate(self) -> None:
        """Count the processing elements."""
        super().elaborate()
        self.elements = len(self.partials)
        self.seen_from = seen_from(self.partials)  # C: long[::1]

    def tick(self, now: int) -> int:
        """Pop a token of the dispatcher and a product of each processing element."""
        progress = self.rows.can_pop()
        if progress:
            self._announce()
        for element in range(self.elements):
            if self.seen_from[element] <= now:
                self._take(self.partials[element])
                progress = True
        return self.busy(now + 1) if progress else self.idle()

    def _announce(self) -> None:
        """Pop a tile with its number of rows, or a row with its number of products."""
        half, row, count = self.rows.control(), self.rows.coordinate(), self.rows.reference()
        self.rows.pop()
        if row == TILE:
            self.missing[half] = count
            self.finished.push(half, TILE, count)
        else:
            self.expected[half * self.height + row] = count
            self._complete(half, row)

    def _take(self, channel: Channel) -> None:
        """Add the partial outputs of a product."""
        half, row = channel.control(), channel.reference()
        index = half * self.height + row
        if channel.coordinate() != NO_SLOT:
            slot, target = self.slots[channel.coordinate()], self.output_rows[index]
            for i in range(slot.count):
                target.add(slot.keys[i], slot.values[i])
            self.partial_outputs += slot.count
        self.arrived[index] += 1
        channel.pop()
        self._complete(half, row)

    def _complete(self, half: int, row: int) -> None:
        """Pass a row on if all its products arrived; ``finished`` has a slot for each row of each half."""
        index = half * self.height + row
        if self.arrived[index] == self.expected[index]:
            self.arrived[index] = 0
            self.expected[index] = UNKNOWN
            self.finished.push(half, row)
            self.missing[half] -= 1
            if self.missing[half] == 0 and self.completed is not None:
                self.completed.push(half)

    def counters(self) -> dict[str, int]:
        """Return the partial outputs that arrived, and the number of them that were added to an element."""
        return {**super().counters(), "add": sum(row.additions for row in self.output_rows)}

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the number of rows that are not complete."""
        values[0] = 0
        for half in range(len(self.missing)):
            values[0] += self.missing[half]
