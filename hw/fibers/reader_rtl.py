"""The fiber reader as RTL, with the buffers of its ways: ``fiberscope.hw.fibers.reader.FiberReader`` and the
channels behind it, which a line of elements enters in one cycle.

A row of a way's buffer is a line, which comes whole; so no element is moved before a merger takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyrtl

from fiberscope.hw.fibers.merge_rtl import SCALE, WAYS, scaled
from fiberscope.hw.fibers.reader import FiberReader
from fiberscope.hw.fibers.tasks_rtl import (
    ELEMENTS,
    INDEX_BITS,
    NUMBER_BITS,
    OF_WRITER,
    OUTPUT,
    OfLines,
    Tasks,
    line_offset,
)
from fiberscope.hw.memory.protocol import CONSUME, READ, TENSOR_SHIFT
from fiberscope.hw.rtl.kit.arithmetic import value_type
from fiberscope.hw.rtl.kit.channel import CAPACITY, PENDING
from fiberscope.hw.rtl.kit.interface import Content, Field
from fiberscope.hw.rtl.kit.memory_port import LINE
from fiberscope.hw.rtl.kit.parameters import number, one_of
from fiberscope.hw.rtl.kit.trees import all_up_to, any_of, chosen, decoded, lowest, ones_of
from fiberscope.hw.rtl.kit.twin import (
    DataRegister,
    OutputStream,
    Signal,
    Streams,
    blank_if_stop,
    index_bits,
    named,
    packed,
    unless,
    unpacked,
)
from fiberscope.hw.rtl.kit.unit import Carried, Each, unit

UNSCALED = -1  # as of the component
TENSORS = (0, 7)


@dataclass(frozen=True)
class FiberReaderParameters(OfLines):
    """What a reader is made for.

    Args:
        radix: ways, 2 to 64.
        buffer_lines: lines of a way in flight, 2, 4 or 8.
        capacity: tokens in a way's buffer, those of lines in flight among them.
        line_bytes, element_bytes: a line has 2 elements at the least.
        port: number of the requests' port at the cache's network.
        tensor, partial_tensor: numbers of the operand and of the partial fibers.
        values: the type of all values.

    Raises:
        ValueError: for a number out of its range.
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

    @property
    def tasks(self) -> Tasks:
        """Those that come."""
        return Tasks(self.radix, self.value_field)

    @property
    def row_bits(self) -> int:
        """Of a row of a way's buffer.

        Only at a fiber's begin does a line have one element, behind which there is another line or a stop: so
        no two lines have less than three tokens.
        """
        return index_bits(max(2 * self.capacity // 3 + 2, 2 * self.buffer_lines))


def element_content(value: Field) -> Content:
    """An element in the pipeline, with its scale beside it."""
    return {
        "control": 1,
        "coordinate": NUMBER_BITS,
        "reference": INDEX_BITS,
        "value": value,
        **scaled(value.width),
    }


def carried(parameters: FiberReaderParameters) -> Carried:
    """Tasks with their fibers, lines, and what leaves for merger and writer."""
    return {
        "tasks": parameters.tasks.content,
        "requests": parameters.memory.stream("requests", "output"),
        "replies": parameters.memory.tags("replies", "input"),
        "ways": Each(element_content(parameters.value_field), parameters.radix),
        "merge_tasks": {"coordinate": parameters.radix.bit_length()},
        "output_tasks": {"reference": INDEX_BITS, **OF_WRITER},
    }


class _Way:
    """The fiber that a way asks for, the lines that are in flight, and those that are here."""

    def __init__(self, parameters: FiberReaderParameters, index: int) -> None:
        self.given, self.elements, self.name = parameters, parameters.elements, f"way_{index:02}"
        rows, lines = parameters.row_bits, parameters.buffer_lines
        self.asked, self.delivered, self.consumed = (
            self._register(rows, place) for place in ("asked", "delivered", "consumed")
        )
        self.used = self._register(parameters.capacity.bit_length(), "used")  # tokens, with those to come
        self.first, self.end = (self._register(INDEX_BITS, name) for name in ("first", "end"))
        self.here = [self._register(1, f"here_{place}") for place in range(lines)]
        self.ends = [self._data(1, f"ends_{place}") for place in range(lines)]
        self.lines = pyrtl.MemBlock(8 * parameters.line_bytes, rows, f"{self.name}_lines", asynchronous=True)
        self.low = index_bits(lines)
        self.place = self.asked[: self.low]  # the entry for the next line
        self.unasked = self.first != self.end

    def _register(self, width: int, name: str) -> Signal:
        return pyrtl.Register(width, f"{self.name}_{name}")

    def _data(self, width: int, name: str) -> Signal:
        return DataRegister(width, f"{self.name}_{name}")

    def receive(self, comes: Signal, place: Signal, line: Signal) -> None:
        """Take a line into its row; those that are the oldest and here count as delivered."""
        oldest = self.delivered[: self.low]
        row = (self.delivered + (place - oldest)[: self.low])[: len(self.delivered)]
        self.lines[row] <<= pyrtl.MemBlock.EnabledWrite(line, comes)
        here = [flag | (comes & (place == i)) for i, flag in enumerate(self.here)]
        order = [decoded((oldest + i)[: self.low], len(here)) for i in range(len(here))]
        complete = all_up_to([chosen(list(at), here) for at in order])
        # A stop was reckoned for each line, and but for the last of a fiber none comes.
        without = [done & ~chosen(list(at), self.ends) for done, at in zip(complete, order, strict=True)]
        self.now_delivered = (self.delivered + ones_of(pyrtl.concat_list(complete)))[: len(self.delivered)]
        self.now_used = (self.used - ones_of(pyrtl.concat_list(without)))[: len(self.used)]
        leaves = reduce(or_, (unless(~done, at) for done, at in zip(complete, order, strict=True)))
        for flag, is_here, left in zip(self.here, here, leaves, strict=True):
            flag.next <<= is_here & ~left
        self.delivered.next <<= self.now_delivered

    def turn_to(self, begins: Signal, word: Mapping[str, Signal], takes_part: Signal) -> None:
        """Make a fiber the one to ask for; a way that takes no part in a task has one without elements."""
        bounds = {name: unless(~takes_part, word[name]) for name in ("firsts", "ends")}
        self.now_first = pyrtl.select(begins, bounds["firsts"], self.first)
        self.now_end = pyrtl.select(begins, bounds["ends"], self.end)
        self.end.next <<= self.now_end
        self.fiber = {}
        for name in ("sources", "scales"):
            register = self._data(len(word[name]), name)
            self.fiber[name] = pyrtl.select(begins, word[name], register)
            register.next <<= self.fiber[name]
        self._turn_to_line()

    def _turn_to_line(self) -> None:
        """The line to ask for, and what of it belongs to the fiber."""
        low, last = self.elements.bits, (self.now_end - 1)[:INDEX_BITS]
        self.number = self.now_first[low:]
        is_last = named(f"{self.name}_is_last", self.number == last[low:])
        behind = pyrtl.select(is_last, last[:low], pyrtl.Const(self.elements.count - 1, low))
        self.row = {"lane": self.now_first[:low], "last": behind, "ends": is_last, **self.fiber}
        count = (behind - self.row["lane"])[:low].zero_extended(low + 2)
        self.tokens = (count + 2)[: low + 2]  # with a stop

    @property
    def may_ask(self) -> Signal:
        """Whether it has a line to ask for, an entry for it, and room for its tokens."""
        entries = (self.asked - self.now_delivered)[: len(self.asked)]
        has_room = (entries < self.given.buffer_lines) & (self.now_used + self.tokens <= self.given.capacity)
        return named(f"{self.name}_may_ask", (self.now_first != self.now_end) & has_room)

    def ask(self, asks: Signal) -> None:
        """Note a line as asked for."""
        is_last = self.row["ends"]
        behind = pyrtl.concat((self.number + 1)[: len(self.number)], pyrtl.Const(0, self.elements.bits))
        moved = pyrtl.select(is_last, self.now_end, behind)
        self.first.next <<= pyrtl.select(asks, moved, self.now_first)
        self.asked.next <<= (self.asked + asks)[: len(self.asked)]
        for i, ends in enumerate(self.ends):
            ends.next <<= pyrtl.select(asks & (self.place == i), is_last, ends)
        word = packed(self.row)
        self.rows = pyrtl.MemBlock(len(word), len(self.asked), f"{self.name}_rows", asynchronous=True)
        self.rows[self.asked] <<= pyrtl.MemBlock.EnabledWrite(word, asks)
        self.more = named(f"{self.name}_more", unless(~asks, self.tokens))

    def give(self, way: OutputStream) -> Signal:
        """Show the oldest element that is here, or the stop behind it; says whether there is any."""
        stops, begun = self._register(1, "stops"), self._register(1, "begun")
        lane = self._data(self.elements.bits, "lane")
        row = unpacked(self.rows[self.consumed], self.row)
        at = pyrtl.select(begun, lane, row["lane"])
        shows = named(f"{self.name}_shows", stops | (self.consumed != self.delivered))
        way.send(shows, blank_if_stop({"control": stops, **self._element(at, row)}))
        taken = named(f"{self.name}_taken", shows & way.ready)
        leaves = taken & ~stops & (at == row["last"])
        self.consumed.next <<= (self.consumed + leaves)[: len(self.consumed)]
        stops.next <<= pyrtl.select(taken, leaves & row["ends"], stops)
        begun.next <<= pyrtl.select(taken & ~stops, ~leaves, begun)
        lane.next <<= pyrtl.select(taken, (at + 1)[: len(lane)], lane)
        self.used.next <<= (self.now_used + self.more - taken)[: len(self.used)]
        return shows

    def _element(self, lane: Signal, row: Mapping[str, Signal]) -> dict[str, Signal]:
        """An element of the oldest line."""
        lanes = self.elements.lanes(self.lines[self.consumed])
        at = list(decoded(lane, len(lanes)))
        coordinate, value = (chosen(at, wires) for wires in zip(*lanes, strict=True))
        unscaled = pyrtl.Const(UNSCALED, INDEX_BITS, signed=True)
        reference = pyrtl.select(row["sources"][-1], unscaled, row["sources"])
        return {"coordinate": coordinate, "reference": reference, "value": value, SCALE: row["scales"]}


def design(parameters: FiberReaderParameters, between: Streams) -> None:
    """Ways side by side, which begin a task together and ask in turn."""
    ways = [_Way(parameters, i) for i in range(parameters.radix)]
    _receive(parameters, between, ways)
    unasked = any_of("unasked", [way.unasked for way in ways])
    begins = _begin(parameters, between, ways, unasked)
    _ask(parameters, between, ways, begins)
    shown = [way.give(between.outputs[f"ways[{i}]"]) for i, way in enumerate(ways)]
    between.show(PENDING, unasked | any_of("shown", shown))


def _receive(parameters: FiberReaderParameters, between: Streams, ways: Sequence[_Way]) -> None:
    replies = between.inputs["replies"]
    replies.accept(pyrtl.Const(1, 1))
    tag, low = replies.fields["coordinate"], index_bits(parameters.buffer_lines)
    to = decoded(tag[low : low + index_bits(len(ways))], len(ways))
    for way, here in zip(ways, to, strict=True):
        way.receive(replies.valid & here, tag[:low], replies.fields[LINE])


def _begin(
    parameters: FiberReaderParameters, between: Streams, ways: Sequence[_Way], unasked: Signal
) -> Signal:
    """Turn to the next task, if merger and writer can be told; says whether one with fibers begins."""
    tasks, merge, output = (
        between.inputs["tasks"],
        between.outputs["merge_tasks"],
        between.outputs["output_tasks"],
    )
    fields = tasks.fields
    is_end = fields["reference"][-1]
    may = named("may_begin", ~unasked & (is_end | merge.ready))
    tasks.accept(may & output.ready)
    output.send(tasks.valid & may, {"reference": fields["reference"], OUTPUT: fields[OUTPUT]})
    begins = named("begins", tasks.valid & may & output.ready & ~is_end)
    merge.send(tasks.valid & ~unasked & ~is_end & output.ready, {"coordinate": fields["count"]})
    for i, (way, word) in enumerate(zip(ways, parameters.tasks.words(fields), strict=True)):
        way.turn_to(begins, word, fields["count"] > i)
    return begins


def _ask(parameters: FiberReaderParameters, between: Streams, ways: Sequence[_Way], begins: Signal) -> None:
    """Ask for a line of the next way in turn that may."""
    requests, memory = between.outputs["requests"], parameters.memory
    first, asks = _in_turn(begins, [way.may_ask for way in ways], requests.ready)
    for way, flag in zip(ways, first, strict=True):
        way.ask(flag & requests.ready)
    is_partial = chosen(first, [way.fiber["sources"][-1] for way in ways])
    upper = memory.address_bits - TENSOR_SHIFT
    tensor = pyrtl.select(
        is_partial, pyrtl.Const(parameters.partial_tensor, upper), pyrtl.Const(parameters.tensor, upper)
    )
    line = chosen(first, [way.number for way in ways])
    address = pyrtl.concat(tensor, line_offset(line, parameters.line_bytes))
    operation = pyrtl.select(is_partial, memory.operation(CONSUME), memory.operation(READ))
    numbers = [pyrtl.Const(i, index_bits(len(ways))) for i in range(len(ways))]
    tag = pyrtl.concat(chosen(first, numbers), chosen(first, [way.place for way in ways]))
    requests.send(asks, memory.token(operation, memory.tag(parameters.port, tag), address))


def _in_turn(begins: Signal, may: Sequence[Signal], ready: Signal) -> tuple[list[Signal], Signal]:
    """The first way that may, from the one whose turn it is on, and whether there is any.

    The turn passes to the way behind it once that has asked, and to the first when a task begins.
    """
    turn: Signal = pyrtl.Register(index_bits(len(may)), "turn")
    now = unless(begins, turn)
    last = (1 << len(now)) - 1  # which every turn comes to
    behind = [flag if i == last else flag & (now <= i) for i, flag in enumerate(may)]
    asks, none_behind = any_of("may_ask", may), ~any_of("behind", behind)
    first = [one | (none_behind & other) for one, other in zip(lowest(behind), lowest(may), strict=True)]
    following = [pyrtl.Const((i + 1) % len(may), len(turn)) for i in range(len(may))]
    turn.next <<= pyrtl.select(asks & ready, chosen(first, following), now)
    return first, asks


BLOCK = unit(
    "fiber_reader",
    FiberReader,
    FiberReaderParameters,
    carried,
    design,
    status=(PENDING,),
    alone=False,
    listed=False,
)
