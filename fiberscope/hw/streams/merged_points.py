# cython: infer_types=True
"""The output unit of a merger, which stores partial fibers or sends a stream of points."""

from __future__ import annotations

from fiberscope.hw.stream import STREAM
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.merge_lists import MERGE, PARTIAL, POINTS, Lists
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, REF, STOP, VAL
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Port
from fiberscope.sim.constants import MAX_TIME


class MergedPoints(StreamBlock):
    """Follows a merger: stores partial fibers, and sends the result of a task as points.

    Interface: elements arrive on ``merged``. ``groups`` carries the destination of each fiber. A partial
    fiber goes into the store, and ``partials`` announces when it is complete. The last fiber of a task
    leaves as points: for each element, its coordinate leaves on ``out_outer``, the coordinate of its list
    on ``out_inner``, its value on ``out_val``, and the references that travel along with the list on
    ``out_carried0`` and so on. A stop of level 1 ends a task, since its points form a fiber. The done of
    ``groups`` leaves on all of these streams.

    Timing: one element or stop per cycle.

    Counts: ``points``, and elements ``stored``.

    Source: see ``FiberWays``. Points of equal coordinates leave in successive cycles, without stops between
    them; this is a choice of this model.

    Args:
        lists: state shared with ``FiberWays``.
    """

    COUNTERS = ("points", "stored")

    merged: Channel
    groups: Channel
    partials: Channel
    out_outer: OutputStream
    out_inner: OutputStream
    out_val: OutputStream

    def __init__(self, name: str, lists: Lists) -> None:
        super().__init__(name)
        self.table = lists
        self.points = self.stored = 0
        self.first = 0  # list to which the reference 0 of an element refers
        self.carried_count = len(lists.carried)
        self.ports: tuple[Port, ...] = (
            Input("merged", STREAM),
            Input("groups", MERGE),
            Output("partials", PARTIAL),
            output_stream("out_outer", CRD),
            output_stream("out_inner", CRD),
            output_stream("out_val", VAL),
            *(output_stream(f"out_carried{index}", REF) for index in range(self.carried_count)),
        )

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports, which depend on the number of references that travel along."""
        return self.ports

    def quiet(self) -> int:  # C: noexcept
        """Return ``MAX_TIME``: only the stop of a partial fiber is announced outside the streams."""
        return MAX_TIME

    def update(self, now: int) -> int:
        """Pop an element, or the stop of a fiber."""
        if not self.groups.can_pop():
            return self.wait_input(self.groups)
        if self.groups.control() == DONE:
            self.groups.pop()
            self.send_control(DONE, 0)
            return self.finish(now)
        if not self.merged.can_pop():
            return self.wait_input(self.merged)
        # The destination stays at the head of ``groups`` until the stop of its fiber.
        area, ends = self.groups.coordinate(), self.merged.control() != DATA
        if area == POINTS:
            self._send(ends)
        else:
            self._store(area, ends)
        if ends:
            self.groups.pop()
        self.merged.pop()
        return self.busy(now + 1)

    def _send(self, ends: bool) -> None:
        """Send the element at the head of ``merged`` as a point, or the stop of a task if ``ends``."""
        if ends:
            self.send_control(STOP, 1)
            return
        source = self.first + self.merged.reference()
        self.points += 1
        self.out_outer.push(DATA, self.merged.coordinate())
        self.out_inner.push(DATA, self.table.coordinates.integer(source))
        self.out_val.push(DATA, 0, self.merged.value())
        # The first three streams are ``out_outer``, ``out_inner`` and ``out_val``; ``partials`` is no stream.
        for index in range(self.carried_count):
            references: Growing = self.table.carried[index]
            stream: OutputStream = self.streams[3 + index]
            stream.push(DATA, references.integer(source))

    def _store(self, area: int, ends: bool) -> None:
        """Store an element of a partial fiber; if ``ends``, end the fiber and announce it."""
        if ends:
            self.table.end(area)
            self.partials.push(DATA)
            return
        self.stored += 1
        self.table.store(area, self.merged.coordinate(), self.merged.reference(), self.merged.value())
