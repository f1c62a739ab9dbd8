# cython: infer_types=True
"""A merger's output units, for partial fibers that are scaled and added up before they are stored."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.merge_lists import MERGE, PARTIAL, POINTS, SUM, Lists
from fiberscope.hw.streams.merged_points import MergedPoints
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, VAL
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output
from fiberscope.sim.constants import MAX_TIME

__all__ = ["Either", "FiberSums", "PointsAndSums"]


class PointsAndSums(MergedPoints):
    """Follows a merger: sends elements of lists as points to multiply, and passes sums by the multiplier.

    Interface: as in ``MergedPoints``, but this unit stores nothing. An element of a list leaves as a point.
    For a sum, its coordinate leaves on ``out_outer`` and its value on ``out_sum``. A stop of level 1 ends
    each fiber on all outputs. ``targets`` carries the destination of each fiber, before the first element
    of the fiber, and at the end the done of ``groups``.

    Timing: one element or stop per cycle.

    Counts: ``points``, without sums; ``stored`` stays 0.

    Source: Gamma (ASPLOS 2021) multiplies and adds after its merger, for partial fibers as for whole rows.

    Args:
        lists: state shared with ``FiberWays``.
    """

    targets: Channel
    out_sum: OutputStream

    def __init__(self, name: str, lists: Lists) -> None:
        super().__init__(name, lists)
        kept_ports = tuple(port for port in self.ports if port.name != "partials")
        # Partial fibers are stored by ``FiberSums``, after they are scaled and added up.
        self.ports = (*kept_ports, Output("targets", MERGE), output_stream("out_sum", VAL))
        self.has_sent_target = False  # whether the destination of the current fiber has been sent

    def quiet(self) -> int:  # C: noexcept
        """Return 0 if the next element sends the destination of its fiber, else ``MAX_TIME``."""
        return MAX_TIME if self.has_sent_target else 0

    def update(self, now: int) -> int:
        """Send the destination of a fiber, and pop an element or the stop of a fiber."""
        if not self.groups.can_pop():
            return self.wait_input(self.groups)
        if not self.has_sent_target:
            if not self.targets.can_push():
                return self.wait_output(self.targets)
            self.targets.push(self.groups.control(), self.groups.coordinate())
            self.has_sent_target = True
        if self.groups.control() == DONE:
            self.groups.pop()
            self.send_control(DONE, 0)
            return self.finish(now)
        if not self.merged.can_pop():
            return self.wait_input(self.merged)
        self._pass_on(self.merged.control() != DATA)
        self.merged.pop()
        return self.busy(now + 1)

    def _pass_on(self, ends: bool) -> None:
        """Send the head of ``merged``: a stop if ``ends``, else a point to multiply or a finished sum.

        The stop also ends the current group, so that the next fiber gets its own destination.
        """
        if ends:
            self.groups.pop()
            self.has_sent_target = False
        if ends or self.merged.reference() != SUM:
            self._send(ends)
        else:
            self.out_outer.push(DATA, self.merged.coordinate())
            self.out_sum.push(DATA, 0, self.merged.value())


class Either(StreamBlock):
    """Combines two streams of fibers of values; of each pair of fibers, at most one has values.

    Interface: ``in_first`` and ``in_second`` carry equally many fibers, each with a stop. For each pair of
    fibers, ``out_val`` carries the values and one stop, that of ``in_first``. Done leaves when both inputs
    have it. The block does not check that the stops and the done of the inputs match.

    Timing: one value or stop per cycle.

    Source: a choice of this model. After a merger, products of list elements, and sums, which bypass the
    multiplier, reach the same adder.
    """

    PORTS = (Input("in_first", VAL), Input("in_second", VAL), output_stream("out_val", VAL))

    in_first: Channel
    in_second: Channel
    out_val: OutputStream

    def update(self, now: int) -> int:
        """Pop a value, or the stops of both inputs."""
        # A value needs no counterpart: at most one of the two fibers has values.
        for channel in (self.in_first, self.in_second):
            if channel.can_pop() and channel.control() in (DATA, EMPTY):
                self.out_val.push(channel.control(), 0, channel.value())
                channel.pop()
                return self.busy(now + 1)
        for channel in (self.in_first, self.in_second):
            if not channel.can_pop():
                return self.wait_input(channel)
        kind = self.in_first.control()
        self.out_val.push(kind, self.in_first.coordinate())
        self.in_first.pop()
        self.in_second.pop()
        return self.busy(now + 1) if kind != DONE else self.finish(now)


class FiberSums(StreamBlock):
    """Stores fibers of sums that are to be merged again, and passes on the last fiber of a task.

    Interface: sums arrive on ``in_crd`` and ``in_val``, with a stop after each fiber. ``targets`` carries
    the destination of each fiber. A partial fiber goes into the store, and ``partials`` announces when it
    is complete. The last fiber of a task leaves on ``out_crd`` and ``out_val``. The block does not check that
    the streams have the same shape.

    Timing: one sum or stop per cycle.

    Counts: ``stored`` sums.

    Source: see ``PointsAndSums``.

    Args:
        lists: state shared with ``FiberWays``.
    """

    PORTS = (
        Input("in_crd", CRD),
        Input("in_val", VAL),
        Input("targets", MERGE),
        Output("partials", PARTIAL),
        output_stream("out_crd", CRD),
        output_stream("out_val", VAL),
    )
    COUNTERS = ("stored",)

    in_crd: Channel
    in_val: Channel
    targets: Channel
    partials: Channel
    out_crd: OutputStream
    out_val: OutputStream

    def __init__(self, name: str, lists: Lists) -> None:
        super().__init__(name)
        self.table = lists
        self.stored = 0

    def quiet(self) -> int:  # C: noexcept
        """Return ``MAX_TIME``: only the stop of a partial fiber is announced outside the streams."""
        return MAX_TIME

    def update(self, now: int) -> int:
        """Pop a sum, or the stop of a fiber."""
        for channel in (self.targets, self.in_crd, self.in_val):
            if not channel.can_pop():
                return self.wait_input(channel)
        # The destination stays at the head of ``targets`` until the stop of its fiber; done has none.
        kind, area = self.in_crd.control(), self.targets.coordinate()
        if kind == DONE or area == POINTS:
            self.out_crd.push(kind, self.in_crd.coordinate())
            self.out_val.push(kind, self.in_val.coordinate(), self.in_val.value())
        else:
            self._store(area, kind != DATA)
        if kind != DATA:
            self.targets.pop()
        self.in_crd.pop()
        self.in_val.pop()
        return self.busy(now + 1) if kind != DONE else self.finish(now)

    def _store(self, area: int, ends: bool) -> None:
        """Store a sum of a partial fiber; if ``ends``, end the fiber and announce it."""
        if ends:
            self.table.end(area)
            self.partials.push(DATA)
            return
        self.stored += 1
        self.table.store(area, self.in_crd.coordinate(), SUM, self.in_val.value())
