"""Distribution of a graph over streams and slices, and the layout of its arrays in memory.

The machine has ``streams`` parallel pipelines, called streams. Vertex v belongs to stream v mod ``streams``,
in which its number is v div ``streams``. Properties and temporary properties belong to the stream of their
vertex, edges to the stream of their source. A slice has the edges to a range of destinations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.layout import Layout, Role
from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.workloads.canonical import CsrArray, Integers, Values
from fiberscope.workloads.synchronous import GraphTask, weights_of

# Numbers of the tensors. Temporary properties stay on the chip, and have no array in memory.
FRONTIER, EDGES, STARTS, PROPERTIES = range(4)
TENSORS = {"frontier": (FRONTIER,), "edges": (EDGES,), "starts": (STARTS,), "properties": (PROPERTIES,)}
START_BYTES = 8  # bytes of a table entry: index of a vertex's first edge, and number of its edges
PAGE_BYTES = 4096  # alignment of arrays in bytes


class ArrayAllocator:
    """An allocator of arrays in memory.

    The upper bits of an address are the number of the array's tensor. The lower bits are a page-aligned
    offset in one sequence of all arrays, whatever their tensors.
    """

    def __init__(self) -> None:
        self._end = 0
        self.layouts: list[Layout] = []  # layouts of the arrays, in the order of allocation

    def allocate(self, tensor: int, size: int, role: Role, prefetch_bytes: int = 0) -> int:
        """Allocate an array and return its address.

        Args:
            tensor: number of the tensor.
            size: bytes of the array.
            role: role of the array in the traffic.
            prefetch_bytes: bytes past the end of the array that a prefetch may read. If it is not 0, an empty
                array still gets a page, so that the prefetch does not read another array.
        """
        address = (tensor << TENSOR_SHIFT) + self._end
        # Every array that is not empty takes whole pages, so that no two arrays share a line.
        self._end += -(-(size or min(prefetch_bytes, 1)) // PAGE_BYTES) * PAGE_BYTES
        self.layouts.append(Layout(address, size, role, ahead=prefetch_bytes))
        return address


@dataclass(frozen=True)
class StreamPartition:
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


def partition_stream(
    graph: CsrArray, task: GraphTask, stream: int, streams: int, bounds: Integers
) -> StreamPartition:
    """Return the edges from a stream's vertices, sorted by slice.

    Args:
        graph: adjacency matrix, with a row for each source; the coordinates of a row ascend.
        task: the graph program and its inputs.
        stream: number of the stream.
        streams: number of streams.
        bounds: bounds of the slices; slice k has the destinations ``bounds[k]`` to ``bounds[k + 1]`` - 1.
    """
    vertices = np.arange(stream, graph.shape[0], streams)
    degrees = np.diff(graph.indptr)[vertices]
    ends = np.cumsum(degrees)
    sources = np.repeat(vertices, degrees)
    # Index of each edge in the graph's CSR arrays: the start of its row, and its offset in the row.
    edge_indices = np.repeat(graph.indptr[vertices] - (ends - degrees), degrees) + np.arange(len(sources))
    weights = weights_of(graph, task, sources, edge_indices) if task.program.uses_weights else np.zeros(0)
    destinations = graph.indices[edge_indices].astype(np.int32)
    del edge_indices
    # With one slice, the order of the CSR matrix is already the order of the stream.
    if len(bounds) == 2:
        return StreamPartition((np.concatenate([[0], ends]),), destinations, weights, degrees)
    return _sort_by_slice(StreamPartition((), destinations, weights, degrees), sources // streams, bounds)


def _sort_by_slice(unsorted: StreamPartition, sources: Integers, bounds: Integers) -> StreamPartition:
    """Return the edges sorted by slice; ``sources`` has the number of each edge's source in the stream."""
    slices = np.searchsorted(bounds, unsorted.destinations, "right") - 1
    # A stable sort keeps the order by source and destination within a slice.
    order = np.argsort(slices, kind="stable")
    pointers, slice_start = [], 0
    for number in range(len(bounds) - 1):
        counts = np.bincount(sources[slices == number], minlength=len(unsorted.degrees))
        pointers.append(slice_start + np.concatenate([[0], np.cumsum(counts)]))
        slice_start = int(pointers[-1][-1])
    weights = unsorted.weights[order] if len(unsorted.weights) else unsorted.weights
    return StreamPartition(tuple(pointers), unsorted.destinations[order], weights, unsorted.degrees)
