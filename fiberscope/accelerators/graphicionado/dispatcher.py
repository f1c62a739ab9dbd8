# cython: infer_types=True
"""P2: finds where the edges of an active vertex begin, and deals the vertices out to the edge readers."""

from __future__ import annotations

from fiberscope.accelerators.graphicionado.layout import START_BYTES
from fiberscope.accelerators.graphicionado.protocols import LINE, SOURCES
from fiberscope.accelerators.graphicionado.store import Edges, Frontier
from fiberscope.hw.memory.prefetch_protocol import OPEN, STREAM_ELEMENT, STREAM_JOB
from fiberscope.hw.schedule import SchedulePolicy, Task, Worker, least_loaded
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal


class Dispatcher(Component):
    """Deals active vertices out to edge readers: to the one with the most room, the next in turn of several.

    Interface: ``entries`` brings the places of active vertices in their list, or of groups of vertices where
    all are active, and a stop. Each becomes a job for a reader, and on ``sources`` the vertices that it is
    for. Where edges begin is known at once (the latency of the table is that of ``jobs``), or comes from
    memory: then lines of it leave on ``wanted`` and come back on ``starts`` in the same order.

    Timing: a vertex a cycle; with starts in memory one goes to be looked up and one is dealt.

    Counts: ``dealt`` jobs; ``vertices`` that they are for.

    Args:
        name: instance name.
        edges: the stream's.
        frontier: its active vertices.
        vertices: how many the stream has.
        group: vertices of a job where all are active; 0 where the frontier says which are.
        counted: whether the ends of lists are known; else a reader goes on until it is stopped.
        coarsen: vertices that share an entry of the table, whose first edge a list is read from.
        line_bytes: of a line of starts in memory.
    """

    PORTS = (
        Input("entries", STREAM_ELEMENT),
        Output("wanted", LINE, optional=True),
        Input("starts", LINE, optional=True),
        Output("jobs", STREAM_JOB, array=True),
        Output("sources", SOURCES, array=True),
    )
    COUNTERS = ("dealt", "vertices")
    SIGNALS = (Signal("dealt", 48),)

    POLICY = SchedulePolicy

    entries: Channel
    wanted: Channel | None
    starts: Channel | None
    jobs: list[Channel]
    sources: list[Channel]

    def __init__(
        self,
        name: str,
        edges: Edges,
        frontier: Frontier,
        vertices: int,
        *,
        group: int,
        counted: bool,
        coarsen: int,
        line_bytes: int,
    ) -> None:
        super().__init__(name)
        self.policy: SchedulePolicy | None = None  # C: public
        self.edges = edges
        self.frontier = frontier
        self.vertex_count = vertices
        self.group = group
        self.counted = counted
        self.coarsen = coarsen
        self.line_bytes = line_bytes
        self.turn = 0  # the reader that is looked at first
        self.dealt = self.vertices = 0

    def elaborate(self) -> None:
        """Count the readers."""
        super().elaborate()
        self.readers = len(self.jobs)

    def tick(self, now: int) -> int:
        """Have one looked up, deal one out."""
        looked_up = self.wanted is not None and self._look_up()
        ready = self.entries if self.starts is None else self.starts
        progress = looked_up
        if ready.can_pop():
            if self._end(ready) if ready.control() == STOP else self._deal(ready, now):
                progress = True
            elif not progress:
                return self.wait_any_output(self.sources)
        if progress:
            return self.busy(now + 1)
        if self.wanted is not None and self.entries.can_pop():
            return self.wait_output(self.wanted)
        return self.idle()

    def _look_up(self) -> bool:
        """Ask for the line that says where a vertex's edges begin."""
        if not (self.entries.can_pop() and self.wanted.can_push()):  # type: ignore[union-attr]  # asked before
            return False
        place = self.entries.coordinate()
        line = self._first(place) * START_BYTES // self.line_bytes
        self.wanted.push(self.entries.control(), line, place)  # type: ignore[union-attr]
        self.entries.pop()
        return True

    def _first(self, place: int) -> int:  # C: noexcept
        """The first vertex at a place of the list."""
        if self.group:
            return place * self.group
        return self.frontier.vertices[place] if place < self.frontier.count else 0

    def _deal(self, ready: Channel, now: int) -> bool:
        place = ready.coordinate() if self.starts is None else ready.reference()
        first = self._first(place)
        end = min(first + max(1, self.group), self.vertex_count)
        reader = self._roomiest()
        if self.policy is not None:
            job = Task(first, self.edges.pointers[end] - self.edges.pointers[first])
            reader = self.policy.number_of_worker(job, self._workers(), now)
        if reader < 0:
            return False
        value = 0.0 if self.group else self.frontier.properties[place]
        jobs, sources = self.jobs[reader], self.sources[reader]
        start = self.edges.pointers[first - first % self.coarsen]
        jobs.push(0, start, self.edges.pointers[end] if self.counted else OPEN)
        sources.push(DATA, first, end, value)
        ready.pop()
        self.dealt += 1
        self.vertices += end - first
        self.turn = reader + 1
        return True

    def _roomiest(self) -> int:
        """The reader with the most room for jobs, the next in turn of several; -1 if none has any."""
        best, most = -1, 0
        reader = self.turn
        for _ in range(self.readers):
            if reader >= self.readers:
                reader = 0
            jobs, sources = self.jobs[reader], self.sources[reader]
            room = sources.space()
            if room > most and jobs.can_push():
                best, most = reader, room
            reader += 1
        return best

    def _workers(self) -> list[Worker]:
        """The readers with room, in the order of ``_roomiest``."""
        room = [sources.space() for sources in self.sources]
        is_open = [room[i] > 0 and self.jobs[i].can_push() for i in range(self.readers)]
        waiting = [self.sources[i].capacity - room[i] for i in range(self.readers)]
        return least_loaded(self.turn, waiting, is_open)

    def _end(self, ready: Channel) -> bool:
        """Pass a stop on to all readers, once all have room for it."""
        for reader in range(self.readers):
            sources = self.sources[reader]
            if not sources.can_push():
                return False
        for reader in range(self.readers):
            sources = self.sources[reader]
            sources.push(STOP)
        ready.pop()
        return True
