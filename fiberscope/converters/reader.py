# cython: infer_types=True
"""The memory controller's way in: addresses of the source's lines, and their items a lane each."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.converters.lines import LINE_BITS, LINE_BYTES
from fiberscope.converters.stages import ITEM
from fiberscope.hw.memory.protocol import PORT_SHIFT, READ, REPLY, REQUEST, TAG_MASK
from fiberscope.hw.memory.window import ReorderWindow
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

FIELD_SHIFT = 16  # of a tag: the field above, the slot of its window below
SLOT_MASK = (1 << FIELD_SHIFT) - 1


class StreamField:  # C: final
    """One array of a stream, as it lies in memory.

    Args:
        items: of the array.
        width: bits of an item; 0 if they differ.
        ends: where they differ, the bit behind each item; none of an array that comes with another one.
        shift: where an item belongs in the word of a token.
        address: of the array's first byte.
        lines: that are on their way or wait to be used, at the most.
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
        self.used = 0  # bits of the items that have left
        self.here = count if self.lines == 0 else 0  # items that have come whole

    def begin(self) -> None:  # C: cdef
        """Read it from its beginning."""
        self.window = ReorderWindow(self.room)
        self.used = 0
        self.here = self.count if self.lines == 0 else 0

    def wants(self) -> bool:  # C: cdef, noexcept
        """Return whether a line is to be asked for."""
        return self.window.sent < self.lines and self.window.sent - self.used // LINE_BITS < self.room

    def lags(self, other: StreamField) -> bool:  # C: cdef, noexcept
        """Return whether less of it has been asked for than of another, in parts of the whole."""
        return self.window.sent * other.lines < other.window.sent * self.lines

    def receive(self, slot: int) -> None:  # C: cdef
        """A line has come."""
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
        """An item leaves; its part of the token's word."""
        if self.width > 0:
            self.used = (item + 1) * self.width
        elif self.lines > 0:
            self.used = self.ends[item]
        return self.items[item] << self.shift


class ItemStream:  # C: final
    """Arrays whose items go side by side, one of each in a lane.

    Args:
        fields: of words.
        values: the array of values, or None.
        lanes: items a cycle.
        count: items.
        times: how often it is read, one time after the other.
        turn: streams of a lower turn have their lines first.
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
        """Return whether it is to be read now."""
        return self.time < self.times

    def word(self, item: int) -> int:  # C: cdef
        """The word of an item's token."""
        word = 0  # C: long
        for field in self.fields:  # C: StreamField
            word |= field.use(item)
        return word

    def here(self) -> int:  # C: cdef
        """Items that have come whole, in all arrays."""
        least = self.count  # C: long
        for field in self.all:  # C: StreamField
            least = min(least, field.here)
        return least

    def finish(self) -> None:  # C: cdef
        """It has been read; begin again, if that is due."""
        self.time += 1
        self.sent = 0
        for field in self.all:  # C: StreamField
            field.begin()


class Reader(Component):
    """Reads the streams of a source, and sends their items a lane each.

    Interface: ``streams[i]`` gets the items of stream i and a stop behind the last; ``requests`` and
    ``replies`` go to memory. Without them lines are there when they are asked for.

    Timing: a cycle takes one line, of 512 bits, and asks for one; of each stream as many items leave as it
    has lanes, if they have come whole. Of the arrays of a turn, that of which the
    least part has come asks first.

    Args:
        name: instance name.
        streams: what is read.
        port: number of its port at the network to memory.
    """

    PORTS = (
        Output("streams", ITEM, array=True),
        Output("requests", REQUEST, optional=True),
        Input("replies", REPLY, optional=True),
    )
    COUNTERS = ("lines", "sent")
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
        self.blocked = -1  # stream whose output has no room

    def tick(self, now: int) -> int:
        """Take a line, ask for one, and send the items that are there."""
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
        """Ask for a line."""
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
        """Return the array of the lowest turn that needs a line and has received the least; or -1."""
        latest, turn = -1, 0  # C: turn=long
        for number in range(len(self.fields)):
            owner, field = self.owners[number], self.fields[number]  # C: field=StreamField, owner=ItemStream
            if not owner.active() or not field.wants():
                continue
            if latest < 0 or owner.turn < turn or (owner.turn == turn and field.lags(self.fields[latest])):
                latest, turn = number, owner.turn
        return latest

    def _send(self, number: int) -> bool:
        """Send the items of a stream that are there, and the stop behind the last."""
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
