"""The fiber writer as RTL: the twin of ``fiberscope.accelerators.gamma.writer.FiberWriter``."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.accelerators.gamma.layout import PARTIAL, Z
from fiberscope.accelerators.gamma.writer import FiberWriter
from fiberscope.hw.fibers.tasks_rtl import (
    ELEMENTS,
    INDEX_BITS,
    NUMBER_BITS,
    OUTPUT,
    WRITER_FIELDS,
    Elements,
    LineParameters,
    line_offset,
)
from fiberscope.hw.memory.protocol import TENSOR_SHIFT, WRITE, WRITE_THROUGH, WRITE_UNREAD
from fiberscope.hw.rtl.kit.arithmetic import value_type
from fiberscope.hw.rtl.kit.channel import PENDING, following
from fiberscope.hw.rtl.kit.interface import Content, Field, Payload
from fiberscope.hw.rtl.kit.memory_port import MemoryPort
from fiberscope.hw.rtl.kit.parameters import check_range, number, one_of
from fiberscope.hw.rtl.kit.trees import chosen, decoded
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, index_bits, unless
from fiberscope.hw.rtl.kit.unit import PortContents, unit

LENGTH = "length"  # further field of a completion: number of elements of the fiber
PAGES = tuple(1 << bits for bits in range(5, 21))  # supported sizes of a page in bytes
LINES_BITS = 16  # width of the number of a fiber's unacknowledged lines


@dataclass(frozen=True)
class FiberWriterParameters(LineParameters):
    """Parameters of a writer.

    Args:
        line_bytes, element_bytes: bytes of a line and of an element; a line has at least 2 elements.
        page_bytes: bytes of a page of Z, a power of two and at least a line.
        finishing: largest number of tasks that have begun and are not announced, 1 to 64.
        keeps_z_in_cache: whether rows of Z stay in the FiberCache, 0 or 1.
        port: number of the requests' port at the FiberCache's network.
        values: the type of all values.
    """

    line_bytes: int = one_of(64, 32, 64, 128)
    element_bytes: int = one_of(8, *ELEMENTS)
    page_bytes: int = one_of(4096, *PAGES)
    finishing: int = number(8, 1, 64)
    keeps_z_in_cache: int = number(0, 0, 1)
    port: int = number(2, 0, 1023)
    values: str = value_type()

    def __post_init__(self) -> None:
        """Reject pages that are smaller than a line."""
        super().__post_init__()
        check_range("fiber_writer", "page_bytes", self.page_bytes, self.line_bytes, 1 << 20)

    @property
    def page_lines_bits(self) -> int:
        """Width of a line's index in its page; at least one."""
        return index_bits(self.page_bytes // self.line_bytes)


def port_contents(parameters: FiberWriterParameters) -> PortContents:
    """Return the contents of all ports; a task carries whether its output is partial and where it begins."""
    task: Content = {"reference": INDEX_BITS}
    return {
        "output_tasks": {**task, **WRITER_FIELDS},
        "elements": {"control": 1, "coordinate": NUMBER_BITS, "value": parameters.value_field},
        "requests": parameters.memory_port.stream("requests", "output"),
        "replies": MemoryPort().tags("replies", "input"),
        "completions": {**task, LENGTH: Payload(INDEX_BITS)},
        "page_requests": {"control": 1},
        "pages": {"reference": Field("reference", INDEX_BITS, "unsigned")},
    }


class _Pages:
    """The current page of Z and the next one."""

    def __init__(self, parameters: FiberWriterParameters, between: Streams) -> None:
        self.between, pages = between, between.inputs["pages"]
        # A page is requested first and when the next page becomes the current one: it always has space
        pages.accept(pyrtl.Const(1, 1))
        self.page, following_page = (DataRegister(INDEX_BITS, name) for name in ("page", "next_page"))
        self.is_held: Signal = pyrtl.Register(1, "page_given")
        self.asked: Signal = pyrtl.Register(1, "page_asked")
        self.line: Signal = pyrtl.Register(parameters.page_lines_bits, "page_line")
        self.turned: Signal = pyrtl.Register(1, "page_turned")  # the next line is in the current page
        self.next_page = pyrtl.select(pages.valid, pages.fields["reference"], following_page)
        following_page.next <<= self.next_page
        self.has_next = self.is_held | pages.valid
        self.lines = parameters.page_bytes // parameters.line_bytes
        may_ask = between.outputs["page_requests"].ready  # always 1 once the previous page has arrived
        self.has_page = alias("has_page", self.turned | (self.has_next & may_ask))
        self.now_page = pyrtl.select(self.turned, self.page, self.next_page)

    def move(self, opens: Signal, sends: Signal, fills: Signal) -> None:
        """Request a page when the first row begins, and when the next page becomes the current one."""
        first, turns = opens & ~self.asked, alias("turns", sends & ~self.turned)
        self.between.outputs["page_requests"].send(first | turns, {"control": pyrtl.Const(0, 1)})
        self.asked.next <<= self.asked | opens
        self.is_held.next <<= self.has_next & ~turns
        self.page.next <<= pyrtl.select(sends, self.now_page, self.page)
        moved = sends & fills
        self.line.next <<= pyrtl.select(moved, following(self.line, self.lines), self.line)
        is_last = self.line == self.lines - 1
        self.turned.next <<= pyrtl.select(sends, ~(fills & is_last), self.turned)


class _Packer:
    """A line buffer that elements fill one after another."""

    def __init__(self, elements: Elements, name: str) -> None:
        self.elements, self.name = elements, name
        self.place: Signal = pyrtl.Register(elements.bits, f"{name}_place")
        # The last element of a line leaves as it arrives, and needs no register
        self.held = [
            DataRegister(8 * elements.element_bytes, f"{name}_{i:02}") for i in range(elements.count - 1)
        ]

    def move(self, place: Signal, takes: Signal, element: Signal) -> None:
        """Store an element at this place if ``takes`` is 1."""
        # The number of elements in a line is a power of two: the place wraps around
        self.place.next <<= pyrtl.select(takes, (place + 1)[: len(place)], place)
        for i, register in enumerate(self.held):
            register.next <<= pyrtl.select(takes & (place == i), element, register)


class _Finishing:
    """A queue of tasks that are not announced, with the number of unacknowledged lines of each."""

    def __init__(self, parameters: FiberWriterParameters, between: Streams) -> None:
        self.count, bits = parameters.finishing, index_bits(parameters.finishing)
        self.between = between
        self.first: Signal = pyrtl.Register(bits, "first_finishing")
        self.next_place: Signal = pyrtl.Register(bits, "next_finishing")
        self.last: Signal = DataRegister(bits, "last_finishing")
        self.held: Signal = pyrtl.Register(self.count.bit_length(), "finishing")
        self.finished = [pyrtl.Register(1, f"finished_{i:02}") for i in range(self.count)]
        self.lines = [pyrtl.Register(LINES_BITS, f"unacknowledged_{i:02}") for i in range(self.count)]
        self.tasks, self.lengths = (
            [DataRegister(INDEX_BITS, f"{name}_{i:02}") for i in range(self.count)]
            for name in ("task", "fiber_length")
        )
        replies = between.inputs["replies"]
        replies.accept(pyrtl.Const(1, 1))
        # Lines of Z have the tag ``count``, which is no place of the queue: they are not counted
        tag = replies.fields["coordinate"][: self.count.bit_length()]
        self.answered = [replies.valid & (tag == i) for i in range(self.count)]
        self._announce()

    def _announce(self) -> None:
        """Announce the oldest task once it is finished and all its lines are acknowledged."""
        completions = self.between.outputs["completions"]
        at = list(decoded(self.first, self.count))
        # An acknowledgement that arrives in this cycle counts already
        is_acknowledged = [
            pyrtl.select(here, lines == 1, lines == 0)
            for lines, here in zip(self.lines, self.answered, strict=True)
        ]
        is_done = chosen(at, self.finished) & chosen(at, is_acknowledged) & (self.held != 0)
        fields = {"reference": chosen(at, self.tasks), LENGTH: chosen(at, self.lengths)}
        completions.send(is_done, fields)
        self.announces = alias("announces", is_done & completions.ready)
        self.first.next <<= pyrtl.select(self.announces, following(self.first, self.count), self.first)
        # The place of a task that is announced in this cycle is free for the next task
        self.room = alias("room", self.announces | (self.held != self.count))

    def move(
        self, opens: Signal, task: Signal, place: Signal, sends: Signal, closes: Signal, length: Signal
    ) -> None:
        """Update the queue when a task begins, sends a line or has taken its last element.

        Args:
            opens, task: whether a task begins, and its number.
            place: place of the current task in the queue.
            sends: whether a line of the current task is sent.
            closes, length: whether the current task has taken its last element, and its number of elements.
        """
        more, less = (number[: len(self.held)] for number in (self.held + 1, self.held - 1))
        one_more, one_less = opens & ~self.announces, self.announces & ~opens
        self.held.next <<= pyrtl.select(one_more, more, pyrtl.select(one_less, less, self.held))
        self.next_place.next <<= pyrtl.select(opens, following(self.next_place, self.count), self.next_place)
        self.last.next <<= place
        for i in range(self.count):
            here, opened = place == i, opens & (self.next_place == i)
            leaves = self.announces & (self.first == i)
            self.finished[i].next <<= (self.finished[i] & ~leaves & ~opened) | (closes & here)
            self.tasks[i].next <<= pyrtl.select(opened, task, self.tasks[i])
            self.lengths[i].next <<= pyrtl.select(closes & here, length, self.lengths[i])
            answered, lines = self.answered[i], self.lines[i]
            more, less = (number[:LINES_BITS] for number in (lines + 1, lines - 1))
            # In the cycle in which a task begins, an acknowledgement belongs to the place's previous task.
            sent = pyrtl.select(opened, pyrtl.Const(1, LINES_BITS), pyrtl.select(answered, lines, more))
            unsent = unless(opened, pyrtl.select(answered, less, lines))
            lines.next <<= pyrtl.select(sends & here, sent, unsent)


def design(parameters: FiberWriterParameters, between: Streams) -> None:
    """Build the logic: one task at a time fills one of two lines, that of its partial fiber or that of Z."""
    _Design(parameters, between).connect()


class _Design:
    """Logic of one cycle, in the order of the component's steps."""

    def __init__(self, parameters: FiberWriterParameters, between: Streams) -> None:
        self.parameters, self.between = parameters, between
        self.requests, self.elements = between.outputs["requests"], between.inputs["elements"]
        self.finishing = _Finishing(parameters, between)
        self.pages = _Pages(parameters, between)
        self.partial, self.z = (_Packer(parameters.elements, name) for name in ("partial", "z"))
        self.working: Signal = pyrtl.Register(1, "working")

    def connect(self) -> None:
        """Build the logic of the writer."""
        self._begin()
        self._write()
        self._send()
        self._move()
        self.between.show(PENDING, self.working | (self.finishing.held != 0))

    def _begin(self) -> None:
        """Select the task in the registers, or the task that arrives."""
        tasks, pool = self.between.inputs["output_tasks"], self.finishing
        may = ~self.working & pool.room
        tasks.accept(may)
        begins = alias("begins", may & tasks.valid)
        names = ("is_end", "is_partial", "start", "length")
        widths = (1, 1, INDEX_BITS, INDEX_BITS)
        self.kept = {name: DataRegister(width, name) for name, width in zip(names, widths, strict=True)}
        task, output = tasks.fields["reference"], tasks.fields[OUTPUT]
        # A negative number ends all work. The highest bit of ``output`` marks a partial fiber; its first
        # element is below.
        fresh = (task[-1], output[-1], output[:-1], pyrtl.Const(0, INDEX_BITS))
        self.now = {
            name: pyrtl.select(self.working, self.kept[name], wire)
            for name, wire in zip(names, fresh, strict=True)
        }
        self.opens = alias("opens", begins & ~task[-1])
        self.task = task
        self.active = alias("active", self.working | begins)
        # A task takes its place when it begins, and keeps it in ``last``
        place = pyrtl.select(self.opens, pool.next_place, pool.last)
        self.place = place
        self.partial_place = unless(self.opens, self.partial.place)
        self.of_partial = alias("of_partial", self.now["is_partial"] & ~self.now["is_end"])
        self.at = pyrtl.select(self.of_partial, self.partial_place, self.z.place)

    def _is_place(self, number: int) -> Signal:
        """Return whether the next element has this place in its line; a partial fiber begins a new line."""
        of_partial = pyrtl.select(self.opens, pyrtl.Const(int(number == 0), 1), self.partial.place == number)
        return pyrtl.select(self.of_partial, of_partial, self.z.place == number)

    def _write(self) -> None:
        """Do the work of the cycle: store an element, close a task, or flush Z's last line."""
        now, elements = self.now, self.elements
        is_end, is_partial = now["is_end"], now["is_partial"]
        element = self.active & ~is_end & elements.valid
        stop = elements.fields["control"]
        fills, begun = self._is_place(self.parameters.elements.count - 1), ~self._is_place(0)
        stores = element & ~stop
        closes = element & stop
        flushes = self.active & is_end
        self.fills = alias("fills", stores & fills)
        wants = alias("wants", self.fills | (closes & is_partial & begun) | (flushes & begun))
        self.sends = alias("sends", wants & (self.of_partial | self.pages.has_page))
        moves = alias("moves", ~wants | (self.sends & self.requests.ready))
        self.stores, self.closes = stores & moves, alias("closes", closes & moves)
        self.ends = alias("ends", (closes | flushes) & moves)
        elements.accept(self.active & ~is_end & moves)

    def _send(self) -> None:
        """Send the line: the stored elements, the arriving element, and zeros."""
        memory, pages, parameters = self.parameters.memory_port, self.pages, self.parameters
        self.element = parameters.elements.lane(
            self.elements.fields["coordinate"], self.elements.fields["value"]
        )
        held = [
            pyrtl.select(self.of_partial, partial_bits, other)
            for partial_bits, other in zip(self.partial.held, self.z.held, strict=True)
        ]
        lanes = [unless(~(self.at > i), lane) for i, lane in enumerate(held)]
        line = pyrtl.concat_list([*lanes, unless(~self.fills, self.element)])
        low = parameters.elements.bits
        # A partial fiber begins with a line, so that the lower bits carry nothing into this sum
        number = (self.now["start"][low:] + self.now["length"][low:])[: INDEX_BITS - low]
        to_partial = line_offset(number, parameters.line_bytes)
        # In a page of one line, the number of the page is the number of the line
        page_line = pages.line if pages.lines > 1 else None
        of_page = pages.now_page if page_line is None else pyrtl.concat(pages.now_page, page_line)
        to_z = line_offset(of_page, parameters.line_bytes)
        upper = memory.address_bits - TENSOR_SHIFT
        address = pyrtl.select(
            self.of_partial,
            pyrtl.concat(pyrtl.Const(PARTIAL, upper), to_partial),
            pyrtl.concat(pyrtl.Const(Z, upper), to_z),
        )
        z_operation = WRITE_UNREAD if parameters.keeps_z_in_cache else WRITE_THROUGH
        operation = pyrtl.select(self.of_partial, memory.operation(WRITE), memory.operation(z_operation))
        tag_bits = parameters.finishing.bit_length()
        tag = pyrtl.select(
            self.of_partial, self.place.zero_extended(tag_bits), pyrtl.Const(parameters.finishing, tag_bits)
        )
        self.requests.send(
            self.sends, memory.token(operation, memory.tag(parameters.port, tag), address, line)
        )

    def _move(self) -> None:
        """Update the registers for the next cycle."""
        sent = self.sends & self.requests.ready
        of_partial = self.of_partial
        self.partial.move(self.partial_place, self.stores & of_partial, self.element)
        self.z.move(self.z.place, self.stores & ~of_partial, self.element)
        self.pages.move(self.opens & ~self.now["is_partial"], sent & ~of_partial, self.fills)
        length = pyrtl.select(self.stores, (self.now["length"] + 1)[:INDEX_BITS], self.now["length"])
        self.finishing.move(self.opens, self.task, self.place, sent & of_partial, self.closes, length)
        for name, register in self.kept.items():
            register.next <<= length if name == "length" else self.now[name]
        self.working.next <<= self.active & ~self.ends


BLOCK = unit(
    "fiber_writer",
    FiberWriter,
    FiberWriterParameters,
    port_contents,
    design,
    status=(PENDING,),
    alone=False,
    listed=False,
)
