# cython: infer_types=True
"""A merging element with a separate unit that keeps the heads of its lists sorted."""

from __future__ import annotations

from typing import ClassVar

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.outerspace.configuration import Merge
from fiberscope.accelerators.outerspace.merger import MergingElement
from fiberscope.hw.fibers.sorted_head import ELEMENT, ENTRIES, ROW_TASK, SUCCESSOR
from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Port

MAX_CYCLES = 1000  # largest value of any latency parameter


def check(merge: Merge, add_cycles: int, max_row_lists: int) -> None:
    """Refuse parameters for which the unit cannot keep the timing of a ``MergingElement``.

    Args:
        merge: parameters of the merge phase.
        add_cycles: latency of an addition in cycles.
        max_row_lists: largest number of lists of a row.

    Raises:
        ConfigurationError: naming the parameter.
    """
    limits = (
        ("merge.comparison_cycles", merge.comparison_cycles, 1, 1),
        ("merge.emit_cycles", merge.emit_cycles, 2, MAX_CYCLES),
        ("pe.fp_latency", add_cycles, 2, MAX_CYCLES),
        ("merge.max_lists", merge.max_lists, max(1, max_row_lists), ENTRIES[1]),
    )
    for key, value, minimum, maximum in limits:
        if not minimum <= value <= maximum:
            raise ConfigurationError(
                f"{key} is {value}; for a unit that keeps the heads of all lists in order it should be from "
                f"{minimum} to {maximum}"
            )


class UnitMergingElement(MergingElement):
    """A merging element whose list heads are sorted by a ``SortedHeadUnit``, with one comparison per cycle.

    Interface: the ports of ``MergingElement``, and counterparts of all ports of the unit. ``head_tasks``
    sends the number of lists of a row, and ``head_elements`` the heads to insert, or a stop at the end of a
    list. ``merged`` brings the smallest head. The merging element pops ``successors`` without a use.

    Timing: as ``MergingElement``. The smallest head arrives one cycle after it leaves the unit, in the first
    cycle of its addition or of its element of Z. If the removal of a head takes only one cycle, the
    additional cycle of a stop overlaps with the next element. The unit does not report how many comparisons
    it makes for the first element of a list; the merging element counts them in its own sorted order.

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
        self.is_head_awaited = False  # whether the smallest head is on its way from the unit
        self.removal_start = 0  # cycle in which its addition begins

    def _receive(self) -> None:
        """Receive as a ``MergingElement`` does, and discard the unit's stop after a row."""
        MergingElement._receive(self)
        if self.merged.can_pop() and self.merged.control() == STOP:
            self.merged.pop()

    def _start_merge(self, now: int) -> int:
        """Announce the number of lists of the row to the unit, and begin as a ``MergingElement`` does."""
        self.head_tasks.push(0, self.count, self.row)
        return MergingElement._start_merge(self, now)

    def _insert_head(self, index: int) -> int:
        """Send a head to the unit, and insert it as a ``MergingElement`` does; return the cycles."""
        position = self.positions[index]
        self.head_elements.push(DATA, self.lists.columns[position], index, self.lists.values[position])
        return MergingElement._insert_head(self, index)

    def _merge(self, now: int) -> int:
        return self._take_smallest(now) if self.is_head_awaited else MergingElement._merge(self, now)

    def _start_removal(self, now: int, start: int) -> int:
        """Wait for the smallest head, which leaves the unit; ``_take_smallest`` then removes it."""
        self.is_head_awaited = True
        self.removal_start = start
        # The head arrives one cycle after it has left the unit.
        return self._compute(now, start + 1 - now)

    def _take_smallest(self, now: int) -> int:
        """Add the head that has left the unit; load the next element of its list, or report its end."""
        if not self.merged.can_pop():
            return self.busy(now + 1)
        index, column, value = self.merged.reference(), self.merged.coordinate(), self.merged.value()
        self.merged.pop()
        # This element knows the successor; the unit's request only has to leave the channel.
        self.successors.pop()
        self.is_head_awaited = False
        self.busy_until = self.removal_start + self._remove_head(index, column, value)
        # The removal has prepared no load: the list has ended.
        if self.unsent_loads == 0:
            self.head_elements.push(STOP, 0, index)
        return self._act(now)
