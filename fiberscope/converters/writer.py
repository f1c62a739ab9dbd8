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
        self.bits = 0  # C: public; bits appended so far
        self.written_lines = 0  # C: public

    def has_full_line(self) -> bool:  # C: cdef, noexcept
        """Return whether a full line has not been written yet."""
        return (self.written_lines + 1) * LINE_BITS <= self.bits

    def has_unwritten_bits(self) -> bool:  # C: cdef, noexcept
        """Return whether a full or partly filled line has not been written yet."""
        return self.written_lines * LINE_BITS < self.bits


class TargetArray:  # C: final
    """The items of one array of the target that have been written so far.

    Args:
        width: bits of an item.
        region: region of memory in which the array lies.
    """

    def __init__(self, width: int, region: Region) -> None:
        self.width, self.region = width, region
        self.count = 0
        self._capacity = 1024
        self._items = np.zeros(self._capacity, np.int64).data

    def append(self, item: int) -> None:  # C: cdef
        """Append an item."""
        if self.count == self._capacity:
            self._grow()
        self._items[self.count] = item
        self.count += 1
        self.region.bits += self.width

    def _grow(self) -> None:
        larger = np.zeros(2 * self._capacity, np.int64)
        larger[: self._capacity] = self._items
        self._items, self._capacity = larger.data, 2 * self._capacity

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
        self.token_words = len(arrays) + (values is not None)  # words of a token on the chip

    def append(self, word: int, value: float) -> None:  # C: cdef
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
        routes: for each port, the routes by reference.
        regions: regions of all arrays.
        words: number of words per cycle.
        backlog: number of full, unwritten lines at which the writer takes no more items.
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
        self.open_ports = len(self.routes)  # number of ports that have not had a stop
        self.first_port = 0  # port with the highest priority
        self.credit = 0  # number of words that may be taken
        self.unwritten_lines = 0  # number of full lines that have not been written
        self.words_taken = self.lines = self.beats = 0

    def tick(self, now: int) -> int:
        """Take the items of a cycle, and write a line."""
        has_taken = self._take_beat() if self.unwritten_lines < self.backlog else False
        has_written = self._write()
        if has_taken or has_written:
            return self.busy(now + 1)
        if self._has_unwritten_bits() and (self.unwritten_lines > 0 or self.open_ports == 0):
            assert self.requests is not None
            return self.wait_output(self.requests)
        return self.idle()

    def _take_beat(self) -> bool:
        """Take items up to the credit; return whether an item or stop was taken, or waits for more credit."""
        self.credit += self.words
        words_before, open_before = self.words_taken, self.open_ports
        is_short = False
        ports = len(self.items)
        for i in range(ports):
            port = (self.first_port + i) % ports
            if not is_short:
                is_short = not self._take(self.items[port], self.routes[port])
        if not is_short:
            self.credit = 0
        if self.words_taken > words_before:
            self.beats += 1
            self.first_port = (self.first_port + 1) % ports
            self.unwritten_lines = 0
            for region in self.regions:  # C: Region
                self.unwritten_lines += region.bits // LINE_BITS - region.written_lines
        return is_short or self.words_taken > words_before or self.open_ports < open_before

    def _take(self, channel: Channel, routes: list[Route]) -> bool:
        """Take the items of a port; return False if the credit is too small for the next item."""
        while channel.can_pop():
            if channel.control() == STOP:
                self.open_ports -= 1
            else:
                route = routes[channel.reference()]  # C: Route
                if route.token_words > self.credit:
                    return False
                route.append(channel.coordinate(), channel.value())
                self.credit -= route.token_words
                self.words_taken += route.token_words
            channel.pop()
        return True

    def _has_unwritten_bits(self) -> bool:
        regions = 0
        for region in self.regions:  # C: Region
            regions += region.has_unwritten_bits()
        return regions > 0

    def _write(self) -> bool:
        """Write a full line, or a partly filled line after the stops of all ports; return whether sent.

        Without a memory, write all such lines at once and return False.
        """
        if self.requests is not None and not self.requests.can_push():
            return False
        for region in self.regions:  # C: Region
            while region.has_full_line() or (self.open_ports == 0 and region.has_unwritten_bits()):
                self._send(region)
                if self.requests is not None:
                    return True
        return False

    def _send(self, region: Region) -> None:
        if self.requests is not None:
            self.requests.push(WRITE, self.tag, region.address + region.written_lines * LINE_BYTES)
        if region.has_full_line():
            self.unwritten_lines -= 1
        region.written_lines += 1
        self.lines += 1
