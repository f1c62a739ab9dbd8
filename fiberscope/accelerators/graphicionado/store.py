# cython: infer_types=True
"""Memories of a stream: its vertices, its edges, and the active vertices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fiberscope.accelerators.graphicionado.layout import Dealt
from fiberscope.hw.fibers.arrays import coordinates_of, integers_of, values_of
from fiberscope.sim import inline
from fiberscope.workloads.canonical import Values


class Temporaries:  # C: final
    """Temporary properties of all vertices, those of a stream side by side.

    Args:
        streams, vertices: how many.
        neutral: what all begin with.
    """

    def __init__(self, streams: int, vertices: int, neutral: float) -> None:
        self.streams = streams
        self.room = -(-vertices // streams)  # of a stream
        self.values = values_of(np.full(streams * self.room, neutral))  # C: double[::1]

    def stream_values(self, stream: int, count: int) -> memoryview[float]:  # C: def
        """Those of a stream that has so many vertices."""
        return self.values[stream * self.room : stream * self.room + max(1, count)]

    def fetch(self, vertex: int) -> None:  # C: cpdef, noexcept
        """Have the host fetch that of a vertex, which is needed soon."""
        inline.fetch(self.values[vertex % self.streams * self.room + vertex // self.streams])


class Vertices:  # C: final
    """Properties, temporary properties and out-degrees of a stream's vertices. A store.

    Two write ``temporary``, in turn: the update unit up to the barrier, the apply pipe behind it. ``sent`` is
    the property of the iteration's beginning, for where all vertices send theirs.

    Args:
        properties, degrees, temporary: of the stream's vertices.
    """

    WRITERS: ClassVar[Mapping[str, str]] = {"properties": "apply"}

    def __init__(self, properties: Values, degrees: Sequence[int], temporary: memoryview[float]) -> None:
        self.count = len(properties)
        self.properties = values_of(properties.copy())  # C: public double[::1]
        self.sent = values_of(properties.copy())  # C: public double[::1]
        self.temporary = temporary  # C: public double[::1]
        self.degrees = integers_of(degrees)  # C: public long[::1]

    def send(self) -> None:  # C: def
        """Keep the properties as they are now for who sends them."""
        np.asarray(self.sent)[:] = np.asarray(self.properties)


class Edges:  # C: final
    """A stream's edges; ``pointers`` are those of the slice under way.

    Args:
        dealt: the stream's part of the graph.
        first_weight: where its weights begin among those of all streams.
        temporaries: what they lead to, which the host is to fetch ahead of their updates.
    """

    def __init__(self, dealt: Dealt, first_weight: int, temporaries: Temporaries) -> None:
        self._slices = [integers_of(pointers) for pointers in dealt.pointers]
        self.destinations = coordinates_of(dealt.destinations)  # C: int[::1]
        self.first_weight = first_weight
        self.temporaries = temporaries
        self.pointers = self._slices[0]  # C: long[::1]

    def select(self, number: int) -> None:  # C: def
        """Begin with a slice."""
        self.pointers = self._slices[number]


class Frontier:  # C: final
    """A stream's active vertices and their properties, and those of the next iteration.

    The apply pipe writes the latter; they are read once they have become the former, behind the barrier.

    Args:
        room: vertices of the stream.
    """

    def __init__(self, room: int) -> None:
        self.count = self.next_count = 0
        self.vertices, self.next_vertices = (
            integers_of(np.zeros(room, np.int64)) for _ in range(2)
        )  # C: vertices=long[::1], next_vertices=long[::1]
        self.properties, self.next_properties = (
            values_of(np.zeros(room)) for _ in range(2)
        )  # C: next_properties=double[::1], properties=double[::1]

    def add(self, vertex: int, value: float) -> None:
        """A vertex of the next iteration."""
        self.next_vertices[self.next_count] = vertex
        self.next_properties[self.next_count] = value
        self.next_count += 1

    def swap(self) -> None:  # C: def
        """The next iteration begins."""
        self.vertices, self.next_vertices = self.next_vertices, self.vertices
        self.properties, self.next_properties = self.next_properties, self.properties
        self.count, self.next_count = self.next_count, 0
