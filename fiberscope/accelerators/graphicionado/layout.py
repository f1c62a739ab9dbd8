"""Distribution of a graph over streams and slices, and the layout of its arrays in memory.

Vertex v belongs to stream v mod ``streams``, where its number is v div ``streams``; edges belong to the
stream of their source, properties and temporary properties to that of the vertex they are of. A slice has the
edges to a range of destinations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.layout import Layout, Role
from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.workloads.canonical import CsrArray, Integers, Values
from fiberscope.workloads.synchronous import GraphTask, weights_of

__all__ = ["EDGES", "FRONTIER", "PROPERTIES", "STARTS", "START_BYTES", "TENSORS", "Dealt", "Regions", "deal"]

FRONTIER, EDGES, STARTS, PROPERTIES = range(4)
TENSORS = {"frontier": (FRONTIER,), "edges": (EDGES,), "starts": (STARTS,), "properties": (PROPERTIES,)}
START_BYTES = 8  # of a vertex's edges: where they begin and how many they are
PAGE = 4096  # bytes at whose multiples arrays begin


class Regions:
    """Gives arrays their place in memory, one behind another, whatever tensor they are of."""

    def __init__(self) -> None:
        self._end = 0
        self.layouts: list[Layout] = []  # as placed

    def place(self, tensor: int, size: int, role: Role, ahead: int = 0) -> int:
        """The address of an array of so many bytes, behind which so many may be read too.

        One that is empty has a page of its own where it may be read nevertheless.
        """
        address = (tensor << TENSOR_SHIFT) + self._end
        self._end += -(-(size or min(ahead, 1)) // PAGE) * PAGE
        self.layouts.append(Layout(address, size, role, ahead=ahead))
        return address


@dataclass(frozen=True)
class Dealt:
    """The edges of one stream, by slice, in it by source and then by destination.

    Args:
        pointers: by slice, the first edge of each of the stream's vertices and the one behind the last.
        destinations: the destinations of every edge, as ids in the whole graph.
        weights: the weights of every edge; none where the program does not use them.
        degrees: out-degrees of the stream's vertices.
    """

    pointers: tuple[Integers, ...]
    destinations: npt.NDArray[np.int32]
    weights: Values
    degrees: Integers


def deal(graph: CsrArray, task: GraphTask, stream: int, streams: int, bounds: Integers) -> Dealt:
    """Return the part of a stream; slice k has the destinations from ``bounds[k]`` to ``bounds[k + 1]``."""
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
    """The edges of each slice behind those of the one before."""
    slices = np.searchsorted(bounds, whole.destinations, "right") - 1
    order = np.argsort(slices, kind="stable")
    pointers, behind = [], 0
    for number in range(len(bounds) - 1):
        counts = np.bincount(sources[slices == number], minlength=len(whole.degrees))
        pointers.append(behind + np.concatenate([[0], np.cumsum(counts)]))
        behind = int(pointers[-1][-1])
    weights = whole.weights[order] if len(whole.weights) else whole.weights
    return Dealt(tuple(pointers), whole.destinations[order], weights, whole.degrees)
