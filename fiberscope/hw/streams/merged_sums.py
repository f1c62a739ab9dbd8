# cython: infer_types=True
"""A merger whose partial fibers are scaled and added up before they are stored."""

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


class PointsAndSums(MergedPoints):  # C: open; as its base
    """Follows a merger: sends all that it gives, products to be made of points, and sums of these beside.

    Interface: as of ``MergedPoints``, but nothing is stored here. An element of a list leaves as a point; a
    sum leaves its coordinate on ``out_outer`` and its value on ``out_sum``. On all of them a stop of level 1
    ends each fiber; ``targets`` tells before its first element where it goes.

    Timing: an element or a stop a cycle.

    Counts: ``points``, without sums; ``stored`` none.

    Source: Gamma (ASPLOS 2021) multiplies and adds up behind its merger, whether a fiber is a row or a part.

    Args:
        name: instance name.
        lists: shared with ``FiberWays``.
    """

    targets: Channel
    out_sum: OutputStream

    def __init__(self, name: str, lists: Lists) -> None:
        super().__init__(name, lists)
        sent = tuple(port for port in self.ports if port.name != "partials")
        self.ports = (*sent, Output("targets", MERGE), output_stream("out_sum", VAL))
        self.begun = False  # of the present fiber it has been told where it goes

    def update(self, now: int) -> int:
        """Tell where a fiber goes, take an element, or the stop."""
        if not self.groups.can_pop():
            return self.wait_input(self.groups)
        if not self.begun:
            if not self.targets.can_push():
                return self.wait_output(self.targets)
            self.targets.push(self.groups.control(), self.groups.coordinate())
            self.begun = True
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
        if ends:
            self.groups.pop()
            self.begun = False
        if ends or self.merged.reference() != SUM:
            self._send(ends)
        else:
            self.out_outer.push(DATA, self.merged.coordinate())
            self.out_sum.push(DATA, 0, self.merged.value())


class Either(StreamBlock):
    """Fibers of values that come from one of two streams, while the other has an empty one.

    Interface: fibers on ``in_first`` and ``in_second``, as many, each with a stop; ``out_val`` has of each
    pair the values and one stop. Done passes when both have it.

    Timing: a value or a stop a cycle.

    Source: a choice of this model: behind a merger products, of what lists have, and sums, which pass by the
    multiplier, come to one adder.
    """

    PORTS = (Input("in_first", VAL), Input("in_second", VAL), output_stream("out_val", VAL))

    in_first: Channel
    in_second: Channel
    out_val: OutputStream

    def update(self, now: int) -> int:
        """Take a value, or the stops of both."""
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
    """Stores fibers of sums that are to be merged again, and passes the last of a task on.

    Interface: sums on ``in_crd`` and ``in_val``, a stop behind each fiber; ``targets`` tells of each whether
    it goes into the store, of which ``partials`` tells when it is whole, or on, by ``out_crd`` and
    ``out_val``.

    Timing: a sum or a stop a cycle.

    Counts: ``stored`` sums.

    Source: as of ``PointsAndSums``.

    Args:
        name: instance name.
        lists: shared with ``FiberWays``.
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
        """All: only the stop of a partial fiber is told."""
        return MAX_TIME

    def update(self, now: int) -> int:
        """Take a sum, or the stop of a fiber."""
        for channel in (self.targets, self.in_crd, self.in_val):
            if not channel.can_pop():
                return self.wait_input(channel)
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
        if ends:
            self.table.end(area)
            self.partials.push(DATA)
            return
        self.stored += 1
        self.table.store(area, self.in_crd.coordinate(), SUM, self.in_val.value())
