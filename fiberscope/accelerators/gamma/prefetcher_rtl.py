"""The prefetcher as RTL: the twin of ``fiberscope.accelerators.gamma.prefetcher.Prefetcher``.

Row pointers are extracted from their lines when these arrive. A copy of the line requested last is kept for
later inputs whose pointers are in the same line. A nonempty fiber moves to the first free place, so that the
ways of the reader are contiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyrtl

from fiberscope.accelerators.gamma.layout import B_POINTERS, PARTIAL, B
from fiberscope.accelerators.gamma.pointer_window_rtl import PointerWindow
from fiberscope.accelerators.gamma.prefetcher import Prefetcher
from fiberscope.hw.fibers.merge_rtl import WAYS
from fiberscope.hw.fibers.tasks_rtl import (
    ELEMENTS,
    INDEX_BITS,
    INPUT_FIELDS,
    OUTPUT,
    LineParameters,
    Tasks,
    line_offset,
)
from fiberscope.hw.memory.protocol import FETCH, READ, TENSOR_SHIFT
from fiberscope.hw.rtl.kit.arithmetic import value_type
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import Stream
from fiberscope.hw.rtl.kit.memory_port import LINE
from fiberscope.hw.rtl.kit.parameters import number, one_of
from fiberscope.hw.rtl.kit.trees import all_up_to, any_of, chosen, count_of, decoded, follows
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, index_bits, unless
from fiberscope.hw.rtl.kit.unit import PortContents, unit

ENDS = ("firsts", "ends")  # words of an input that hold its row's two pointers
POINTER_BYTES = 4  # bytes of a row pointer, which is the number of an element
WINDOWS = (2, 4, 8, 16, 32)  # powers of two, so that slots wrap around without logic


@dataclass(frozen=True)
class PrefetcherParameters(LineParameters):
    """Parameters of a prefetcher.

    Args:
        radix: largest number of fibers that a task combines, 2 to 64.
        pointer_lines: largest number of reads of row pointers in flight, a power of two from 2 to 32.
        line_bytes, element_bytes: bytes of a line and of an element; a line has at least 2 elements.
        port: number of the requests' port at the FiberCache's network.
        queue: capacity of the requests' channel, whose emptiness the prefetcher sees.
        fetching: whether to fetch at all, 0 or 1.
        values: the type of all values.
    """

    radix: int = number(8, *WAYS)
    pointer_lines: int = one_of(16, *WINDOWS)
    line_bytes: int = one_of(64, 32, 64, 128)
    element_bytes: int = one_of(8, *ELEMENTS)
    port: int = number(0, 0, 1023)
    queue: int = number(4, 2, 1024)
    fetching: int = number(1, 0, 1)
    values: str = value_type()

    @property
    def tasks(self) -> Tasks:
        """Return the format of task tokens."""
        return Tasks(self.radix, self.value_field)

    @property
    def row_bits(self) -> int:
        """Width of a row pointer's index in its line."""
        return index_bits(self.line_bytes // POINTER_BYTES)

    @property
    def slot_bits(self) -> int:
        """Width of the number of a window slot."""
        return index_bits(self.pointer_lines)

    @property
    def sent_bits(self) -> int:
        """Width of the number of a task's lines of row pointers, at most two for each input."""
        return (2 * self.radix).bit_length()

    @property
    def drained(self) -> str:
        """Name of the requests' last lane, which carries no token and is ready if their channel is empty."""
        return f"requests.{self.queue - 1}"


def port_contents(parameters: PrefetcherParameters) -> PortContents:
    """Return the contents of all ports; tasks arrive with rows of B and leave with the extents of fibers."""
    tasks = parameters.tasks.content
    return {
        "tasks": tasks,
        "requests": parameters.memory_port.stream("requests", "output"),
        parameters.drained: Stream(parameters.drained, "drained", "output", {}),
        "replies": parameters.memory_port.tags("replies", "input"),
        "prefetched": tasks,
    }


@dataclass(frozen=True)
class _Line:
    """The line of row pointers requested last.

    Args:
        asked: 1 if there is such a line.
        number: number of the line.
        slot: slot of its request.
        is_here: 1 if the line has arrived.
    """

    asked: Signal
    number: Signal
    slot: Signal
    is_here: Signal


class _Input:
    """State of an input: its words, and the row pointers that have not arrived yet, with their slots.

    A task that begins has requested no row pointers. The logic that receives them therefore reads registers
    only, not the arriving task.
    """

    def __init__(self, parameters: PrefetcherParameters, index: int) -> None:
        name = f"input_{index:02}"
        self.index, self.row_bits = index, parameters.row_bits
        self.words = {
            word: DataRegister(width, f"{name}_{word}") for word, width in parameters.tasks.widths.items()
        }
        self.row: Signal = DataRegister(self.row_bits, f"{name}_row")  # place of its pointer in a line
        self.needed: Signal = DataRegister(parameters.sent_bits, f"{name}_needed")  # lines to look up
        self.slots = {end: DataRegister(parameters.slot_bits, f"{name}_{end}_slot") for end in ENDS}
        self.waits = {end: pyrtl.Register(1, f"{name}_{end}_waits") for end in ENDS}

    def begin(self, working: Signal, word: dict[str, Signal]) -> None:
        """Select the input's words: from a task that begins, or from registers and the arriving line."""
        low = self.row_bits
        self.now = {name: pyrtl.select(working, self.fetched[name], word[name]) for name in INPUT_FIELDS}
        self.found = dict(self.now)
        # Until its pointers arrive, ``firsts`` holds the number of a row: above ``low`` bits, the line of its
        # pointer, below, the place in this line. ``row`` keeps the place when a pointer replaces the number.
        self.row.next <<= pyrtl.select(working, self.row, word["firsts"][:low])
        self.is_partial = self.now["sources"][-1]
        self.line = pyrtl.select(working, self.words["firsts"][low:], word["firsts"][low:])  # of its pointers

    def compare(self, number: Signal) -> None:
        """Compare the lines of the input's two pointers with the line requested last."""
        line = self.words["firsts"][self.row_bits :]
        self.begins_there = line == number
        is_last = self.row == (1 << self.row_bits) - 1  # its second pointer is in the next line
        self.ends_there = pyrtl.select(is_last, follows(number, line), self.begins_there)

    def receive(self, comes: Signal, slot: Signal, line: Sequence[Signal], copy: Sequence[Signal]) -> None:
        """Extract row pointers from an arriving line, if the input waits for this line."""
        self.at = list(decoded(self.row, len(line)))
        coming, self.copied = (_pointers(self.at, words) for words in (line, copy))
        self.takes = {end: comes & self.waits[end] & (self.slots[end] == slot) for end in ENDS}
        self.fetched = dict(self.words)
        for end, takes in self.takes.items():
            self.fetched[end] = pyrtl.select(takes, coming[end], self.words[end])
            self.waits[end] = _Waiting(self.waits[end], takes)

    def locate(
        self, moves: Signal, is_new: Signal, takes: dict[str, Signal], line: _Line, sent: Signal
    ) -> None:
        """Extract row pointers from the copy of the line requested last, or wait for this line."""
        self.needed.next <<= pyrtl.select(moves & is_new, sent, self.needed)
        for end in ENDS:
            copies = moves & (takes[end] & line.is_here)
            self.found[end] = pyrtl.select(copies, self.copied[end], self.found[end])
            self.slots[end].next <<= pyrtl.select(moves & takes[end], line.slot, self.slots[end])
            self.waits[end].settle(moves & (takes[end] & ~line.is_here))

    def keep(self, moves: Signal, words: dict[str, Signal]) -> None:
        """Store the words of this input, or of the input that moves to this place."""
        for name, register in self.words.items():
            register.next <<= pyrtl.select(moves, words[name], self.found[name])


class _Waiting:
    """State of a row pointer: whether it is awaited."""

    def __init__(self, register: Signal, comes: Signal) -> None:
        self.register, self.comes = register, comes

    def settle(self, begins: Signal) -> None:
        """Set the flag if ``begins`` is 1, and clear it when the pointer arrives."""
        self.register.next <<= begins | (self.register & ~self.comes)


def _words(line: Signal) -> list[Signal]:
    """Return the row pointers of a line."""
    return [line[low : low + INDEX_BITS] for low in range(0, len(line), INDEX_BITS)]


def _pointers(at: Sequence[Signal], words: Sequence[Signal]) -> dict[str, Signal]:
    """Return the row pointer at a place of a line as begin, and the next one, cyclically, as end."""
    # The end of the last row of a line is in word 0 of the next line
    return {"firsts": chosen(at, words), "ends": chosen(at, [*words[1:], words[0]])}


def design(parameters: PrefetcherParameters, between: Streams) -> None:
    """Build the logic: a task in registers, whose inputs are located and then fetched in order."""
    _Design(parameters, between).connect()


class _Design:
    """Logic of one cycle, in the order of the component's steps."""

    def __init__(self, parameters: PrefetcherParameters, between: Streams) -> None:
        self.parameters, self.between = parameters, between
        self.inputs = [_Input(parameters, i) for i in range(parameters.radix)]
        self.requests, self.memory = between.outputs["requests"], parameters.memory_port
        count = parameters.radix.bit_length()
        self.working: Signal = pyrtl.Register(1, "working")
        self.places = {name: DataRegister(count, name) for name in ("located", "fetched", "ways")}
        self.places |= {name: DataRegister(1, name) for name in ("known", "crosses", "asked")}

    def connect(self) -> None:
        """Build the logic of the prefetcher."""
        self._begin()
        self._receive()
        self._fetch()
        self._locate()
        self._request()
        self._hand_on()
        self.between.show(PENDING, self.working)

    def _begin(self) -> None:
        """Select the task in the registers, or the task that arrives."""
        tasks = self.between.inputs["tasks"]
        tasks.accept(~self.working)
        kept = {
            name: DataRegister(len(tasks.fields[name]), f"task_{name}")
            for name in ("reference", "count", OUTPUT)
        }
        self.task = {name: pyrtl.select(self.working, kept[name], tasks.fields[name]) for name in kept}
        for name, register in kept.items():
            register.next <<= self.task[name]
        self.words = self.parameters.tasks.words(tasks.fields)
        self.now = {name: unless(~self.working, place) for name, place in self.places.items()}
        self.active = alias("active", self.working | tasks.valid)
        # A negative reference is the end of all work
        finished = self.task["reference"][-1] | (self.now["fetched"] == self.task["count"])
        self.ends = alias("ends", self.active & finished)
        self.runs = alias("runs", self.active & ~finished)
        self.goes = alias("goes", self.runs & self.requests.ready)

    def _receive(self) -> None:
        """Receive a line of row pointers."""
        replies = self.between.inputs["replies"]
        replies.accept(self.runs)
        comes = alias("comes", self.runs & replies.valid)
        slot, line = replies.fields["coordinate"][: self.parameters.slot_bits], replies.fields[LINE]
        parameters = self.parameters
        self.window = PointerWindow(parameters.pointer_lines, parameters.sent_bits, comes, slot, self.ends)
        self.number: Signal = DataRegister(INDEX_BITS - parameters.row_bits, "asked_line")
        self.slot: Signal = DataRegister(parameters.slot_bits, "asked_slot")
        self.is_here: Signal = DataRegister(1, "asked_here")
        copy: Signal = DataRegister(8 * parameters.line_bytes, "asked_copy")
        mine = alias("asked_comes", comes & (slot == self.slot))
        self.line_words = _words(line)
        seen = pyrtl.select(mine, line, copy)
        copy.next <<= seen
        # An input waits for pointers only while ``runs`` is 1: ``receive`` needs no more than ``valid``
        for row, word in zip(self.inputs, self.words, strict=True):
            row.receive(replies.valid, slot, self.line_words, _words(seen))
            row.begin(self.working, word)
            row.compare(self.number)
        self.last = _Line(self.now["asked"], self.number, self.slot, self.is_here | mine)

    def _fetch(self) -> None:
        """Select the next line of the first input that is not fetched in full."""
        elements, places = self.parameters.elements, self.places
        at = list(decoded(places["fetched"], len(self.inputs)))
        needed = chosen(at, [row.needed for row in self.inputs])
        is_located = self.working & (places["fetched"] != places["located"])
        self.fetches = alias("fetches", is_located & self.window.has_arrived(needed))
        self.fiber = {name: chosen(at, [row.words[name] for row in self.inputs]) for name in INPUT_FIELDS}
        place = [chosen(at, flags) for flags in zip(*(row.at for row in self.inputs), strict=True)]
        # Pointers that arrive in this cycle are not in the registers yet
        for end, pointer in _pointers(place, self.line_words).items():
            takes = chosen(at, [row.takes[end] for row in self.inputs])
            self.fiber[end] = pyrtl.select(takes, pointer, self.fiber[end])
        line: Signal = DataRegister(INDEX_BITS - elements.bits, "line")
        start, end = self.fiber["firsts"], self.fiber["ends"]
        self.is_fiber = alias("is_fiber", end > start)
        first = start[elements.bits :]
        self.line = pyrtl.select(places["known"], line, first)
        self.sends = self.fetches & self.is_fiber & self.parameters.fetching
        # ``known``: the register ``line`` holds the next line of the fiber; otherwise the fiber begins
        is_last = pyrtl.select(places["known"], elements.ends_in(line, end), elements.ends_in(first, end))
        fetches = self.goes & self.fetches
        line.next <<= pyrtl.select(fetches, (self.line + 1)[: len(line)], self.line)
        self.done = alias("done", fetches & (~self.sends | is_last))
        self._note("known", pyrtl.select(fetches, ~self.done, self.now["known"]))
        # Only nonempty fibers use a way, so that ``ways`` stays at most ``fetched``
        for name, moves in (("fetched", self.done), ("ways", self.done & self.is_fiber)):
            number = self.now[name]
            self._note(name, pyrtl.select(moves, (number + 1)[: len(number)], number))

    def _note(self, name: str, wire: Signal) -> None:
        self.places[name].next <<= wire

    def _locate(self) -> None:
        """Compute how far inputs are located, and which line of row pointers is requested next."""
        now, count, last = self.now, self.task["count"], self.last
        is_before = [now["located"] > row.index for row in self.inputs]
        is_input = [count > row.index for row in self.inputs]
        is_located = [
            self._is_found(row) | before for row, before in zip(self.inputs, is_before, strict=True)
        ]
        # All inputs up to the first input that lacks a line, which ``seeks`` marks one-hot
        done = all_up_to([flag & here for flag, here in zip(is_located, is_input, strict=True)])
        missing = [here & ~flag for flag, here in zip(is_located, is_input, strict=True)]
        seeks = [before & ~flag for before, flag in zip([pyrtl.Const(1, 1), *done], done, strict=False)]
        # One request a cycle: a fetch comes before a read of row pointers
        self.locates = alias("locates", self.runs & ~self.fetches & self.window.room)
        is_missing = any_of("missing", missing)
        self.asks = alias("asks", self.locates & is_missing)
        moves = alias("moves", self.locates & self.requests.ready)
        self._note("located", pyrtl.select(moves, count_of(done)[: len(count)], now["located"]))
        # The first pointer of the sought input is in the line requested last, its second in the next line
        crosses = alias("crosses_here", last.asked & chosen(seeks, [row.begins_there for row in self.inputs]))
        behind = (last.number + 1)[: len(last.number)]
        self.wanted = pyrtl.select(crosses, behind, chosen(seeks, [row.line for row in self.inputs]))
        self._note("crosses", pyrtl.select(moves, is_missing & crosses, now["crosses"]))
        for row, flag, before, seek in zip(self.inputs, done, is_before, seeks, strict=True):
            is_new = flag & ~before
            ends = is_new & ~row.is_partial
            begins = (ends & ~self._crosses(row)) | (is_missing & crosses & seek)
            row.locate(moves, is_new, {"firsts": begins, "ends": ends}, last, self.window.sent)
            # A fiber moves to place ``ways``, whose own input has been fetched in full
            row.keep(self.done & self.is_fiber & (now["ways"] == row.index), self.fiber)

    def _is_found(self, row: _Input) -> Signal:
        """Return whether all lines of an input's row pointers were requested, if those before it were."""
        return row.is_partial | self._crosses(row) | (self.last.asked & row.ends_there)

    def _crosses(self, row: _Input) -> Signal:
        """Return whether this is the input whose pointers lie in two lines, both of which were requested."""
        return self.now["crosses"] & (self.now["located"] == row.index)

    def _request(self) -> None:
        """Send a fetch or a read of row pointers."""
        memory, slot = self.memory, self.window.next_slot
        asks = self.asks & self.requests.ready
        self.window.send(asks)
        self._note("asked", asks | self.now["asked"])
        self.number.next <<= pyrtl.select(asks, self.wanted, self.number)
        self.slot.next <<= pyrtl.select(asks, slot, self.slot)
        # A line that is requested now has not arrived
        self.is_here.next <<= ~asks & self.last.is_here
        size = self.parameters.line_bytes
        fetched, asked = line_offset(self.line, size), line_offset(self.wanted, size)
        tensor = pyrtl.select(self.fiber["sources"][-1], self._tensor(PARTIAL), self._tensor(B))
        address = pyrtl.select(
            self.sends, pyrtl.concat(tensor, fetched), pyrtl.concat(self._tensor(B_POINTERS), asked)
        )
        operation = pyrtl.select(self.sends, memory.operation(FETCH), memory.operation(READ))
        token = memory.token(operation, memory.tag(self.parameters.port, unless(self.sends, slot)), address)
        self.requests.send((self.runs & self.sends) | self.asks, token)
        # The lane carries no token: it shows at ``ready`` whether the channel is empty
        self.between.outputs[self.parameters.drained].send(pyrtl.Const(0, 1), {})

    def _tensor(self, number: int) -> Signal:
        return pyrtl.Const(number, self.memory.address_bits - TENSOR_SHIFT)

    def _hand_on(self) -> None:
        """Pass the task on once the last fetch has left."""
        prefetched, drained = (
            self.between.outputs["prefetched"],
            self.between.outputs[self.parameters.drained],
        )
        words = {name: pyrtl.concat_list([row.now[name] for row in self.inputs]) for name in INPUT_FIELDS}
        offers = self.ends & drained.ready
        prefetched.send(offers, {**self.task, **words, "count": self.now["ways"]})
        self.working.next <<= self.active & ~(offers & prefetched.ready)


BLOCK = unit(
    "prefetcher",
    Prefetcher,
    PrefetcherParameters,
    port_contents,
    design,
    status=(PENDING,),
    alone=False,
    listed=False,
    arbiters=("requests",),
)
