"""Gamma's scheduler as RTL: the tree of tasks in memories, which a port fills before the run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from fiberscope.accelerators.gamma.layout import NO_PARENT, Sizes
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.scheduler import Scheduler
from fiberscope.accelerators.gamma.scheduler_lines_rtl import POINTER_BITS
from fiberscope.accelerators.gamma.scheduler_load_rtl import loaded
from fiberscope.accelerators.gamma.scheduler_logic_rtl import (
    ALL_DONE,
    CAN_GO,
    ENDED,
    HELD,
    IN_FLIGHT,
    IS_FULL,
    LEFT,
    PARTIAL_LINES,
    WAS_HELD,
    design,
)
from fiberscope.accelerators.gamma.scheduler_space_rtl import FINE
from fiberscope.accelerators.gamma.scheduler_tables_rtl import PORT, TABLE_BITS
from fiberscope.accelerators.gamma.stream import stream_of, unfinished_rows
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.accelerators.gamma.writer_rtl import LENGTH
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.tasks import END_OF_WORK
from fiberscope.hw.fibers.tasks_rtl import INDEX_BITS, NUMBER_BITS, OUTPUT, Elements, Tasks
from fiberscope.hw.memory.protocol import READ
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.arithmetic import ValueParameters, value_type
from fiberscope.hw.rtl.kit.interface import Content, Field, Interface, Payload, Stream, Token
from fiberscope.hw.rtl.kit.memory_port import LINE, LINE_BITS, MemoryPort
from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.twin import index_bits
from fiberscope.hw.rtl.kit.unit import Carried, Each, Summed, unit
from fiberscope.hw.streams.memory_rtl import LOAD, fill
from fiberscope.hw.value_type import INTEGER
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.protocol import ANY

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.backend import Backend

MOST = 1 << 16  # tasks, lines of the stream


_Arguments: TypeAlias = tuple[TaskTable, CompressedRows, PartialStore, PartialOccupancy, int]


@dataclass(frozen=True)
class SchedulerParameters(ValueParameters):
    """What a scheduler is made for; its memories are as large as one product needs.

    Args:
        elements: processing elements, 1 to 8.
        tasks: 1 to 65,536.
        stream: lines of A, with its row pointers, 1 to 65,536.
        lines: of Z's row pointers, 1 to 8,192.
        radix: fibers that a task may combine, 2 to 64.
        stream_lines: lines of A in flight or waiting, 1 to 256.
        merging: tasks of a tree that merge partial fibers, 1 to 1,024.
        most_tasks, most_partial_tasks: that an element may have been given, 1 to 16.
        columns: elements of the longest fiber that there can be, 1 to 2**24.
        room: lines of the FiberCache, up to 2**24.
        element_bytes: 1 to 4,096, no more than a line has.
        port: number of the port at the network to memory.
        offset_bits: of an address within a line, 3 to 12.
        line_bits: of lines, which have A where they come and row pointers of Z where they go; 0 where what A
            says is loaded before the run, and lines of row pointers have nothing.
        values: the type of scales.

    Raises:
        ValueError: for a number out of its range.
    """

    elements: int = number(2, 1, 8)
    tasks: int = number(256, 1, MOST)
    stream: int = number(256, 1, MOST)
    lines: int = number(16, 1, 1 << 13)
    radix: int = number(8, 2, 64)
    stream_lines: int = number(32, 1, 256)
    merging: int = number(16, 1, 1024)
    most_tasks: int = number(3, 1, 16)
    most_partial_tasks: int = number(2, 1, 16)
    columns: int = number(1024, 1, 1 << 24)
    room: int = number(256, 1, 1 << 24)
    element_bytes: int = number(8, 1, 4096)
    port: int = number(0, 0, (1 << 15) - 1)
    offset_bits: int = number(6, 3, 12)
    line_bits: int = number(0, *LINE_BITS)
    values: str = value_type()
    value_bits = NUMBER_BITS

    @property
    def memory(self) -> MemoryPort:
        """The port to memory."""
        return MemoryPort(line_bits=8 << self.offset_bits)

    @property
    def elements_of_a(self) -> Elements:
        """Nonzeros of A in its lines, where these come."""
        return Elements(1 << self.offset_bits, self.element_bytes, self.value_field)

    @property
    def row_bits(self) -> int:
        """Of the number of a row among those of a line of Z's row pointers, where these are written."""
        return self.offset_bits - POINTER_BITS if self.line_bits else 0

    @property
    def layout(self) -> dict[str, int]:
        """Bits of each field of a task's word, the first the lowest.

        ``line`` is that of the row pointers which its row is in, ``row`` the number of that there, ``count``
        says how many fibers it combines, ``is_last`` whether of its row it is the last that merges none.
        """
        return {
            "parent": index_bits(self.tasks),
            "is_partial": 1,
            "line": index_bits(self.lines),
            **({"row": self.row_bits} if self.row_bits else {}),
            "count": self.radix.bit_length(),
            "merges": 1,
            "is_last": 1,
        }

    @property
    def needs(self) -> dict[str, int]:
        """Bits of each field of a word that says of a task what it needs of A, the first the lowest.

        ``following`` is the next task in order that merges no partial fibers.
        """
        count = self.stream.bit_length()
        return {"needed": count, "first_needed": count, "following": self.tasks.bit_length()}

    @property
    def waiting(self) -> int:
        """Tasks that may wait to be given out with all that they merge.

        While the oldest of them can go, no leaf does, so only tasks that elements have bring more. It cannot
        while it lacks nonzeros of A, behind those of its tree's leaves; then all that its tree merges may
        come, but no leaf behind it.
        """
        return min(self.merging + self.elements * self.most_partial_tasks, self.tasks)

    @property
    def given(self) -> dict[str, int]:
        """Bits of each field of what is noted of a task that was given out.

        ``lines`` are those that it takes with all that it merges; of each input there is whether it is a
        partial fiber, whose, and the number of its size.
        """
        child = {"is_merged": 1, "child": index_bits(self.tasks), "number": index_bits(self.sizes)}
        inputs = {f"{name}_{i}": bits for i in range(self.radix) for name, bits in child.items()}
        return {"lines": self.total_bits, **inputs}

    @property
    def share(self) -> tuple[int, int]:
        """What part of a line an element is, a fraction; elements in whole lines are its denominator."""
        common = math.gcd(self.element_bytes, 1 << self.offset_bits)
        return self.element_bytes // common, (1 << self.offset_bits) // common

    @property
    def granule_bits(self) -> int:
        """Of the number of an element among those in whole lines."""
        return self.share[1].bit_length() - 1

    @property
    def unit_bits(self) -> int:
        """Of the number of a place at which a partial fiber may begin."""
        return INDEX_BITS - self.granule_bits

    @property
    def length_bits(self) -> int:
        """Of a fiber's length."""
        return self.columns.bit_length()

    @property
    def total_bits(self) -> int:
        """Of the lines of all partial fibers."""
        share, of = self.share
        return (self.tasks * -(-self.columns * share // of)).bit_length()

    @property
    def sizes(self) -> int:
        """How many sizes of space there are, as ``PartialStore`` has them."""
        most = (self.columns - 1) >> self.granule_bits
        step = max(0, most.bit_length() - FINE)
        return (most >> step) + (step << FINE - 1) + 1


def carried(parameters: SchedulerParameters) -> Carried:
    """Requests and replies of memory, tasks and their completions, and the port that fills the memories."""
    of_inputs = index_bits(parameters.tasks) + index_bits(parameters.radix)
    words = max(parameters.stream + 1, parameters.lines << parameters.row_bits)
    packed = max(sum(fields.values()) for fields in (parameters.layout, parameters.needs))
    word = max(PORT.address_bits, packed, parameters.length_bits, parameters.value_field.width)
    load = {
        "table": Field("control", TABLE_BITS, "unsigned"),
        "address": Field("coordinate", max(of_inputs, index_bits(words)), "unsigned"),
        "word": Field("reference", word, "unsigned"),
    }
    lines: Content = {LINE: Payload(parameters.line_bits)} if parameters.line_bits else {}
    replies: Content = {"coordinate": PORT.tag_bits}
    done: Content = {"reference": INDEX_BITS, LENGTH: Payload(INDEX_BITS)}
    return {
        LOAD: Stream(LOAD, LOAD, "input", load),
        "memory_requests": parameters.memory.fields,
        "memory_replies": {**replies, **lines},
        "tasks": Each(Tasks(parameters.radix, parameters.value_field).content, parameters.elements),
        "completions": Each(done, parameters.elements),
    }


def status(parameters: SchedulerParameters) -> Mapping[str, int]:
    """Bits each; ``ended`` is a number."""
    flags = dict.fromkeys((CAN_GO, IS_FULL, ALL_DONE, IN_FLIGHT, LEFT, HELD, WAS_HELD), 1)
    return flags | {ENDED: parameters.elements.bit_length(), PARTIAL_LINES: parameters.total_bits}


class SchedulerStandIn(Adapter):
    """Stands in for a scheduler; what elements have to know of partial fibers it brings to their stores."""

    PORTS = (*Scheduler.PORTS, Input(LOAD, ANY, optional=True))
    SERVED = ("completions",)
    COUNTED_BY: ClassVar[Mapping[str, tuple[str, ...]]] = {
        WAS_HELD: ("held_back_cycles",),
        PARTIAL_LINES: ("most_partial_lines",),
    }

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self.held_back_cycles = self.most_partial_lines = 0
        self._seen = 0  # the cycle before

    def given(self, *arguments: object, **options: object) -> None:
        """Fill the module's memories with what the component would be made with."""
        self._table, _a, self._partials, occupancy, _port = made = cast(_Arguments, arguments)
        self._longest = occupancy.columns
        fill(self._backend, self.interface, {LOAD: loads(*made, **cast(Any, options))})

    def beside(self, stream: Stream, token: Token) -> dict[str, int]:
        """How long a task's fiber is, of which only those of partial ones count."""
        return {stream.wire(LENGTH): self._table.output_lengths[token.reference]}

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Say where partial fibers begin, as the component beside the module does."""
        for label, token in moved.items():
            if label.startswith("tasks") and token.reference != END_OF_WORK and self.shadow is None:
                self._begin(token.reference, self.payload(label, OUTPUT) & (1 << INDEX_BITS) - 1)

    def _begin(self, task: int, start: int) -> None:
        if self._table.parents[task] != NO_PARENT:
            self._table.output_starts[task] = start
            self._partials.reserve(start + self._longest)

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """Busy while a token moves; else as the component waits."""
        self.held_back_cycles += (now - self._seen) * self.status[WAS_HELD]
        self.most_partial_lines = max(self.most_partial_lines, self.status[PARTIAL_LINES])
        self._seen = now
        if self.moving:
            return self.busy(now + 1)
        tasks, completions = self.channels("tasks"), self.channels("completions")
        requests = self.channel("memory_requests")
        if self.status[CAN_GO]:
            return self.wait_any_input(completions) if self.status[IS_FULL] else self.wait_any_output(tasks)
        if self.status[ALL_DONE]:
            return self.wait_output(tasks[self.status[ENDED]])
        if self.status[HELD]:
            return self.wait_any_input(completions)
        if not requests.can_push():
            return self.wait_output(requests)
        if self.status[IN_FLIGHT]:
            return self.wait_input(self.channel("memory_replies"))
        return self.wait_any_input(completions) if self.status[LEFT] else self.idle()

    def counters(self) -> dict[str, int]:
        """What is not seen at the ports."""
        held, lines = self.held_back_cycles, self.most_partial_lines
        return {"held_back_cycles": held, "most_partial_lines": lines}


def matching(
    table: TaskTable,
    a: CompressedRows,
    _partials: PartialStore,
    occupancy: PartialOccupancy,
    port: int,
    *,
    sizes: Sizes,
    a_sizes: Sizes,
    **limits: int,
) -> SchedulerParameters:
    """Parameters that suit a component made with these arguments.

    Raises:
        ValueError: for what a module does not have.
    """
    return SchedulerParameters(
        tasks=max(table.count, 1),
        stream=stream_of(a, table, a_sizes).count,
        lines=len(unfinished_rows(table, _rows_per_line(sizes))),
        radix=table.radix,
        merging=max(_most_merging(table), 1),
        columns=max(occupancy.columns, 1),
        room=occupancy.room,
        element_bytes=sizes.element_bytes,
        port=port,
        offset_bits=sizes.line_bytes.bit_length() - 1,
        **cast(Any, limits),
    )


def loads(
    table: TaskTable,
    a: CompressedRows,
    partials: PartialStore,
    occupancy: PartialOccupancy,
    port: int,
    *,
    sizes: Sizes,
    a_sizes: Sizes,
    values: str = INTEGER,
    line_bits: int = 0,
    **limits: int,
) -> Iterator[Token]:
    """What fills the memories of a module with what the component would be made with, scales of some type."""
    made = matching(table, a, partials, occupancy, port, sizes=sizes, a_sizes=a_sizes, **limits)
    typed, stream = replace(made, values=values, line_bits=line_bits), stream_of(a, table, a_sizes)
    rows, scale = _rows_per_line(sizes), None if line_bits else typed.value_field
    return loaded(typed.layout, typed.needs, table, a, scale, occupancy, stream, rows)


def _most_merging(table: TaskTable) -> int:
    """Tasks of a tree that merge partial fibers, at the most: these stand behind its leaves."""
    return max(
        (sum(1 for _task in tree) for merges, tree in groupby(table.missing, bool) if merges), default=0
    )


def _rows_per_line(sizes: Sizes) -> int:
    return sizes.line_bytes // sizes.pointer_bytes


BLOCK = unit(
    "scheduler",
    Scheduler,
    SchedulerParameters,
    carried,
    design,
    status=status,
    base=SchedulerStandIn,
    matching=matching,
    alone=False,
    connected=lambda made: {"elements": len(made.channels("tasks"))},
    counters={
        "stream_lines": Summed("memory_requests", lambda request: int(request.control == READ)),
        "tasks": lambda stand_in: sum(
            end.tokens for end in stand_in.ends if end.stream.port[0] == "completions"
        ),
    },
)
