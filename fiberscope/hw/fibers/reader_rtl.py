"""RTL of the fiber reader with the buffers of its ways.

The module replaces ``fiberscope.hw.fibers.reader.FiberReader`` and its output channels ``ways``. A row of a
way's buffer holds a whole line, as it arrives; its elements stay there until a merger takes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import pyrtl

from fiberscope.hw.fibers.merge_rtl import SCALE, WAYS, scaled
from fiberscope.hw.fibers.reader import FiberReader
from fiberscope.hw.fibers.tasks_rtl import (
    ELEMENTS,
    INDEX_BITS,
    NUMBER_BITS,
    OUTPUT,
    WRITER_FIELDS,
    Elements,
    LineParameters,
    Tasks,
    line_offset,
)
from fiberscope.hw.memory.protocol import CONSUME, READ, TENSOR_SHIFT
from fiberscope.hw.rtl.kit.arithmetic import value_type
from fiberscope.hw.rtl.kit.channel import CAPACITY, PENDING
from fiberscope.hw.rtl.kit.interface import Content, Field
from fiberscope.hw.rtl.kit.memory_port import LINE
from fiberscope.hw.rtl.kit.parameters import number, one_of
from fiberscope.hw.rtl.kit.sram import REGISTERED, AnnouncedSram, memory_parameter
from fiberscope.hw.rtl.kit.trees import (
    all_up_to,
    any_of,
    chosen,
    decoded,
    follows,
    lowest,
    ones_of,
    ones_up_to,
)
from fiberscope.hw.rtl.kit.twin import (
    DataRegister,
    OutputStream,
    Signal,
    Streams,
    alias,
    blank_if_stop,
    index_bits,
    packed,
    unless,
    unpacked,
)
from fiberscope.hw.rtl.kit.unit import Each, PortContents, unit

UNSCALED = -1  # reference of an element of a partial fiber, as in the event class
TENSORS = (0, 7)  # range of the number of a tensor
# Fields of ``_next_line``: slots for the elements of a line and a stop, if it is the last line, and if not.
TOKEN_COUNTS = "of_last", "of_others"


@dataclass(frozen=True)
class FiberReaderParameters(LineParameters):
    """Parameters of a reader.

    Args:
        radix: number of ways, 2 to 64.
        buffer_lines: largest number of lines of a way in flight, 2, 4 or 8.
        capacity: capacity of a way's buffer in tokens; tokens of lines in flight count.
        line_bytes, element_bytes: bytes of a line and of an element; a line has at least 2 elements.
        port: port number of this module at the network to the cache.
        tensor, partial_tensor: numbers of the tensors of the operand and of the partial fibers.
        values: type of all values.
        memory: memory of the buffers: ``combinational`` or ``registered``. Both take the same cycles.
    """

    radix: int = number(8, *WAYS)
    buffer_lines: int = one_of(4, 2, 4, 8)
    capacity: int = number(40, 3, CAPACITY[1])
    line_bytes: int = one_of(64, 32, 64, 128)
    element_bytes: int = one_of(8, *ELEMENTS)
    port: int = number(1, 0, 1023)
    tensor: int = number(2, *TENSORS)
    partial_tensor: int = number(4, *TENSORS)
    values: str = value_type()
    memory: str = memory_parameter()

    @property
    def tasks(self) -> Tasks:
        """Return the format of the tasks that arrive."""
        return Tasks(self.radix, self.value_field)

    @property
    def row_bits(self) -> int:
        """Return the width of a row number of a way's buffer.

        The number of rows follows from ``capacity``: two successive lines have at least three tokens. Only
        the first line of a fiber can have a single element, and another line or a stop follows it.
        """
        return index_bits(max(2 * self.capacity // 3 + 2, 2 * self.buffer_lines))


def element_content(value: Field) -> Content:
    """Return the fields of an element in the pipeline, with its scale."""
    return {
        "control": 1,
        "coordinate": NUMBER_BITS,
        "reference": INDEX_BITS,
        "value": value,
        **scaled(value.width),
    }


def port_contents(parameters: FiberReaderParameters) -> PortContents:
    """Return the fields of each port, see ``FiberReader``; a task carries its fibers, and a reply a line."""
    return {
        "tasks": parameters.tasks.content,
        "requests": parameters.memory_port.stream("requests", "output"),
        "replies": parameters.memory_port.tags("replies", "input"),
        "ways": Each(element_content(parameters.value_field), parameters.radix),
        "merge_tasks": {"coordinate": parameters.radix.bit_length()},
        "output_tasks": {"reference": INDEX_BITS, **WRITER_FIELDS},
    }


class _Way:
    """One way: the fiber that it requests, its lines in flight, and its buffer.

    The buffer is a ring of rows. From ``consumed`` on, rows hold lines to read; from ``delivered`` on, they
    wait for lines in flight; from ``asked`` on, they are free. Call ``receive``, ``turn_to``,
    ``ask`` and ``give`` once each, in this order.
    """

    def __init__(self, parameters: FiberReaderParameters, index: int) -> None:
        self.parameters, self.elements, self.name = parameters, parameters.elements, f"way_{index:02}"
        rows, lines = parameters.row_bits, parameters.buffer_lines
        self.asked, self.delivered, self.consumed = (
            self._register(rows, place) for place in ("asked", "delivered", "consumed")
        )
        self.used = self._register(parameters.capacity.bit_length(), "used")  # tokens, with those in flight
        self.first, self.end = (self._register(INDEX_BITS, name) for name in ("first", "end"))
        self.here = [self._register(1, f"here_{place}") for place in range(lines)]
        self.ends = [self._data(1, f"ends_{place}") for place in range(lines)]
        self.lines = self._memory(8 * parameters.line_bytes, "lines")
        self.low = index_bits(lines)
        self.place = self.asked[: self.low]  # entry of the next line

    def _register(self, width: int, name: str) -> Signal:
        return pyrtl.Register(width, f"{self.name}_{name}")

    def _data(self, width: int, name: str) -> Signal:
        return DataRegister(width, f"{self.name}_{name}")

    def _memory(self, width: int, name: str) -> Any:  # noqa: ANN401  (PyRTL has no types)
        """Return a memory with a word for each row, which is read at the oldest row."""
        name, rows = f"{self.name}_{name}", self.parameters.row_bits
        if self.parameters.memory == REGISTERED:
            return AnnouncedSram(name, 1 << rows, width)
        return pyrtl.MemBlock(width, rows, name, asynchronous=True)

    def _write(self, memory: Any, row: Signal, word: Signal, enable: Signal) -> None:  # noqa: ANN401
        if isinstance(memory, AnnouncedSram):
            memory.write(row, word, enable)
        else:
            memory[row] <<= pyrtl.MemBlock.EnabledWrite(word, enable)

    def _oldest(self, memory: Any) -> Signal:  # noqa: ANN401
        """Return the word of the oldest row."""
        return memory.word() if isinstance(memory, AnnouncedSram) else memory[self.consumed]

    def receive(self, comes: Signal, place: Signal, line: Signal) -> None:
        """Write ``line`` into the row of its entry ``place`` if it ``comes`` in this cycle.

        The oldest lines that have all arrived become delivered.
        """
        oldest = self.delivered[: self.low]
        row = (self.delivered + (place - oldest)[: self.low])[: len(self.delivered)]
        self._write(self.lines, row, line, comes)
        here = [flag | (comes & (place == i)) for i, flag in enumerate(self.here)]
        # Entries from the oldest on, one-hot: a line is delivered only when all older lines have arrived.
        order = [decoded((oldest + i)[: self.low], len(here)) for i in range(len(here))]
        complete = all_up_to([chosen(list(at), here) for at in order])
        self._give_back(complete, [~chosen(list(at), self.ends) for at in order])
        leaves = reduce(or_, (unless(~done, at) for done, at in zip(complete, order, strict=True)))
        for flag, is_here, left in zip(self.here, here, leaves, strict=True):
            flag.next <<= is_here & ~left
        self.delivered.next <<= (self.delivered + ones_of(pyrtl.concat_list(complete)))[: len(self.delivered)]

    def _give_back(self, complete: Sequence[Signal], without: Sequence[Signal]) -> None:
        """Free the entries of delivered lines, and the slots reserved for stops that do not come.

        A slot for a stop is reserved for each line, but only the last line of a fiber has a stop. For a short
        critical path, ``_has_room`` tests each possible number of freed slots (``at_least``).
        """
        entries = (self.asked - self.delivered)[: len(self.asked)]
        self.has_entry = (entries != len(complete)) | complete[0]
        counts = ones_up_to(without)
        self.at_least = [
            any_of(
                f"{self.name}_without_{number}",
                [done & (count >= number) for done, count in zip(complete, counts, strict=True)],
            )
            for number in range(1, len(complete) + 1)
        ]
        self.now_used = (self.used - ones_of(pyrtl.concat_list(self.at_least)))[: len(self.used)]

    def turn_to(self, begins: Signal, word: Mapping[str, Signal], takes_part: Signal) -> None:
        """Select the fiber to request: that of a new task if ``begins`` is 1, else the current one.

        A way that does not take part in the new task gets an empty fiber. For a short critical path, the next
        line of both fibers is computed, and only the selection waits for ``begins``.
        """
        fibers = (self.first, self.end), (word["firsts"], word["ends"])
        held, coming = (_next_line(self.elements, *fiber) for fiber in fibers)
        may_ask, may_begin = (self._may_ask(line) for line in (held, coming))
        self.may_ask = alias(f"{self.name}_may_ask", may_ask)
        self.may_begin = alias(f"{self.name}_may_begin", takes_part & may_begin)
        coming |= {name: unless(~takes_part, coming[name]) for name in ("first", "end")}
        self.line = {name: pyrtl.select(begins, coming[name], held[name]) for name in held}
        self.end.next <<= self.line["end"]
        self.row = {name: self.line[name] for name in ("lane", "last", "ends")}
        for name in ("sources", "scales"):
            register = self._data(len(word[name]), name)
            self.row[name] = pyrtl.select(begins, word[name], register)
            register.next <<= self.row[name]

    def _may_ask(self, line: Mapping[str, Signal]) -> Signal:
        """Return whether there is a line to request, a free entry for it, and space for its tokens."""
        has_room = pyrtl.select(line["ends"], *(self._has_room(line[tokens]) for tokens in TOKEN_COUNTS))
        return (line["first"] != line["end"]) & self.has_entry & has_room

    def _has_room(self, tokens: Signal) -> Signal:
        needed, capacity = self.used + tokens, self.parameters.capacity
        with_stops = [flag & (needed <= capacity + i) for i, flag in enumerate(self.at_least, 1)]
        return reduce(or_, with_stops, needed <= capacity)

    def ask(self, asks: Signal) -> None:
        """Record the request of the next line, and what its elements share, while ``asks`` is 1."""
        number = self.line["number"]
        behind = pyrtl.concat((number + 1)[: len(number)], pyrtl.Const(0, self.elements.bits))
        then = pyrtl.select(self.line["ends"], self.line["end"], behind)
        self.first.next <<= pyrtl.select(asks, then, self.line["first"])
        self.asked.next <<= pyrtl.select(asks, (self.asked + 1)[: len(self.asked)], self.asked)
        for i, ends in enumerate(self.ends):
            ends.next <<= pyrtl.select(asks & (self.place == i), self.line["ends"], ends)
        word = packed(self.row)
        self.rows = self._memory(len(word), "rows")
        self._write(self.rows, self.asked, word, asks)
        self.asks = asks

    def give(self, way: OutputStream) -> Signal:
        """Offer the oldest delivered element, or the stop after it; return whether there is one."""
        stops, begun = self._register(1, "stops"), self._register(1, "begun")
        lane = self._data(self.elements.bits, "lane")
        row = unpacked(self._oldest(self.rows), self.row)
        at = pyrtl.select(begun, lane, row["lane"])
        shows = alias(f"{self.name}_shows", stops | (self.consumed != self.delivered))
        way.send(shows, blank_if_stop({"control": stops, **self._element(at, row)}))
        taken = alias(f"{self.name}_taken", shows & way.ready)
        leaves = taken & ~stops & (at == row["last"])
        self.consumed.next <<= (self.consumed + leaves)[: len(self.consumed)]
        for memory in (self.lines, self.rows):
            if isinstance(memory, AnnouncedSram):
                memory.announce(self.consumed.reg_in)
        stops.next <<= pyrtl.select(taken, leaves & row["ends"], stops)
        begun.next <<= pyrtl.select(taken & ~stops, ~leaves, begun)
        lane.next <<= pyrtl.select(taken, (at + 1)[: len(lane)], lane)
        left = (self.now_used - taken)[: len(self.used)]
        more = left + pyrtl.select(self.line["ends"], *(self.line[tokens] for tokens in TOKEN_COUNTS))
        self.used.next <<= pyrtl.select(self.asks, more, left)[: len(self.used)]
        return shows

    def _element(self, lane: Signal, row: Mapping[str, Signal]) -> dict[str, Signal]:
        """Return the fields of the element in a lane of the oldest line."""
        lanes = self.elements.lanes(self._oldest(self.lines))
        at = list(decoded(lane, len(lanes)))
        coordinate, value = (chosen(at, wires) for wires in zip(*lanes, strict=True))
        unscaled = pyrtl.Const(UNSCALED, INDEX_BITS, signed=True)
        reference = pyrtl.select(row["sources"][-1], unscaled, row["sources"])
        return {"coordinate": coordinate, "reference": reference, "value": value, SCALE: row["scales"]}


def _next_line(elements: Elements, first: Signal, end: Signal) -> dict[str, Signal]:
    """Return the first line of the elements ``first`` to ``end`` - 1; undefined without elements."""
    low, lane = elements.bits, first[: elements.bits]
    number, upper, last = first[low:], end[low:], (end[:low] - 1)[:low]
    is_last = pyrtl.select(end[:low] == 0, follows(upper, number), upper == number)
    full = pyrtl.Const(elements.count - 1, low)
    return {
        "first": first,
        "end": end,
        "number": number,
        "lane": lane,
        "last": pyrtl.select(is_last, last, full),
        "ends": is_last,
        **{
            name: (place - lane)[:low] + pyrtl.Const(2, 2)
            for name, place in zip(TOKEN_COUNTS, (last, full), strict=True)
        },
    }


def design(parameters: FiberReaderParameters, streams: Streams) -> None:
    """Build the reader: parallel ways, which begin a task together and request lines in round-robin order."""
    ways = [_Way(parameters, i) for i in range(parameters.radix)]
    _receive(parameters, streams, ways)
    unasked = any_of("unasked", [way.first != way.end for way in ways])
    begins = _begin(parameters, streams, ways, unasked)
    _ask(parameters, streams, ways, begins)
    shown = [way.give(streams.outputs[f"ways[{i}]"]) for i, way in enumerate(ways)]
    streams.show(PENDING, unasked | any_of("shown", shown))


def _receive(parameters: FiberReaderParameters, streams: Streams, ways: Sequence[_Way]) -> None:
    """Give each line to its way; a line never waits, as its request has reserved an entry and all slots."""
    replies = streams.inputs["replies"]
    replies.accept(pyrtl.Const(1, 1))
    tag, low = replies.fields["coordinate"], index_bits(parameters.buffer_lines)
    to = decoded(tag[low : low + index_bits(len(ways))], len(ways))
    for way, here in zip(ways, to, strict=True):
        way.receive(replies.valid & here, tag[:low], replies.fields[LINE])


def _begin(
    parameters: FiberReaderParameters, streams: Streams, ways: Sequence[_Way], unasked: Signal
) -> Signal:
    """Begin the next task if merger and writer accept it; return whether a task begins, not the end."""
    tasks = streams.inputs["tasks"]
    merge = streams.outputs["merge_tasks"]
    output = streams.outputs["output_tasks"]
    fields = tasks.fields
    is_end = fields["reference"][-1]
    may = alias("may_begin", ~unasked & (is_end | merge.ready))
    tasks.accept(may & output.ready)
    output.send(tasks.valid & may, {"reference": fields["reference"], OUTPUT: fields[OUTPUT]})
    begins = alias("begins", tasks.valid & may & output.ready & ~is_end)
    merge.send(tasks.valid & ~unasked & ~is_end & output.ready, {"coordinate": fields["count"]})
    for i, (way, word) in enumerate(zip(ways, parameters.tasks.words(fields), strict=True)):
        way.turn_to(begins, word, fields["count"] > i)
    return begins


def _ask(parameters: FiberReaderParameters, streams: Streams, ways: Sequence[_Way], begins: Signal) -> None:
    """Request a line for the first way that can, in round-robin order."""
    requests, memory = streams.outputs["requests"], parameters.memory_port
    held, coming = [way.may_ask for way in ways], [way.may_begin for way in ways]
    first, asks = _in_turn(begins, held, coming, requests.ready)
    for way, flag in zip(ways, first, strict=True):
        way.ask(flag & requests.ready)
    is_partial = chosen(first, [way.row["sources"][-1] for way in ways])
    upper = memory.address_bits - TENSOR_SHIFT
    tensor = pyrtl.select(
        is_partial, pyrtl.Const(parameters.partial_tensor, upper), pyrtl.Const(parameters.tensor, upper)
    )
    line = chosen(first, [way.line["number"] for way in ways])
    address = pyrtl.concat(tensor, line_offset(line, parameters.line_bytes))
    operation = pyrtl.select(is_partial, memory.operation(CONSUME), memory.operation(READ))
    numbers = [pyrtl.Const(i, index_bits(len(ways))) for i in range(len(ways))]
    tag = pyrtl.concat(chosen(first, numbers), chosen(first, [way.place for way in ways]))
    requests.send(asks, memory.token(operation, memory.tag(parameters.port, tag), address))


def _in_turn(
    begins: Signal, held: Sequence[Signal], coming: Sequence[Signal], ready: Signal
) -> tuple[list[Signal], Signal]:
    """Return the first way that can request a line, one-hot, in round-robin order; and whether there is any.

    After a request, the turn passes to the next way. When a task begins, way 0 comes first, and no way has
    lines of the previous task left to request.
    """
    turn: Signal = pyrtl.Register(index_bits(len(held)), "turn")
    last = (1 << len(turn)) - 1  # every turn is at most this number, so that a comparison is not needed
    behind = [flag if i == last else flag & (turn <= i) for i, flag in enumerate(held)]
    none_behind = ~any_of("behind", behind)
    first = [
        earlier | (none_behind & other) | (begins & new)
        for earlier, other, new in zip(lowest(behind), lowest(held), lowest(coming), strict=True)
    ]
    asks = any_of("may_ask", held) | (begins & any_of("may_begin", coming))
    following = [pyrtl.Const((i + 1) % len(held), len(turn)) for i in range(len(held))]
    turn.next <<= pyrtl.select(asks & ready, chosen(first, following), unless(begins, turn))
    return first, asks


BLOCK = unit(
    "fiber_reader",
    FiberReader,
    FiberReaderParameters,
    port_contents,
    design,
    status=(PENDING,),
    alone=False,
    listed=False,
    arbiters=("requests",),
)
