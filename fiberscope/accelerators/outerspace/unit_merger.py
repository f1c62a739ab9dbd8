# cython: infer_types=True
"""A processing element of the merge phase with a unit beside it that keeps the heads in order."""

from __future__ import annotations

from typing import ClassVar

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.outerspace.configuration import Merge
from fiberscope.accelerators.outerspace.merger import MergingElement
from fiberscope.hw.fibers.sorted_head import ELEMENT, ENTRIES, ROW_TASK, SUCCESSOR
from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Port

MOST_CYCLES = 1000  # of any parameter


def check(merge: Merge, add_cycles: int, most_lists: int) -> None:
    """Refuse what a unit cannot do in the time that an element takes.

    Raises:
        ConfigurationError: naming the parameter.
    """
    limits = (
        ("merge.comparison_cycles", merge.comparison_cycles, 1, 1),
        ("merge.emit_cycles", merge.emit_cycles, 2, MOST_CYCLES),
        ("pe.fp_latency", add_cycles, 2, MOST_CYCLES),
        ("merge.max_lists", merge.max_lists, max(1, most_lists), ENTRIES[1]),
    )
    for key, value, least, most in limits:
        if not least <= value <= most:
            raise ConfigurationError(
                f"{key} is {value}; for a unit that keeps the heads of all lists in order it should be from "
                f"{least} to {most}"
            )


class UnitMergingElement(MergingElement):
    """Loads what a ``SortedHeadUnit`` puts in order, one comparison a cycle, and adds up what that gives.

    Interface: that of ``MergingElement``; and of the unit all ports.

    Timing: that of ``MergingElement``. The smallest head comes a cycle after the unit has let it leave, in
    the first of those that its addition or its element of Z takes; where that has only one, the cycle more
    that a stop takes goes by in those of the next. How long the comparator walks for a first element the unit
    does not tell; the element counts it by an order of its own.

    Args:
        arguments: positional arguments of ``MergingElement``. No row may have more lists than
            ``max_lists``, and a comparison takes one cycle.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (
        *MergingElement.PORTS,
        Output("head_tasks", ROW_TASK),
        Output("head_elements", ELEMENT),
        Input("merged", STREAM),
        Input("successors", SUCCESSOR),
    )

    head_tasks: Channel
    head_elements: Channel
    merged: Channel
    successors: Channel

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.leaving = False  # whether the smallest is awaited
        self.begins = 0  # the cycle from which on it is added up

    def _receive(self) -> None:
        """Take the stop behind a row too."""
        MergingElement._receive(self)
        if self.merged.can_pop() and self.merged.control() == STOP:
            self.merged.pop()

    def _begin_merge(self, now: int) -> int:
        self.head_tasks.push(0, self.count, self.row)
        return MergingElement._begin_merge(self, now)

    def _push(self, index: int) -> int:
        position = self.positions[index]
        self.head_elements.push(DATA, self.lists.columns[position], index, self.lists.values[position])
        return MergingElement._push(self, index)

    def _merge(self, now: int) -> int:
        return self._take_smallest(now) if self.leaving else MergingElement._merge(self, now)

    def _let_leave(self, now: int, begins: int) -> int:
        """Wait for what leaves the unit."""
        self.leaving = True
        self.begins = begins
        return self._compute(now, begins + 1 - now)

    def _take_smallest(self, now: int) -> int:
        """Add up what has left the unit, and load what comes next of its list, or say that it has ended."""
        if not self.merged.can_pop():
            return self.busy(now + 1)
        index, column, value = self.merged.reference(), self.merged.coordinate(), self.merged.value()
        self.merged.pop()
        self.successors.pop()
        self.leaving = False
        self.until = self.begins + self._take(index, column, value)
        if self.unsent == 0:
            self.head_elements.push(STOP, 0, index)
        return self._act(now)
