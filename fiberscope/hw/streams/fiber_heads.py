# cython: infer_types=True
"""The unit that sends the fibers of a task to a merger that keeps their heads in order."""

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
from fiberscope.sim.errors import SimulationError


class FiberHeads(FiberWays):
    """Hands the fibers that a task names to a ``SortedHeadUnit``: their heads, then the successor of each.

    Interface: as in ``FiberWays``, but all lists of a task are merged in one round. ``tasks`` carries the
    number of lists of a task. ``elements`` carries the heads of all lists, in the order of the lists. After
    them, for each list that ``successors`` names, it carries the next element of that list, or its stop.
    The lists of each task are numbered from 0.

    Timing: one head or successor per cycle, once its lines have arrived. A successor leaves at the earliest
    in the cycle in which its request on ``successors`` is visible. Lines are prefetched as in
    ``FiberWays``.

    Counts: as in ``FiberWays``; each element is merged once.

    Source: OuterSPACE (HPCA 2018) by TeAAL (MICRO 2023), Section 3.2. The prefetch of the next lines of all
    lists is a choice of this model.

    Args:
        most: largest number of lists of a task that are not empty.
        segments, coordinates, values, lists, arrays, ahead, waiting: see ``FiberWays``.

    Raises:
        SimulationError: during the run, if a task has more lists.
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
        self.sent_heads = 0  # number of heads sent of the current merge

    def _receive_partials(self) -> bool:
        """Return False: no fiber is partial, so no message about one arrives."""
        return False

    def _next_round(self) -> bool:
        has_round = FiberWays._next_round(self)
        if self.count > self.radix:
            raise SimulationError(
                f"{self.name}: a task has {self.count} lists, but at most {self.radix} can be merged"
            )
        return has_round

    def _merge(self, fan_in: int) -> None:
        # ``HeadPoints`` finds the list of an element by its number and the first list of the task
        self.table.firsts.append(self.first)
        FiberWays._merge(self, fan_in)

    def _set_up(self, way: int, position: int) -> None:
        FiberWays._set_up(self, way, position)
        # The merger numbers the lists of each task from 0; ``FiberWays`` numbers the lists of all tasks
        self.source[way] = position

    def _feed(self) -> bool:
        """Send the head of the next list, or the requested successor; return whether a token was sent."""
        if not self.elements.can_push():
            return False
        is_head = self.sent_heads < self.fan_ins[self.slot]
        if not is_head and not self.successors.can_pop():
            return False
        # List n of a task has way n of its merge
        way = self.slot * self.radix + (self.sent_heads if is_head else self.successors.reference())
        if not self._is_here(way):
            return False
        if is_head:
            self.sent_heads += 1
        else:
            self.successors.pop()
        self._send_element(way, self.elements)
        # The last stop of the task has been sent: the next token is the first head of the next task
        if self.unfinished_counts[self.slot] == 0:
            self.sent_heads = 0
        return True

    def _wait_for_elements(self) -> int:
        """Return the wait state of a cycle in which no element of the current task could be sent."""
        if not self.elements.can_push():
            return self.wait_output(self.elements)
        if self.sent_heads == self.fan_ins[self.slot] and not self.successors.can_pop():
            return self.wait_input(self.successors)
        # The lines of the next element are missing: wait for a line in flight, or for space to request one
        for index in range(self.memories):
            lines: WayLines = self.arrays[index]
            if lines.waiting > 0:
                return self.wait_input(self.replies[index])
        return self.wait_any_output(self.requests)


class HeadPoints(MergedPoints):
    """Follows a ``SortedHeadUnit`` as a ``MergedPoints`` follows a merger; no fiber is partial.

    Interface, timing and counts: as in ``MergedPoints``, for tasks whose lists are numbered from 0.

    Source: see ``MergedPoints``.

    Args:
        lists: state shared with ``FiberHeads``.
    """

    def __init__(self, name: str, lists: Lists) -> None:
        super().__init__(name, lists)
        self.ports = tuple(port for port in self.ports if port.name != "partials")
        self.tasks = 0  # number of tasks that have ended

    def _send(self, ends: bool) -> None:
        # Add the first list of the task back to the numbers of its lists
        self.first = self.table.firsts.integer(self.tasks)
        MergedPoints._send(self, ends)
        self.tasks += ends
