# cython: infer_types=True
"""Write side of the memory controller, which packs the items of the target's arrays into lines."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from fiberscope.converters.lines import LINE_BITS, LINE_BYTES
from fiberscope.converters.stages import ITEM
from fiberscope.hw.memory.protocol import PORT_SHIFT, REQUEST, WRITE
from fiberscope.hw.stream import STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal


class Region:  # C: final
    """A region of memory with one or more arrays that are packed together.

    Args:
        address: byte address of the region.
    """

    def __init__(self, address: int) -> None:
        self.address = address
        self.bits = 0  # C: public; so far
        self.written = 0  # C: public; lines

    def full(self) -> bool:  # C: cdef, noexcept
        """Return whether a full line has not been written yet."""
        return (self.written + 1) * LINE_BITS <= self.bits

    def begun(self) -> bool:  # C: cdef, noexcept
        """Return whether a full or partly filled line has not been written yet."""
        return self.written * LINE_BITS < self.bits


class TargetArray:  # C: final
    """The items of one array of the target that have been written so far.

    Args:
        width: bits of an item.
        region: region of memory in which the array lies.
    """

    def __init__(self, width: int, region: Region) -> None:
        self.width, self.region = width, region
        self.count = 0
        self._space = 1024
        self._items = np.zeros(self._space, np.int64).data

    def append(self, item: int) -> None:  # C: cdef
        """Append an item."""
        if self.count == self._space:
            self._grow()
        self._items[self.count] = item
        self.count += 1
        self.region.bits += self.width

    def _grow(self) -> None:
        larger = np.zeros(2 * self._space, np.int64)
        larger[: self._space] = self._items
        self._items, self._space = larger.data, 2 * self._space

    def items(self) -> memoryview:  # C: cpdef
        """Return the items written so far."""
        return self._items[: self.count]


class Route:  # C: final
    """A route from the fields of a token to arrays of the target.

    Args:
        arrays: array for each part of the token's word.
        shifts, widths: shift and number of bits of each part in the word.
        values: array for the token's value, or None.
    """

    def __init__(
        self,
        arrays: Sequence[TargetArray],
        shifts: Sequence[int],
        widths: Sequence[int],
        values: TargetArray | None,
    ) -> None:
        self.arrays = list(arrays)
        self.shifts = array("q", shifts)
        self.masks = array("q", [(1 << width) - 1 for width in widths])
        self.values = values
        self.words = len(arrays) + (values is not None)  # words of a token on the chip

    def put(self, word: int, value: float) -> None:  # C: cdef
        """Append the parts of a token to the arrays."""
        for i in range(len(self.arrays)):
            target = self.arrays[i]  # C: TargetArray
            target.append(word >> self.shifts[i] & self.masks[i])
        if self.values is not None:
            self.values.append(int(value))


class Writer(Component):
    """A writer that packs the items of a target into lines, and writes each line when it is full.

    Interface: a token of ``items[i]`` is appended to the arrays of the route that its reference selects; a
    stop ends the port. ``requests`` sends writes to memory. If it is not connected, lines are written without
    delay.

    Timing: ``words`` words per cycle. An item that does not fit is taken in a later cycle, with the unused
    words of this cycle added. The ports have the highest priority in round-robin order. With a memory, one
    line is written per cycle. Partly filled lines are written after the stops of all ports.

    Args:
        name: instance name.
        routes: for each port, the routes by reference.
        regions: regions of all arrays.
        words: number of words per cycle.
        backlog: number of full, unwritten lines from which no more items are taken.
        port: number of the writer's port at the network to memory.
    """

    PORTS = (Input("items", ITEM, array=True), Output("requests", REQUEST, optional=True))
    COUNTERS = ("words_taken", "lines", "beats")  # words of items, written lines, cycles in which items moved
    SIGNALS = (Signal("words_taken", 48), Signal("lines", 48))

    items: list[Channel]
    requests: Channel | None

    def __init__(
        self,
        name: str,
        routes: Sequence[Sequence[Route]],
        regions: Sequence[Region],
        *,
        words: int,
        backlog: int,
        port: int = 0,
    ) -> None:
        super().__init__(name)
        self.routes = [list(by_reference) for by_reference in routes]
        self.regions = list(regions)
        self.words = words
        self.backlog = backlog
        self.tag = port << PORT_SHIFT
        self.open = len(self.routes)  # number of ports that have not had a stop
        self.first = 0  # port with the highest priority
        self.credit = 0  # number of words that may be taken
        self.waiting = 0  # number of full lines that have not been written
        self.words_taken = self.lines = self.beats = 0

    def tick(self, now: int) -> int:
        """Take the items of a cycle, and write a line."""
        taken = self._take_beat() if self.waiting < self.backlog else False
        wrote = self._write()
        if taken or wrote:
            return self.busy(now + 1)
        if self._any_begun() and (self.waiting > 0 or self.open == 0):
            assert self.requests is not None
            return self.wait_output(self.requests)
        return self.idle()

    def _take_beat(self) -> bool:
        """Take items up to the credit; return whether an item or stop was taken, or waits for more credit."""
        self.credit += self.words
        before, ended = self.words_taken, self.open
        short = False
        ports = len(self.items)
        for i in range(ports):
            port = (self.first + i) % ports
            if not short:
                short = not self._take(self.items[port], self.routes[port])
        if not short:
            self.credit = 0
        if self.words_taken > before:
            self.beats += 1
            self.first = (self.first + 1) % ports
            self._count_waiting()
        return short or self.words_taken > before or self.open < ended

    def _take(self, channel: Channel, routes: list[Route]) -> bool:
        """Take the items of a port; return False if the credit is too small for the next item."""
        while channel.can_pop():
            if channel.control() == STOP:
                self.open -= 1
            else:
                route = routes[channel.reference()]  # C: Route
                if route.words > self.credit:
                    return False
                route.put(channel.coordinate(), channel.value())
                self.credit -= route.words
                self.words_taken += route.words
            channel.pop()
        return True

    def _count_waiting(self) -> None:
        self.waiting = 0
        for region in self.regions:  # C: Region
            self.waiting += region.bits // LINE_BITS - region.written

    def _any_begun(self) -> bool:
        begun = 0
        for region in self.regions:  # C: Region
            begun += region.begun()
        return begun > 0

    def _write(self) -> bool:
        """Write a full line, or a partly filled line after the stops of all ports; return whether sent.

        Without a memory, write all such lines at once and return False.
        """
        if self.requests is not None and not self.requests.can_push():
            return False
        for region in self.regions:  # C: Region
            while region.full() or (self.open == 0 and region.begun()):
                self._send(region)
                if self.requests is not None:
                    return True
        return False

    def _send(self, region: Region) -> None:
        if self.requests is not None:
            self.requests.push(WRITE, self.tag, region.address + region.written * LINE_BYTES)
        if region.full():
            self.waiting -= 1
        region.written += 1
        self.lines += 1
