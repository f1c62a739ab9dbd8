"""Gamma's scheduler as RTL: the tree of tasks in memories, which a port fills before the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any, ClassVar, TypeAlias, cast

from fiberscope.accelerators.gamma.fetch_order import count_rows_to_finish, order_lines_of_a
from fiberscope.accelerators.gamma.layout import NO_PARENT, Sizes
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.scheduler import Scheduler
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
from fiberscope.accelerators.gamma.scheduler_parameters_rtl import SchedulerParameters
from fiberscope.accelerators.gamma.scheduler_tables_rtl import PORT, TABLE_BITS
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.accelerators.gamma.writer_rtl import LENGTH
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.tasks import END_OF_WORK
from fiberscope.hw.fibers.tasks_rtl import INDEX_BITS, OUTPUT, Tasks
from fiberscope.hw.memory.protocol import READ
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.interface import Content, Field, Payload, Stream, Token
from fiberscope.hw.rtl.kit.memory_port import LINE
from fiberscope.hw.rtl.kit.twin import index_bits
from fiberscope.hw.rtl.kit.unit import Each, PortContents, Summed, unit
from fiberscope.hw.streams.memory_rtl import LOAD, fill
from fiberscope.hw.value_type import INTEGER
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.protocol import ANY

_Arguments: TypeAlias = tuple[TaskTable, CompressedRows, PartialStore, PartialOccupancy, int]


def port_contents(parameters: SchedulerParameters) -> PortContents:
    """Return the contents of all ports: memory, tasks, completions, and the port that fills the memories."""
    # In the memories of inputs, an address is the task above the input of the task.
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
    """Return the width of each status output in bits."""
    flags = dict.fromkeys((CAN_GO, IS_FULL, ALL_DONE, IN_FLIGHT, LEFT, HELD, WAS_HELD), 1)
    return flags | {ENDED: parameters.elements.bit_length(), PARTIAL_LINES: parameters.total_bits}


class SchedulerAdapter(Adapter):
    """An adapter that replaces a scheduler with a module, and stores the places of partial fibers."""

    PORTS = (*Scheduler.PORTS, Input(LOAD, ANY, optional=True))
    SERVED = ("completions",)
    COUNTED_BY: ClassVar[Mapping[str, tuple[str, ...]]] = {
        WAS_HELD: ("held_back_cycles",),
        PARTIAL_LINES: ("most_partial_lines",),
    }

    held_back_cycles = most_partial_lines = 0
    _seen = 0  # cycle of the previous call of ``account``

    def configure(self, *arguments: object, **options: object) -> None:
        """Fill the module's memories from the arguments of the component."""
        self._table, _a, self._partials, occupancy, _port = values = cast(_Arguments, arguments)
        self._longest = occupancy.columns
        fill(self._backend, self.interface, {LOAD: loads(*values, **cast(Any, options))})

    def served_payloads(self, stream: Stream, token: Token) -> dict[str, int]:
        """Return the length of a task's fiber; the module uses only the lengths of partial fibers."""
        return {stream.wire(LENGTH): self._table.output_lengths[token.reference]}

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Write the starts of dispatched partial fibers to the task table, unless a shadow component does."""
        for label, token in moved.items():
            if label.startswith("tasks") and token.reference != END_OF_WORK and self.shadow is None:
                # The bit above the start marks a partial fiber.
                self._begin(token.reference, self.payload(label, OUTPUT) & (1 << INDEX_BITS) - 1)

    def _begin(self, task: int, start: int) -> None:
        # The module chose the place. The length is not known yet, so space for the longest fiber is kept.
        if self._table.parents[task] != NO_PARENT:
            self._table.output_starts[task] = start
            self._partials.reserve(start + self._longest)

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """Return busy if a token moved, otherwise the reason for which the component would wait."""
        # WAS_HELD excludes what arrives in this cycle: it holds for all cycles since the previous call.
        self.held_back_cycles += (now - self._seen) * self.status[WAS_HELD]
        self.most_partial_lines = max(self.most_partial_lines, self.status[PARTIAL_LINES])
        self._seen = now
        if self.moving:
            return self.busy(now + 1)
        tasks, completions = self.channels("tasks"), self.channels("completions")
        requests = self.channel("memory_requests")
        # The reasons have the order of ``Scheduler._wait``.
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
        """Return the counters that are not visible at the ports."""
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
    """Return the parameters of a module that can replace a component with these arguments.

    Call this function before the run, which changes the task table.

    Raises:
        ValueError: if the module does not support an argument.
    """
    return SchedulerParameters(
        # An empty product has no tasks, but a memory has at least one entry.
        tasks=max(table.count, 1),
        stream=order_lines_of_a(a, table, a_sizes).count,
        lines=len(count_rows_to_finish(table, _rows_per_line(sizes))),
        radix=table.radix,
        merging=max(_most_merging(table), 1),
        columns=max(occupancy.columns, 1),
        room=occupancy.cache_lines,
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
    """Return the contents of a module's memories for a component's arguments; scales have type ``values``."""
    scheduler = matching(table, a, partials, occupancy, port, sizes=sizes, a_sizes=a_sizes, **limits)
    typed, stream = (
        replace(scheduler, values=values, line_bits=line_bits),
        order_lines_of_a(a, table, a_sizes),
    )
    # Lines with contents bring the scales with A; the scales are then not loaded.
    rows, scale = _rows_per_line(sizes), None if line_bits else typed.value_field
    return loaded(typed.layout, typed.needs, table, a, scale, occupancy, stream, rows)


def _most_merging(table: TaskTable) -> int:
    """Return the largest number of merge tasks of a tree; they follow the leaf tasks of the tree."""
    return max(
        (sum(1 for _task in tree) for merges, tree in groupby(table.missing, bool) if merges), default=0
    )


def _rows_per_line(sizes: Sizes) -> int:
    """Return how many of Z's row pointers a line holds; refuse a Z without row pointers."""
    if sizes.pointer_bytes == 0:
        raise ValueError("scheduler: the module writes the row pointers of Z; set format.pointer=4")
    return sizes.line_bytes // sizes.pointer_bytes


BLOCK = unit(
    "scheduler",
    Scheduler,
    SchedulerParameters,
    port_contents,
    design,
    status=status,
    base=SchedulerAdapter,
    matching=matching,
    alone=False,
    arbiters=("memory_requests",),  # a line of A that is allowed late replaces an offered write
    connected=lambda component: {"elements": len(component.channels("tasks"))},
    counters={
        "stream_lines": Summed("memory_requests", lambda request: int(request.control == READ)),
        "tasks": lambda adapter: sum(
            end.tokens for end in adapter.ends if end.stream.port[0] == "completions"
        ),
    },
)
