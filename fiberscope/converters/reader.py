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
        max_lines: largest number of lines that are in flight or hold items not yet sent.
    """

    def __init__(
        self, items: memoryview, width: int, ends: memoryview, shift: int, address: int, max_lines: int
    ) -> None:
        self.items, self.ends = items, ends  # C: ends=long[::1], items=long[::1]
        self.width, self.shift, self.address, self.max_lines = width, shift, address, max_lines
        self.count = len(items)
        bits = self.count * width if width else (ends[self.count - 1] if len(ends) else 0)
        self.lines = (bits + LINE_BITS - 1) // LINE_BITS  # C: long; number of lines to fetch
        self.restart()

    def restart(self) -> None:  # C: cdef
        """Start the fetch at the first item."""
        self.window = ReorderWindow(self.max_lines)
        self.sent_bits = 0  # bits of the items that have been sent
        self.arrived_items = self.count if self.lines == 0 else 0  # number of items that arrived completely

    def can_request(self) -> bool:  # C: cdef, noexcept
        """Return whether a line remains to be requested and a line buffer is free."""
        used_buffers = self.window.sent - self.sent_bits // LINE_BITS
        return self.window.sent < self.lines and used_buffers < self.max_lines

    def is_behind(self, field: StreamField) -> bool:  # C: cdef, noexcept
        """Return whether a smaller fraction of this array than of ``field`` has been requested."""
        # Compare products instead of the two quotients
        return self.window.sent * field.lines < field.window.sent * self.lines

    def receive(self, slot: int) -> None:  # C: cdef
        """Take a line that has arrived, and count the items that are complete."""
        self.window.receive(slot)
        bits = self.window.arrived * LINE_BITS
        if self.window.arrived == self.lines:
            self.arrived_items = self.count
        elif self.width > 0:
            self.arrived_items = bits // self.width
        else:
            while self.ends[self.arrived_items] <= bits:
                self.arrived_items += 1

    def send_item(self, item: int) -> int:  # C: cdef, noexcept
        """Mark an item and all items before it as sent; return the item, shifted to its bits of the word."""
        if self.width > 0:
            self.sent_bits = (item + 1) * self.width
        elif self.lines > 0:
            self.sent_bits = self.ends[item]
        return self.items[item] << self.shift


class ItemStream:  # C: final
    """A stream of tokens, each of which combines one item of each of several arrays.

    Args:
        fields: arrays whose items form the word of a token.
        values: array of values, or None.
        lanes: largest number of tokens sent per cycle.
        readings: number of times that the stream is read, one after the other.
        priority: priority for requests; streams with a lower number go first.

    Attributes:
        completed_readings: number of complete readings so far.
        sent: number of tokens sent in the current reading.
    """

    def __init__(
        self,
        fields: Sequence[StreamField],
        values: StreamField | None,
        lanes: int,
        readings: int = 1,
        priority: int = 0,
    ) -> None:
        self.fields = list(fields)
        self.values = values
        self.all_fields = [*self.fields, *([values] if values is not None else [])]
        self.lanes, self.readings, self.priority = lanes, readings, priority
        self.count = (self.fields[0] if values is None else values).count  # C: long; number of tokens
        self.completed_readings = 0
        self.sent = 0

    def is_active(self) -> bool:  # C: cdef, noexcept
        """Return whether the stream has not been read ``readings`` times yet."""
        return self.completed_readings < self.readings

    def send_word(self, item: int) -> int:  # C: cdef
        """Return the word of a token, and mark its items as sent, except for the value."""
        word = 0  # C: long
        for field in self.fields:  # C: StreamField
            word |= field.send_item(item)
        return word

    def count_arrived(self) -> int:  # C: cdef
        """Return the number of tokens whose items have arrived completely in all arrays."""
        arrived = self.count  # C: long
        for field in self.all_fields:  # C: StreamField
            arrived = min(arrived, field.arrived_items)
        return arrived

    def end_reading(self) -> None:  # C: cdef
        """End one reading of the stream and restart the fetches of its arrays."""
        self.completed_readings += 1
        self.sent = 0
        for field in self.all_fields:  # C: StreamField
            field.restart()


class Reader(Component):
    """A reader that fetches the streams of a source and sends their items.

    Interface: ``streams[i]`` gets the items of stream i, then a stop, once for each reading of the stream.
    ``requests`` and ``replies`` connect to memory. If they are not connected, a line arrives in the cycle in
    which it is requested.

    Timing: in each cycle, the reader takes one line of 512 bits and requests one line. Each stream sends up
    to one complete item per lane. Among the arrays with the lowest ``priority``, the array with the smallest
    requested fraction goes first.

    Args:
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
        self.item_streams = list(streams)
        self.tag = port << PORT_SHIFT
        self.fields = [field for stream in streams for field in stream.all_fields]
        self.field_streams = [stream for stream in streams for _field in stream.all_fields]
        self.lines = self.sent = 0
        self.blocked_stream = -1  # number of a stream whose output has too few free slots; -1 for none

    def tick(self, now: int) -> int:
        """Take a line, request a line, and send the items that have arrived."""
        has_progressed = self._receive()
        if self._request_line():
            has_progressed = True
        self.blocked_stream = -1
        for number in range(len(self.item_streams)):
            if self._send(number):
                has_progressed = True
        return self.busy(now + 1) if has_progressed else self._wait()

    def _wait(self) -> int:
        if self.blocked_stream >= 0:
            return self.wait_output(self.streams[self.blocked_stream])
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

    def _request_line(self) -> bool:
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
        """Return the number of the array to request a line of; -1 if no array can request one."""
        selected, lowest = -1, 0  # C: lowest=long
        for number in range(len(self.fields)):
            field = self.fields[number]  # C: StreamField
            stream = self.field_streams[number]  # C: ItemStream
            if not stream.is_active() or not field.can_request():
                continue
            is_before = selected < 0 or stream.priority < lowest
            if is_before or (stream.priority == lowest and field.is_behind(self.fields[selected])):
                selected, lowest = number, stream.priority
        return selected

    def _send(self, number: int) -> bool:
        """Send the items of a stream that have arrived, and the stop after the last item.

        If the output has too few free slots, wake the reader when it has enough. Return whether anything was
        sent.
        """
        stream, output = self.item_streams[number], self.streams[number]  # C: stream=ItemStream
        if not stream.is_active():
            return False
        end = min(stream.count_arrived(), stream.sent + stream.lanes)  # C: long
        if end == stream.sent and stream.sent < stream.count:
            return False
        if output.space() <= stream.lanes:
            output.want(stream.lanes + 1)
            self.blocked_stream = number
            return False
        self._push(stream, output, end)
        if stream.sent == stream.count:
            output.push(STOP)
            stream.end_reading()
        return True

    def _push(self, stream: ItemStream, output: Channel, end: int) -> None:
        values = stream.values
        for item in range(stream.sent, end):
            word = stream.send_word(item)
            value = 0.0  # C: double
            if values is not None:
                value = values.send_item(item)
            output.push(DATA, word, 0, value)
        self.sent += end - stream.sent
        stream.sent = end
