# cython: infer_types=True
"""End of pipeline stage P3: an edge pipe that assigns edges to their source vertices and sends them on."""

from __future__ import annotations

from array import array

from fiberscope.accelerators.graphicionado.protocols import EDGE, SOURCES
from fiberscope.accelerators.graphicionado.store import Edges, Vertices
from fiberscope.hw.memory.prefetch_protocol import STREAM_ELEMENT, STREAM_STOP
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel, seen_from
from fiberscope.sim.component import Component, Input, Output, Signal

# States of a reader: without vertices, with vertices, stopped before the end of its list, after its last stop
FREE, READING, STOPPED, ENDED = range(4)


class EdgePipe(Component):
    """An edge pipe that sends the edges of its readers to the crossbar, one per cycle, in round-robin order.

    Interface: ``sources[i]`` brings ranges of vertices, and ``elements[i]`` the edges of these vertices from
    reader i, in order. Edges before the first edge of a range are skipped. An edge after the last edge of the
    range ends an open list: ``stops[i]`` stops the reader, whose edges are discarded up to its stop. When all
    ``sources`` have brought a stop, a stop leaves for each destination stream.

    Timing: in every cycle, the head edge of each reader is checked, and one edge is sent.

    Accounting: waiting for output while the crossbar takes no edge; else idle if no reader has vertices, and
    waiting for any edge otherwise.

    Counts: ``edges`` sent, ``passed`` (skipped) and ``dropped`` (discarded).

    Args:
        edges, vertices: edges and vertices of the stream.
        streams: number of destination streams.
        all_active: whether all vertices are active. The property of a source then comes from ``vertices``,
            not from the token.
    """

    PORTS = (
        Input("sources", SOURCES, array=True),
        Input("elements", STREAM_ELEMENT, array=True),
        Output("stops", STREAM_STOP, array=True),
        Output("sent", EDGE),
    )
    COUNTERS = ("edges", "passed", "dropped")
    SIGNALS = (Signal("edges", 48), Signal("dropped", 48))

    sources: list[Channel]
    elements: list[Channel]
    stops: list[Channel]
    sent: Channel

    def __init__(
        self, name: str, edges: Edges, vertices: Vertices, streams: int, *, all_active: bool
    ) -> None:
        super().__init__(name)
        self.store = edges
        self.vertex_store = vertices
        self.streams = streams
        self.all_active = all_active
        self.first_reader = 0  # number of the reader that is considered first
        self.ended_readers = 0  # number of readers that have ended
        self.stopped_streams = 0  # number of destination streams to which a stop was sent
        self.edges = self.passed = self.dropped = 0

    def elaborate(self) -> None:
        """Count the readers."""
        super().elaborate()
        count = self.readers = len(self.sources)
        self.seen_from = seen_from(self.elements)  # C: long[::1]
        self.sources_from = seen_from(self.sources)  # C: long[::1]; the next vertices of a reader
        self.states = array("b", bytes(count))
        self.vertices = array("q", bytes(8 * count))  # by reader: its current vertex
        self.ends = array("q", bytes(8 * count))  # by reader: end of its range of vertices
        self.firsts = array("q", bytes(8 * count))  # by reader: first edge of its current vertex
        self.edge_ends = array("q", bytes(8 * count))  # by reader: end of the edges of its current vertex
        self.properties = array("d", bytes(8 * count))

    def tick(self, now: int) -> int:
        """Check every reader and send an edge; after the last edge, send a stop to one stream per cycle."""
        if self.ended_readers == self.readers:
            return self._send_stop(now)
        progress, is_blocked, has_sent = False, False, False
        reader = self.first_reader
        for _ in range(self.readers):
            if self.states[reader] == FREE and self.sources_from[reader] <= now:
                self._begin(reader)
                progress = True
            if self.states[reader] != FREE and self.seen_from[reader] <= now:
                source = self.elements[reader]
                if self._has_edge_to_send(reader, source):
                    if not has_sent and self.sent.can_push():
                        self._send(reader, source)
                        has_sent = True
                    else:
                        is_blocked = True
                else:
                    progress = True
            reader = reader + 1 if reader + 1 < self.readers else 0
        if has_sent or progress:
            return self.busy(now + 1)
        if is_blocked:
            return self.wait_output(self.sent)
        return self.idle() if self._is_free() else self.wait_any_input(self.elements)

    def _is_free(self) -> bool:  # C: noexcept
        """Return whether no reader has vertices."""
        working = 0
        for reader in range(self.readers):
            working += self.states[reader] in (READING, STOPPED)
        return working == 0

    def _begin(self, reader: int) -> None:  # C: inline
        """Take the next vertices of a reader, or its end."""
        sources = self.sources[reader]
        if sources.control() == STOP:
            self.states[reader] = ENDED
            self.ended_readers += 1
        else:
            self.states[reader] = READING
            self.ends[reader] = sources.reference()
            self.properties[reader] = sources.value()
            self._select_vertex(reader, sources.coordinate())
        sources.pop()

    def _select_vertex(self, reader: int, vertex: int) -> None:
        self.vertices[reader] = vertex
        self.firsts[reader] = self.store.pointers[vertex]
        self.edge_ends[reader] = self.store.pointers[vertex + 1]
        if self.all_active:
            self.properties[reader] = self.vertex_store.sent[vertex]

    def _has_edge_to_send(self, reader: int, source: Channel) -> bool:  # C: inline
        """Return whether the head element of a reader is an edge to send; pop any other element."""
        if source.control() == STOP:
            self.states[reader] = FREE
        elif self.states[reader] == STOPPED:
            self.dropped += 1
        elif source.coordinate() < self.firsts[reader]:
            self.passed += 1
        elif self._is_in_range(reader, source.coordinate()):
            return True
        else:
            stops = self.stops[reader]
            stops.push(0)  # there is space: one for each list, and this one has not ended
            self.states[reader] = STOPPED
            self.dropped += 1
        source.pop()
        return False

    def _is_in_range(self, reader: int, edge: int) -> bool:  # C: inline
        """Return whether an edge belongs to the reader's current vertex, or to a later one, made current."""
        while edge >= self.edge_ends[reader]:
            if self.vertices[reader] + 1 >= self.ends[reader]:
                return False
            self._select_vertex(reader, self.vertices[reader] + 1)
        return True

    def _send(self, reader: int, source: Channel) -> None:  # C: inline
        edge = source.coordinate()
        destination = self.store.destinations[edge]
        self.store.temporaries.fetch(destination)
        self.sent.push(DATA, destination, self.store.first_weight + edge, self.properties[reader])
        source.pop()
        self.edges += 1
        self.first_reader = reader + 1 if reader + 1 < self.readers else 0

    def _send_stop(self, now: int) -> int:
        if not self.sent.can_push():
            return self.wait_output(self.sent)
        self.sent.push(STOP, self.stopped_streams)
        self.stopped_streams += 1
        if self.stopped_streams == self.streams:
            self.stopped_streams = self.ended_readers = 0
            for reader in range(self.readers):
                self.states[reader] = FREE
        return self.busy(now + 1)
