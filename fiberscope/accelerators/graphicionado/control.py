"""The control of iterations and slices, with the barrier between processing edges and applying vertices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fiberscope.accelerators.graphicionado.protocols import APPLY
from fiberscope.accelerators.graphicionado.stream import Stream
from fiberscope.accelerators.machine import Iteration
from fiberscope.hw.fibers.list_writer import LIST_END
from fiberscope.hw.memory.prefetch_protocol import STREAM_JOB
from fiberscope.hw.memory.touched import COUNT, FIND, SCAN
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

PHASES = ("begin", "process", "apply", "done")
BEGIN_PHASE, PROCESS_PHASE, APPLY_PHASE, DONE_PHASE = range(len(PHASES))


@dataclass(frozen=True)
class Schedule:
    """The schedule of a run.

    Args:
        bounds: for each slice and stream, the first of the stream's vertices in the slice; a last entry has
            the number of vertices of each stream.
        max_iterations: largest number of iterations.
        groups: for each stream, the number of groups of vertices that its vertex reader brings if all
            vertices are active; None if the frontier lists the active vertices.
        applies_all: whether all vertices are applied, and not only touched vertices or touched blocks.
        streaming_above: number of touched vertices in a slice above which all its vertices are applied.
    """

    bounds: Sequence[Sequence[int]]
    max_iterations: int
    groups: Sequence[int] | None
    applies_all: bool
    streaming_above: int


class Control(Component):
    """Component that processes the edges of each slice, then applies its vertices, until no vertex is active.

    The run ends also after ``max_iterations``. If all vertices are always active, only this number or
    ``is_enough`` ends it.

    Interface: ``jobs[i]`` sends the number of active vertices, or of groups of vertices, to the vertex reader
    of stream i. ``ready[i]`` brings the number of touched vertices when no update is in flight any more. Then
    ``scans`` starts the scan for these vertices, and ``applies[i]`` starts the apply phase; its control is 1
    if all vertices of the slice are applied. ``ends[i]`` reports that the stream's list of active vertices is
    written.

    Timing: to begin a slice, to start its apply phase, and to end the slice take one cycle each, for all
    streams together.

    Counts: ``iterations``; ``activations``, the active vertices of all iterations; and ``updates``, the
    touched vertices of all iterations.

    Args:
        streams: the streams; the control selects slices in their stores and their apply order.
        schedule: the schedule of the run.

    Attributes:
        is_enough: function that is called with the records of all finished iterations, after each iteration
            that does not end the run anyway; a true result ends the run.
    """

    PORTS = (
        Output("jobs", STREAM_JOB, array=True),
        Input("ready", COUNT, array=True),
        Output("scans", SCAN, array=True, optional=True),
        Output("applies", APPLY, array=True),
        Input("ends", LIST_END, array=True),
    )
    COUNTERS = ("iterations", "activations", "updates")
    SIGNALS = (Signal("phase", 2, "state", PHASES), Signal("iterations", 32), Signal("frontier", 32))

    jobs: list[Channel]
    ready: list[Channel]
    scans: list[Channel]
    applies: list[Channel]
    ends: list[Channel]

    def __init__(self, name: str, streams: Sequence[Stream], schedule: Schedule) -> None:
        super().__init__(name)
        self.streams = streams
        self.schedule = schedule
        self.phase = BEGIN_PHASE
        self.slice = 0
        self.iterations = self.activations = self.updates = 0
        self.frontier = self._count_active()
        self.touched = 0  # number of vertices touched in this iteration
        self.began_at = self.apply_started_at = 0
        self.records: list[Iteration] = []
        self.is_enough: Callable[[Sequence[Iteration]], bool] = lambda _records: False

    def tick(self, now: int) -> int:
        """Begin a slice, or wait for all streams and take the next step."""
        if self.phase == BEGIN_PHASE:
            return self._begin_slice(now)
        if self.phase == PROCESS_PHASE:
            return self._start_apply(now) if _all_can_pop(self.ready) else self.wait_any_input(self.ready)
        if self.phase == APPLY_PHASE:
            return self._end_slice(now) if _all_can_pop(self.ends) else self.wait_any_input(self.ends)
        return self.idle()

    def _count_active(self) -> int:
        """Return the number of active vertices of all streams."""
        if self.schedule.groups is not None:
            return sum(stream.vertices.count for stream in self.streams)
        return sum(stream.frontier.count for stream in self.streams)

    def _begin_slice(self, now: int) -> int:
        """Begin a slice: select its edges and vertices, and start to process its edges."""
        first, end = self.schedule.bounds[self.slice], self.schedule.bounds[self.slice + 1]
        # Pushes need no check: the slice before has ended, so each stream has taken its token.
        for number, stream in enumerate(self.streams):
            stream.edges.select(self.slice)
            stream.order.select(first[number], end[number])
            if self.slice == 0 and self.schedule.groups is not None:
                # All vertices are active: edges are processed with the properties of the last iteration,
                # which the apply phases of this iteration's slices change.
                stream.vertices.send()
            groups = self.schedule.groups
            self.jobs[number].push(0, 0, stream.frontier.count if groups is None else groups[number])
        if self.slice == 0:
            self.began_at = now
            self.activations += self.frontier
        self.phase = PROCESS_PHASE
        return self.busy(now + 1)

    def _start_apply(self, now: int) -> int:
        """Start the apply phase of the slice, since all updates are done."""
        touched = 0
        for channel in self.ready:
            touched += channel.reference()
            channel.pop()
        self.touched += touched
        applies_all = self.schedule.applies_all or touched > self.schedule.streaming_above
        for channel in self.scans:
            channel.push(FIND)
        for channel in self.applies:
            channel.push(int(applies_all))
        self.apply_started_at = now
        self.phase = APPLY_PHASE
        return self.busy(now + 1)

    def _end_slice(self, now: int) -> int:
        """End the slice, and after the last slice the iteration."""
        for channel in self.ends:
            channel.pop()
        self.slice += 1
        self.phase = BEGIN_PHASE
        # The last entry of ``bounds`` is an end, not a slice.
        if self.slice == len(self.schedule.bounds) - 1:
            self._end_iteration(now)
        return self.busy(now + 1)

    def _end_iteration(self, now: int) -> None:
        """Record the iteration, exchange the frontiers, and decide whether the run is done."""
        record = Iteration(self.frontier, self.touched, self.began_at, self.apply_started_at, now)
        self.records.append(record)
        self.updates += self.touched
        self.iterations += 1
        self.slice = self.touched = 0
        for stream in self.streams:
            stream.frontier.swap()
        self.frontier = self._count_active()
        is_last = self.frontier == 0 or self.iterations == self.schedule.max_iterations
        if is_last or self.is_enough(self.records):
            self.phase = DONE_PHASE


def _all_can_pop(channels: list[Channel]) -> bool:
    return all(channel.can_pop() for channel in channels)
