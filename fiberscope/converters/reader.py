# cython: infer_types=True
"""Read side of the memory controller, which fetches the lines of the source and sends their items."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.converters.lines import LINE_BITS, LINE_BYTES
from fiberscope.converters.stages import ITEM
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

FIELD_SHIFT = 16  # shift of the field's number in a tag; the bits below are the slot in the field's window
SLOT_MASK = (1 << FIELD_SHIFT) - 1


class StreamField:  # C: final
    """One array of a stream in memory, with the state of its fetch.

    Args:
        items: items of the array.
        width: bits of an item; 0 if items differ in width.
        ends: if items differ in width, the end of each item in bits; empty for an array that is interleaved
            with another array, and is fetched with it.
        shift: shift of an item in the word of a token.
        address: byte address of the array.
        lines: largest number of lines that are in flight or hold items not yet sent.
    """

    def __init__(
        self, items: memoryview, width: int, ends: memoryview, shift: int, address: int, lines: int
    ) -> None:
        self.items, self.width, self.ends, self.shift = (
            items,
            width,
            ends,
            shift,
        )  # C: ends=long[::1], items=long[::1]
        self.address = address
        count = len(items)
        self.count = count
        bits = count * width if width else (ends[count - 1] if len(ends) else 0)
        self.lines = (bits + LINE_BITS - 1) // LINE_BITS  # C: long
        self.room = lines
        self.window = ReorderWindow(lines)
        self.used = 0  # bits of the items that have been sent
        self.here = count if self.lines == 0 else 0  # number of items that have arrived completely

    def begin(self) -> None:  # C: cdef
        """Restart the fetch from the first item."""
        self.window = ReorderWindow(self.room)
        self.used = 0
        self.here = self.count if self.lines == 0 else 0

    def wants(self) -> bool:  # C: cdef, noexcept
        """Return whether a line is left to request and a line buffer is free."""
        return self.window.sent < self.lines and self.window.sent - self.used // LINE_BITS < self.room

    def lags(self, other: StreamField) -> bool:  # C: cdef, noexcept
        """Return whether a smaller fraction of this array than of another array has been requested."""
        return self.window.sent * other.lines < other.window.sent * self.lines

    def receive(self, slot: int) -> None:  # C: cdef
        """Take a line that has arrived, and count the items that are complete."""
        self.window.receive(slot)
        bits = self.window.arrived * LINE_BITS
        if self.window.arrived == self.lines:
            self.here = self.count
        elif self.width > 0:
            self.here = bits // self.width
        else:
            while self.ends[self.here] <= bits:
                self.here += 1

    def use(self, item: int) -> int:  # C: cdef, noexcept
        """Mark an item and all items before it as sent; return the item, shifted to its place in the word."""
        if self.width > 0:
            self.used = (item + 1) * self.width
        elif self.lines > 0:
            self.used = self.ends[item]
        return self.items[item] << self.shift


class ItemStream:  # C: final
    """A stream of tokens, each of which combines one item of each of several arrays.

    Args:
        fields: arrays whose items form the word of a token.
        values: array of values, or None.
        lanes: largest number of tokens sent per cycle.
        count: number of tokens.
        times: number of times that the stream is read, one after the other.
        turn: priority for requests; streams with a lower number go first.

    Attributes:
        time: number of complete readings so far.
        sent: number of tokens sent in the current reading.
    """

    def __init__(
        self,
        fields: Sequence[StreamField],
        values: StreamField | None,
        lanes: int,
        count: int,
        times: int = 1,
        turn: int = 0,
    ) -> None:
        self.fields = list(fields)
        self.values = values
        self.all = [*self.fields, *([values] if values is not None else [])]
        self.lanes, self.count, self.times, self.turn = lanes, count, times, turn
        self.time = 0
        self.sent = 0

    def active(self) -> bool:  # C: cdef, noexcept
        """Return whether the stream has not been read ``times`` times yet."""
        return self.time < self.times

    def word(self, item: int) -> int:  # C: cdef
        """Return the word of a token, and mark its items as sent, except for the value."""
        word = 0  # C: long
        for field in self.fields:  # C: StreamField
            word |= field.use(item)
        return word

    def here(self) -> int:  # C: cdef
        """Return the number of tokens whose items have arrived completely in all arrays."""
        least = self.count  # C: long
        for field in self.all:  # C: StreamField
            least = min(least, field.here)
        return least

    def finish(self) -> None:  # C: cdef
        """End one reading of the stream and restart the fetches of its arrays."""
        self.time += 1
        self.sent = 0
        for field in self.all:  # C: StreamField
            field.begin()


class Reader(Component):
    """A reader that fetches the streams of a source and sends their items.

    Interface: ``streams[i]`` gets the items of stream i, then a stop, once for each reading of the stream.
    ``requests`` and ``replies`` connect to memory. If they are not connected, a line arrives in the cycle in
    which it is requested.

    Timing: in each cycle, the reader takes one line of 512 bits and requests one line. Each stream sends up
    to one complete item per lane. Among the arrays of the lowest turn, the array with the smallest requested
    fraction goes first.

    Args:
        name: instance name.
        streams: the streams to read.
        port: number of the reader's port at the network to memory.
    """

    PORTS = (
        Output("streams", ITEM, array=True),
        Output("requests", REQUEST, optional=True),
        Input("replies", REPLY, optional=True),
    )
    COUNTERS = ("lines", "sent")  # requested lines, and tokens without stops
    SIGNALS = (Signal("lines", 48), Signal("sent", 48))

    streams: list[Channel]
    requests: Channel | None
    replies: Channel | None

    def __init__(self, name: str, streams: Sequence[ItemStream], port: int = 0) -> None:
        super().__init__(name)
        self.sources = list(streams)
        self.tag = port << PORT_SHIFT
        self.fields = [field for stream in streams for field in stream.all]
        self.owners = [stream for stream in streams for _field in stream.all]
        self.lines = self.sent = 0
        self.blocked = -1  # number of a stream whose output has too few free slots; -1 for none

    def tick(self, now: int) -> int:
        """Take a line, request a line, and send the items that have arrived."""
        moved = self._receive()
        if self._ask():
            moved = True
        self.blocked = -1
        for i in range(len(self.sources)):
            if self._send(i):
                moved = True
        if moved:
            return self.busy(now + 1)
        return self._wait()

    def _wait(self) -> int:
        if self.blocked >= 0:
            return self.wait_output(self.streams[self.blocked])
        if self._next_field() >= 0:
            assert self.requests is not None
            return self.wait_output(self.requests)
        for field in self.fields:  # C: StreamField
            if field.window.in_flight() > 0:
                assert self.replies is not None
                return self.wait_input(self.replies)
        return self.idle()

    def _receive(self) -> bool:
        if self.replies is None or not self.replies.can_pop():
            return False
        tag = self.replies.coordinate() & TAG_MASK
        self.replies.pop()
        field = self.fields[tag >> FIELD_SHIFT]  # C: StreamField
        field.receive(tag & SLOT_MASK)
        return True

    def _ask(self) -> bool:
        """Request the next line; return whether a request was sent."""
        if self.requests is not None and not self.requests.can_push():
            return False
        number = self._next_field()
        if number < 0:
            return False
        field = self.fields[number]  # C: StreamField
        address = field.address + field.window.sent * LINE_BYTES  # C: long
        slot = field.window.send()  # C: long
        self.lines += 1
        if self.requests is None:
            field.receive(slot)
        else:
            self.requests.push(READ, self.tag | number << FIELD_SHIFT | slot, address)
        return True

    def _next_field(self) -> int:
        """Return the array that requests the next line, by turn and requested fraction; -1 if none does."""
        latest, turn = -1, 0  # C: turn=long
        for number in range(len(self.fields)):
            owner, field = self.owners[number], self.fields[number]  # C: field=StreamField, owner=ItemStream
            if not owner.active() or not field.wants():
                continue
            if latest < 0 or owner.turn < turn or (owner.turn == turn and field.lags(self.fields[latest])):
                latest, turn = number, owner.turn
        return latest

    def _send(self, number: int) -> bool:
        """Send the items of a stream that have arrived, and the stop after the last item.

        If the output has too few free slots, wake the reader when it has enough. Return whether anything was
        sent.
        """
        stream, output = self.sources[number], self.streams[number]  # C: stream=ItemStream
        if not stream.active():
            return False
        last = min(stream.here(), stream.sent + stream.lanes)  # C: long
        if last == stream.sent and stream.sent < stream.count:
            return False
        if output.space() <= stream.lanes:
            output.want(stream.lanes + 1)
            self.blocked = number
            return False
        self._push(stream, output, last)
        if stream.sent == stream.count:
            output.push(STOP)
            stream.finish()
        return True

    def _push(self, stream: ItemStream, output: Channel, last: int) -> None:
        values = stream.values
        for item in range(stream.sent, last):
            word = stream.word(item)
            value = 0.0  # C: double
            if values is not None:
                value = values.use(item)
            output.push(DATA, word, 0, value)
        self.sent += last - stream.sent
        stream.sent = last
