"""Distribution of a graph over streams and slices, and the layout of its arrays in memory.

Vertex v belongs to stream v mod ``streams``, in which its number is v div ``streams``. Properties and
temporary properties belong to the stream of their vertex, edges to the stream of their source. A slice has
the edges to a range of destinations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.layout import Layout, Role
from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.workloads.canonical import CsrArray, Integers, Values
from fiberscope.workloads.synchronous import GraphTask, weights_of

FRONTIER, EDGES, STARTS, PROPERTIES = range(4)
TENSORS = {"frontier": (FRONTIER,), "edges": (EDGES,), "starts": (STARTS,), "properties": (PROPERTIES,)}
START_BYTES = 8  # bytes of a table entry: index of a vertex's first edge, and number of its edges
PAGE = 4096  # alignment of arrays in bytes


class Regions:
    """An allocator that places arrays in memory one after the other, regardless of their tensors."""

    def __init__(self) -> None:
        self._end = 0
        self.layouts: list[Layout] = []  # layouts of the arrays, in the order of placement

    def place(self, tensor: int, size: int, role: Role, ahead: int = 0) -> int:
        """Place an array and return its address.

        Args:
            tensor: number of the tensor.
            size: bytes of the array.
            role: role of the array in the traffic.
            ahead: bytes after the end of the array that may be read as well. If it is not 0, an empty array
                gets a page of its own.
        """
        address = (tensor << TENSOR_SHIFT) + self._end
        self._end += -(-(size or min(ahead, 1)) // PAGE) * PAGE
        self.layouts.append(Layout(address, size, role, ahead=ahead))
        return address


@dataclass(frozen=True)
class Dealt:
    """The edges of one stream, sorted by slice, then by source, then by destination.

    Args:
        pointers: for each slice, the index of the first edge of each vertex of the stream, and a last entry
            with the end of the slice's edges.
        destinations: destination of each edge, as an id in the whole graph.
        weights: weight of each edge; empty if the program does not use weights.
        degrees: out-degree of each vertex of the stream.
    """

    pointers: tuple[Integers, ...]
    destinations: npt.NDArray[np.int32]
    weights: Values
    degrees: Integers


def deal(graph: CsrArray, task: GraphTask, stream: int, streams: int, bounds: Integers) -> Dealt:
    """Return a stream's part of the graph.

    Args:
        graph: adjacency matrix, with a row for each source.
        task: the graph program and its inputs.
        stream: number of the stream.
        streams: number of streams.
        bounds: bounds of the slices; slice k has the destinations ``bounds[k]`` to ``bounds[k + 1]`` - 1.
    """
    vertices = np.arange(stream, graph.shape[0], streams)
    degrees = np.diff(graph.indptr)[vertices]
    behind = np.cumsum(degrees)
    sources = np.repeat(vertices, degrees)
    places = np.repeat(graph.indptr[vertices] - (behind - degrees), degrees) + np.arange(len(sources))
    weights = weights_of(graph, task, sources, places) if task.program.uses_weights else np.zeros(0)
    destinations = graph.indices[places].astype(np.int32)
    del places
    if len(bounds) == 2:
        return Dealt((np.concatenate([[0], behind]),), destinations, weights, degrees)
    return _sliced(Dealt((), destinations, weights, degrees), sources // streams, bounds)


def _sliced(whole: Dealt, sources: Integers, bounds: Integers) -> Dealt:
    """Return the edges sorted by slice; ``sources`` has the number of each edge's source in the stream."""
    slices = np.searchsorted(bounds, whole.destinations, "right") - 1
    order = np.argsort(slices, kind="stable")
    pointers, behind = [], 0
    for number in range(len(bounds) - 1):
        counts = np.bincount(sources[slices == number], minlength=len(whole.degrees))
        pointers.append(behind + np.concatenate([[0], np.cumsum(counts)]))
        behind = int(pointers[-1][-1])
    weights = whole.weights[order] if len(whole.weights) else whole.weights
    return Dealt(tuple(pointers), whole.destinations[order], weights, whole.degrees)
