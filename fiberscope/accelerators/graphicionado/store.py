# cython: infer_types=True
"""Memories of a stream: its vertices, its edges and its active vertices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fiberscope.accelerators.graphicionado.layout import StreamPartition
from fiberscope.hw.fibers.arrays import coordinates_of, integers_of, values_of
from fiberscope.sim import inline
from fiberscope.workloads.canonical import Values


class Temporaries:  # C: final
    """Temporary properties of all vertices; the properties of each stream are contiguous.

    Args:
        streams, vertices: number of streams, and of vertices in the graph.
        neutral: initial value of every temporary property.
    """

    def __init__(self, streams: int, vertices: int, neutral: float) -> None:
        self.streams = streams
        # Every stream has the space of the largest stream, so that a vertex's index needs no table.
        self.stream_vertices = -(-vertices // streams)
        self.values = values_of(np.full(streams * self.stream_vertices, neutral))  # C: double[::1]

    def stream_values(self, stream: int, count: int) -> memoryview[float]:  # C: def
        """Return a view of the temporary properties of a stream with ``count`` vertices; at least 1 entry."""
        return self.values[stream * self.stream_vertices : stream * self.stream_vertices + max(1, count)]

    def fetch(self, vertex: int) -> None:  # C: cpdef, noexcept
        """Prefetch the temporary property of a vertex into the cache of the host; it is needed soon.

        This speeds up the simulation, and changes nothing in the simulated machine.
        """
        # Vertex v has the number v // streams in the stream v % streams.
        inline.prefetch(self.values[vertex % self.streams * self.stream_vertices + vertex // self.streams])


class Vertices:  # C: final
    """A store for the properties, temporary properties and out-degrees of a stream's vertices.

    Two components write ``temporary`` alternately: the update unit before the barrier, the apply pipe after
    it. ``sent`` holds the properties from the start of the iteration, for programs in which all vertices
    send their properties.

    Args:
        properties: initial property of each vertex of the stream.
        degrees: out-degree of each vertex.
        temporary: temporary property of each vertex.
    """

    WRITERS: ClassVar[Mapping[str, str]] = {"properties": "apply"}

    def __init__(self, properties: Values, degrees: Sequence[int], temporary: memoryview[float]) -> None:
        self.count = len(properties)
        self.properties = values_of(properties.copy())  # C: public double[::1]
        self.sent = values_of(properties.copy())  # C: public double[::1]
        self.temporary = temporary  # C: public double[::1]
        self.degrees = integers_of(degrees)  # C: public long[::1]

    def send(self) -> None:  # C: def
        """Copy the current properties to ``sent``."""
        np.asarray(self.sent)[:] = np.asarray(self.properties)


class Edges:  # C: final
    """Edges of a stream; ``pointers`` belongs to the current slice.

    Args:
        partition: the stream's part of the graph.
        first_weight: index of the stream's first weight in the weights of all streams.
        temporaries: temporary properties of the destinations, which the host prefetches before updates.
    """

    def __init__(self, partition: StreamPartition, first_weight: int, temporaries: Temporaries) -> None:
        self._slices = [integers_of(pointers) for pointers in partition.pointers]
        self.destinations = coordinates_of(partition.destinations)  # C: int[::1]
        self.first_weight = first_weight
        self.temporaries = temporaries
        self.pointers = self._slices[0]  # C: long[::1]

    def select(self, number: int) -> None:  # C: def
        """Make the slice of this number the current slice."""
        self.pointers = self._slices[number]


class Frontier:  # C: final
    """Active vertices of a stream with their properties, for the current and for the next iteration.

    The apply pipe writes the list of the next iteration. The list is read in the next iteration, after
    ``swap``.

    Args:
        capacity: number of vertices of the stream.
    """

    def __init__(self, capacity: int) -> None:
        self.count = self.next_count = 0
        self.vertices, self.next_vertices = (
            integers_of(np.zeros(capacity, np.int64)) for _ in range(2)
        )  # C: vertices=long[::1], next_vertices=long[::1]
        self.properties, self.next_properties = (
            values_of(np.zeros(capacity)) for _ in range(2)
        )  # C: next_properties=double[::1], properties=double[::1]

    def add(self, vertex: int, value: float) -> None:
        """Add a vertex and its property to the list of the next iteration; the capacity is not checked."""
        self.next_vertices[self.next_count] = vertex
        self.next_properties[self.next_count] = value
        self.next_count += 1

    def swap(self) -> None:  # C: def
        """Begin the next iteration: its list becomes the current list."""
        # The arrays change places; the old list is overwritten from its start by ``add``.
        self.vertices, self.next_vertices = self.next_vertices, self.vertices
        self.properties, self.next_properties = self.next_properties, self.properties
        self.count, self.next_count = self.next_count, 0
