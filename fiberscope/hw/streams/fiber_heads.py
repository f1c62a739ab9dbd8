# cython: infer_types=True
"""The fibers of a task to a merger that keeps the heads of any number of them in order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from fiberscope.hw.fibers.sorted_head import ELEMENT, ROW_TASK, SUCCESSOR
from fiberscope.hw.memory.protocol import REPLY, REQUEST
from fiberscope.hw.streams.merge_lists import MERGE, Lists
from fiberscope.hw.streams.merged_points import MergedPoints
from fiberscope.hw.streams.tokens import CRD, REF
from fiberscope.hw.streams.way_lines import ArrayLines, WayLines
from fiberscope.hw.streams.ways import FiberWays
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output


class FiberHeads(FiberWays):
    """Hands the fibers that a task names to a ``SortedHeadUnit``: their heads, then the successor of each.

    Interface: as of ``FiberWays``, whose lists are merged in one round. ``tasks`` says how many lists a task
    has. On ``elements`` the heads of all lists follow, in their order, and then the element or the stop that
    comes next in the list that ``successors`` names; a list's number counts from 0 in each task.

    Timing: a head or a successor a cycle, when its lines are here. A successor leaves at the earliest in the
    cycle in which ``successors`` asks for it. Lines are asked for ahead, as of ``FiberWays``.

    Counts: as of ``FiberWays``; elements are merged once.

    Source: OuterSPACE (HPCA 2018) by TeAAL (MICRO 2023), Section 3.2. That the next lines of all lists are
    asked for ahead is a choice of this model.

    Args:
        name: instance name.
        most: lists of a task, at the most.
        segments, coordinates, values, lists, arrays, ahead, waiting: as of ``FiberWays``.
    """

    PORTS = (
        Input("in_crd", CRD),
        Input("in_ref", REF),
        Input("in_carried", REF, array=True, optional=True),
        Input("successors", SUCCESSOR),
        Output("tasks", ROW_TASK),
        Output("groups", MERGE),
        Output("elements", ELEMENT),
        Output("requests", REQUEST, array=True, optional=True),
        Input("replies", REPLY, array=True, optional=True),
    )

    successors: Channel
    elements: Channel

    def __init__(
        self,
        name: str,
        most: int,
        segments: npt.ArrayLike,
        coordinates: npt.ArrayLike,
        values: npt.ArrayLike,
        lists: Lists,
        arrays: Sequence[ArrayLines] = (),
        *,
        ahead: int = 4,
        waiting: int = 2,
    ) -> None:
        super().__init__(
            name, most, segments, coordinates, values, lists, arrays, ahead=ahead, waiting=waiting
        )
        self.sent = 0  # heads of the present merge

    def _hear(self) -> bool:
        """Nothing: no fiber is partial."""
        return False

    def _merge(self, fan_in: int) -> None:
        self.table.firsts.append(self.first)
        FiberWays._merge(self, fan_in)

    def _set_up(self, way: int, place: int) -> None:
        FiberWays._set_up(self, way, place)
        self.source[way] = place

    def _feed(self) -> bool:
        """Hand on the head of the next list, or the successor that is asked for."""
        if not self.elements.can_push():
            return False
        is_head = self.sent < self.taking[self.slot]
        if not is_head and not self.successors.can_pop():
            return False
        way = self.slot * self.radix + (self.sent if is_head else self.successors.reference())
        if not self._is_here(way):
            return False
        if is_head:
            self.sent += 1
        else:
            self.successors.pop()
        self._hand(way, self.elements)
        if self.lacking[self.slot] == 0:
            self.sent = 0
        return True

    def _waits_for_elements(self) -> int:
        if not self.elements.can_push():
            return self.wait_output(self.elements)
        if self.sent == self.taking[self.slot] and not self.successors.can_pop():
            return self.wait_input(self.successors)
        for place in range(self.memories):
            lines: WayLines = self.arrays[place]
            if lines.waiting > 0:
                return self.wait_input(self.replies[place])
        return self.wait_any_output(self.requests)


class HeadPoints(MergedPoints):  # C: open; as many outputs as references travel along
    """Follows a ``SortedHeadUnit`` as a ``MergedPoints`` follows a merger; no fiber is partial.

    Interface, timing and counts: as of ``MergedPoints``, of tasks whose lists count from 0.

    Source: as of ``MergedPoints``.

    Args:
        name: instance name.
        lists: shared with ``FiberHeads``.
    """

    def __init__(self, name: str, lists: Lists) -> None:
        super().__init__(name, lists)
        self.ports = tuple(port for port in self.ports if port.name != "partials")
        self.tasks = 0  # ended

    def _send(self, ends: bool) -> None:
        self.first = self.table.firsts.integer(self.tasks)
        MergedPoints._send(self, ends)
        self.tasks += ends
