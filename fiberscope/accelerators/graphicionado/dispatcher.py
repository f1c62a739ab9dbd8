# cython: infer_types=True
"""Pipeline stage P2: a dispatcher that looks up first edges and assigns active vertices to edge readers."""

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
    """A dispatcher that assigns active vertices to edge readers.

    Each job goes to the reader with the most free slots, unless a ``SchedulePolicy`` chooses another reader
    that has a free slot. Among readers with equally many, the next in round-robin order gets the job. A stop
    goes to all readers at once.

    Interface: ``entries`` brings the positions of active vertices in their list, then a stop. If all vertices
    are active, an entry is the number of a group of vertices. Each entry becomes a job on ``jobs``, and its
    range of vertices a token on ``sources``. The table of first edges is on the chip, where the latency of
    ``jobs`` is its latency, or in memory. Entries that bring their range of edges keep that latency. For a
    table in memory, ``wanted`` requests lines of the table, and ``starts`` returns them in the same order.

    Timing: one entry per cycle. With a table in memory, a cycle begins one lookup and dispatches one job.

    Counts: ``dealt``, the jobs dispatched; ``vertices``, the vertices of these jobs.

    Args:
        edges: edges of the stream.
        frontier: active vertices of the stream.
        vertices: number of vertices of the stream.
        group: number of vertices of a job if all vertices are active; 0 if the frontier lists them.
        counts_edges: whether the end of an edge list is known; if not, a reader continues until it is
            stopped.
        coarsen: number of vertices that share an entry of the table. A list is read from the first edge of
            these vertices.
        line_bytes: bytes of a line of the table in memory.
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
        counts_edges: bool,
        coarsen: int,
        line_bytes: int,
    ) -> None:
        super().__init__(name)
        self.policy: SchedulePolicy | None = None  # C: public
        self.edges = edges
        self.frontier = frontier
        self.vertex_count = vertices
        self.group = group
        self.counts_edges = counts_edges
        self.coarsen = coarsen
        self.line_bytes = line_bytes
        self.first_reader = 0  # number of the reader that is considered first
        self.dealt = self.vertices = 0

    def elaborate(self) -> None:
        """Count the readers."""
        super().elaborate()
        self.readers = len(self.jobs)

    def tick(self, now: int) -> int:
        """Begin a lookup and dispatch a job."""
        looked_up = self.wanted is not None and self._look_up()
        # With a table in memory, an entry is dispatched when its line has come back in ``starts``
        ready = self.entries if self.starts is None else self.starts
        progress = looked_up
        if ready.can_pop():
            if self._forward_stop(ready) if ready.control() == STOP else self._dispatch(ready, now):
                progress = True
            elif not progress:
                return self.wait_any_output(self.sources)
        if progress:
            return self.busy(now + 1)
        if self.wanted is not None and self.entries.can_pop():
            return self.wait_output(self.wanted)
        return self.idle()

    def _look_up(self) -> bool:
        """Request the line of the table with the first edge of a vertex; return whether it was requested."""
        if not (self.entries.can_pop() and self.wanted.can_push()):  # type: ignore[union-attr]  # asked before
            return False
        position = self.entries.coordinate()
        # A stop is passed through the line reader too, so that it stays behind the entries before it
        line = self._first_vertex(position) * START_BYTES // self.line_bytes
        self.wanted.push(self.entries.control(), line, position)  # type: ignore[union-attr]
        self.entries.pop()
        return True

    def _first_vertex(self, position: int) -> int:  # C: noexcept
        """Return the vertex at a position of the list, or the first vertex of a group."""
        if self.group:
            return position * self.group
        return self.frontier.vertices[position] if position < self.frontier.count else 0

    def _dispatch(self, ready: Channel, now: int) -> bool:
        """Dispatch the job of the entry at the head of ``ready``; return whether a reader took the job.

        ``ready`` is ``entries``, or ``starts`` if the table is in memory.
        """
        position = ready.coordinate() if self.starts is None else ready.reference()
        first = self._first_vertex(position)
        end = min(first + max(1, self.group), self.vertex_count)  # the last group may be smaller
        reader = self._select_reader()
        if self.policy is not None:
            job = Task(first, self.edges.pointers[end] - self.edges.pointers[first])
            reader = self.policy.choose_worker(job, self._workers(), now)
        if reader < 0:
            return False
        value = 0.0 if self.group else self.frontier.properties[position]
        jobs, sources = self.jobs[reader], self.sources[reader]
        # Of vertices that share an entry, all lists begin at the same edge; the edge pipe skips earlier edges
        start = self.edges.pointers[first - first % self.coarsen]
        jobs.push(0, start, self.edges.pointers[end] if self.counts_edges else OPEN)
        sources.push(DATA, first, end, value)
        ready.pop()
        self.dealt += 1
        self.vertices += end - first
        self.first_reader = reader + 1
        return True

    def _select_reader(self) -> int:
        """Return the reader with the most free slots, in round-robin order if equal; -1 if none has any.

        A reader without space for a job counts as having no free slot.
        """
        best, most_free = -1, 0
        reader = self.first_reader
        for _ in range(self.readers):
            if reader >= self.readers:
                reader = 0
            jobs, sources = self.jobs[reader], self.sources[reader]
            free = sources.space()
            if free > most_free and jobs.can_push():
                best, most_free = reader, free
            reader += 1
        return best

    def _workers(self) -> list[Worker]:
        """Return the readers with free slots, in the order in which ``_select_reader`` prefers them."""
        free = [sources.space() for sources in self.sources]
        is_open = [free[i] > 0 and self.jobs[i].can_push() for i in range(self.readers)]
        waiting = [self.sources[i].capacity - free[i] for i in range(self.readers)]
        return least_loaded(self.first_reader, waiting, is_open)

    def _forward_stop(self, ready: Channel) -> bool:
        """Pass a stop on to all readers once each has a free slot; return whether it was passed on."""
        for reader in range(self.readers):
            sources = self.sources[reader]
            if not sources.can_push():
                return False
        for reader in range(self.readers):
            sources = self.sources[reader]
            sources.push(STOP)
        ready.pop()
        return True
