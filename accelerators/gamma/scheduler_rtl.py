"""Gamma's scheduler as RTL: the tree of tasks in memories, which a port fills before the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fiberscope.accelerators.gamma.layout import NO_PARENT, Sizes
from fiberscope.accelerators.gamma.occupancy import PartialOccupancy
from fiberscope.accelerators.gamma.scheduler import Scheduler
from fiberscope.accelerators.gamma.scheduler_load_rtl import loaded
from fiberscope.accelerators.gamma.scheduler_logic_rtl import (
    ALL_DONE,
    CAN_GO,
    ENDED,
    IN_FLIGHT,
    IS_FULL,
    LEFT,
    PORT,
    design,
)
from fiberscope.accelerators.gamma.stream import stream_of, unfinished_rows
from fiberscope.accelerators.gamma.tasks import TaskTable
from fiberscope.hw.fibers.compressed import CompressedRows
from fiberscope.hw.fibers.partials import PartialStore
from fiberscope.hw.fibers.tasks import END_OF_WORK
from fiberscope.hw.memory.protocol import READ
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.interface import Field, Stream
from fiberscope.hw.rtl.kit.parameters import Parameters, number
from fiberscope.hw.rtl.kit.twin import index_bits
from fiberscope.hw.rtl.kit.unit import Carried, Each, Summed, unit
from fiberscope.hw.streams.memory_rtl import LOAD, fill
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.protocol import ANY

MOST = 1024  # tasks, lines of the stream


@dataclass(frozen=True)
class SchedulerParameters(Parameters):
    """What a scheduler is made for; its memories are as large as one product needs.

    Args:
        elements: processing elements, 1 to 8.
        tasks: 1 to 1,024.
        stream: lines of A, with its row pointers, 1 to 1,024.
        lines: of Z's row pointers, 1 to 256.
        radix: fibers that a task may combine, 2 to 64.
        stream_lines: lines of A in flight or waiting, 1 to 256.
        most_tasks, most_partial_tasks: that an element may have been given, 1 to 16.
        port: number of the port at the network to memory.
        offset_bits: of an address within a line, 3 to 12.

    Raises:
        ValueError: for a number out of its range.
    """

    elements: int = number(2, 1, 8)
    tasks: int = number(256, 1, MOST)
    stream: int = number(256, 1, MOST)
    lines: int = number(16, 1, 256)
    radix: int = number(8, 2, 64)
    stream_lines: int = number(32, 1, 256)
    most_tasks: int = number(3, 1, 16)
    most_partial_tasks: int = number(2, 1, 16)
    port: int = number(0, 0, (1 << 15) - 1)
    offset_bits: int = number(6, 3, 12)

    @property
    def layout(self) -> dict[str, int]:
        """Bits of each field of a task's word, the first the lowest.

        ``line`` is that of the row pointers which its row is in, ``following`` the next task in order that
        merges no partial fibers.
        """
        count = self.stream.bit_length()
        return {
            "needed": count,
            "first_needed": count,
            "following": self.tasks.bit_length(),
            "parent": index_bits(self.tasks),
            "is_partial": 1,
            "line": index_bits(self.lines),
        }


def carried(parameters: SchedulerParameters) -> Carried:
    """Requests and replies of memory, tasks and their completions, and the port that fills the memories."""
    words = max(parameters.tasks, parameters.stream + 1, parameters.lines)
    load = {
        "table": Field("control", 3, "unsigned"),
        "address": Field("coordinate", index_bits(words), "unsigned"),
        "word": Field("reference", max(PORT.address_bits, sum(parameters.layout.values())), "unsigned"),
    }
    done = {"reference": Field("reference", index_bits(parameters.tasks), "unsigned")}
    return {
        LOAD: Stream(LOAD, LOAD, "input", load),
        "memory_requests": PORT.fields,
        "memory_replies": {"coordinate": PORT.tag_bits},
        "tasks": Each({"reference": index_bits(parameters.tasks) + 1}, parameters.elements),
        "completions": Each(done, parameters.elements),
    }


def status(parameters: SchedulerParameters) -> Mapping[str, int]:
    """Bits each; ``ended`` is a number."""
    flags = dict.fromkeys((CAN_GO, IS_FULL, ALL_DONE, IN_FLIGHT, LEFT), 1)
    return flags | {ENDED: parameters.elements.bit_length()}


class SchedulerStandIn(Adapter):
    """Stands in for a scheduler; keeps the stores that it shares with others, of which no token tells."""

    PORTS = (*Scheduler.PORTS, Input(LOAD, ANY, optional=True))

    def given(  # type: ignore[override]
        self,
        table: TaskTable,
        a: CompressedRows,
        partials: PartialStore,
        occupancy: PartialOccupancy,
        port: int,
        *,
        sizes: Sizes,
        a_sizes: Sizes,
        **limits: int,
    ) -> None:
        """Fill the module's memories with what the component would be made with."""
        self._table, self._partials, self._occupancy = table, partials, occupancy
        made = matching(table, a, partials, occupancy, port, sizes=sizes, a_sizes=a_sizes, **limits)
        words = loaded(made.layout, table, stream_of(a, table, a_sizes), _rows_per_line(sizes))
        fill(self._backend, self.interface, {LOAD: words})

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Give partial fibers their space, and take it back."""
        if self.shadow is not None:  # the component beside the module does so
            return
        for label, token in moved.items():
            if label.startswith("completions"):
                self._finish(token.reference)
        for label, token in moved.items():
            if label.startswith("tasks") and token.reference != END_OF_WORK:
                self._begin(token.reference)

    def _finish(self, task: int) -> None:
        table = self._table
        for source in table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]]:
            if source < 0:
                child = -1 - source
                self._partials.release(table.output_starts[child], self._occupancy.bound(child))
        self._occupancy.end(task)

    def _begin(self, task: int) -> None:
        if self._table.parents[task] != NO_PARENT:
            self._occupancy.begin(task)
            self._table.output_starts[task] = self._partials.allocate(self._occupancy.bound(task))

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """Busy while a token moves; else as the component waits."""
        if self.moving:
            return self.busy(now + 1)
        tasks, completions = self.channels("tasks"), self.channels("completions")
        requests = self.channel("memory_requests")
        if self.status[CAN_GO]:
            return self.wait_any_input(completions) if self.status[IS_FULL] else self.wait_any_output(tasks)
        if self.status[ALL_DONE]:
            return self.wait_output(tasks[self.status[ENDED]])
        if not requests.can_push():
            return self.wait_output(requests)
        if self.status[IN_FLIGHT]:
            return self.wait_input(self.channel("memory_replies"))
        return self.wait_any_input(completions) if self.status[LEFT] else self.idle()

    def counters(self) -> dict[str, int]:
        """What is not seen at the ports; a module holds no leaf back."""
        return {"held_back_cycles": 0, "most_partial_lines": self._occupancy.most_lines}


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
    lines = _most_lines(table, occupancy)
    if lines > occupancy.room:
        raise ValueError(
            f"scheduler: partial fibers of {lines} lines may fill a FiberCache of {occupancy.room}, "
            "and a module holds no leaf back"
        )
    return SchedulerParameters(
        tasks=max(table.count, 1),
        stream=stream_of(a, table, a_sizes).count,
        lines=len(unfinished_rows(table, _rows_per_line(sizes))),
        radix=table.radix,
        port=port,
        offset_bits=sizes.line_bytes.bit_length() - 1,
        **limits,
    )


def _rows_per_line(sizes: Sizes) -> int:
    return sizes.line_bytes // sizes.pointer_bytes


def _most_lines(table: TaskTable, occupancy: PartialOccupancy) -> int:
    """Lines that all partial fibers together have, were none consumed and each at its longest."""
    bounds: list[int] = []
    for task in range(table.count):
        inputs = table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]]
        merged = sum(bounds[-1 - source] for source in inputs if source < 0)
        bounds.append(min(occupancy.bound(task) + merged, occupancy.columns))
    partial = (
        elements for elements, parent in zip(bounds, table.parents, strict=True) if parent != NO_PARENT
    )
    return sum(-(-elements * occupancy.element_bytes // occupancy.line_bytes) for elements in partial)


def _completed(stand_in: Adapter) -> int:
    return sum(end.tokens for end in stand_in.ends if end.stream.port[0] == "completions")


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
