"""Vertex programs: the functions of a graph algorithm at an edge, at a reduction, and at a vertex.

In every iteration, each active vertex sends ``process_edge`` of its property along its edges. ``reduce``
combines the messages of a destination. ``apply`` computes the new property from the old property and the
combined message. Source: Graphicionado (Ham et al., MICRO 2016). All three may be Python functions, called
for one vertex or edge at a time. The named functions below also exist in compiled form and for whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan
from numbers import Real
from typing import TypeAlias

import numpy as np

from fiberscope.workloads.canonical import Integers, Values

EdgeFunction: TypeAlias = Callable[[float, float], float]  # (source property, edge weight)
ReduceFunction: TypeAlias = Callable[[float, float], float]  # (reduced value, message)
ApplyFunction: TypeAlias = Callable[[float, float, float], float]  # (property, reduced value, out-degree)
Start: TypeAlias = Callable[[Integers, int], Values]  # (out-degrees, root)

HOP, WEIGH, COPY = "hop", "weigh", "copy"  # at an edge: property + 1, property + weight, property
MIN, ADD = "min", "add"  # at a reduction; MIN also at a vertex
RANK = "rank"  # at a vertex: PageRank's new rank divided by the out-degree, so that a message is a copy
DAMPING = 0.85

PROCESS: dict[str, Callable[[Values, Values], Values]] = {
    HOP: lambda source, _weight: source + 1.0,
    WEIGH: lambda source, weight: source + weight,
    COPY: lambda source, _weight: source,
}
REDUCE: dict[str, np.ufunc] = {MIN: np.minimum, ADD: np.add}
APPLY: dict[str, Callable[[Values, Values, Values], Values]] = {
    MIN: lambda old, reduced, _degree: np.minimum(old, reduced),
    # Ranks are not divided by the number of vertices. A vertex without edges divides by 1.
    RANK: lambda _old, reduced, degree: ((1.0 - DAMPING) + DAMPING * reduced) / np.maximum(degree, 1.0),
}


@dataclass(frozen=True)
class VertexProgram:
    """A graph algorithm.

    Args:
        name: name in titles.
        process_edge: the message of an edge: ``HOP``, ``WEIGH``, ``COPY`` or a function.
        reduce: combines two messages to a vertex: ``MIN``, ``ADD`` or a function. Except for rounding, the
            order of messages must not matter.
        apply: the new property: ``MIN``, ``RANK`` or a function. A vertex without a message must keep its
            property, unless all vertices are active.
        neutral: initial value of a reduction: ``reduce(neutral, x)`` is x.
        start: initial properties, from the out-degrees and the root.
        uses_weights: whether messages depend on weights, which are then fetched with the edges.
        all_active: whether every vertex sends in every iteration, with a fixed number of iterations.
            Otherwise vertices whose property changed send, until there are none.
        cycles: latencies of the three functions if they differ from the machine's configuration.

    Raises:
        ValueError: an unknown name, a neutral that is no number, or latencies that are not three numbers of
            at least 1.
    """

    name: str
    process_edge: str | EdgeFunction
    reduce: str | ReduceFunction
    apply: str | ApplyFunction
    neutral: float
    start: Start
    uses_weights: bool = True
    all_active: bool = False
    cycles: tuple[int, int, int] | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        for parameter, value, choices in (
            ("process_edge", self.process_edge, PROCESS),
            ("reduce", self.reduce, REDUCE),
            ("apply", self.apply, APPLY),
        ):
            if value not in choices if isinstance(value, str) else not callable(value):
                raise ValueError(
                    f"{parameter} is {value!r}; it should be a function or one of {', '.join(choices)}"
                )
        if not isinstance(self.neutral, Real) or isnan(self.neutral):
            raise ValueError(f"neutral is {self.neutral!r}; it should be a number")
        if self.cycles is not None and not _are_latencies(self.cycles):
            raise ValueError(f"cycles is {self.cycles}; it should be three whole numbers, each at least 1")


def _are_latencies(cycles: tuple[int, ...]) -> bool:
    return len(cycles) == 3 and all(isinstance(latency, int) and latency >= 1 for latency in cycles)


def from_root(elsewhere: float, at_root: float) -> Start:
    """Return a function for ``VertexProgram.start``.

    Args:
        elsewhere: initial property of every vertex except the root.
        at_root: initial property of the root.
    """

    def start(degrees: Integers, root: int) -> Values:
        values = np.full(len(degrees), elsewhere)
        values[root] = at_root
        return values

    return start


def _shared_rank(degrees: Integers, _root: int) -> Values:
    """Return a rank of 1 at every vertex, divided by its number of edges."""
    return 1.0 / np.maximum(degrees, 1)


BFS = VertexProgram("BFS", HOP, MIN, MIN, np.inf, from_root(np.inf, 0.0), uses_weights=False)
SSSP = VertexProgram("SSSP", WEIGH, MIN, MIN, np.inf, from_root(np.inf, 0.0))
# The final properties are ranks divided by out-degrees, or by 1 without edges.
PAGERANK = VertexProgram("PageRank", COPY, ADD, RANK, 0.0, _shared_rank, uses_weights=False, all_active=True)
