"""Vertex programs: what a graph algorithm does at an edge, where messages meet, and at a vertex.

In every iteration each active vertex sends ``process_edge`` of its property along its edges, ``reduce``
gathers the messages of a destination, and ``apply`` makes its new property of them (Graphicionado, MICRO
2016). All three may be Python functions, one vertex or edge a call; those that are named below are also known
in compiled form and over whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan
from numbers import Real
from typing import TypeAlias

import numpy as np

from fiberscope.workloads.canonical import Integers, Values

__all__ = [
    "ADD",
    "APPLY",
    "COPY",
    "DAMPING",
    "HOP",
    "MIN",
    "PROCESS",
    "RANK",
    "REDUCE",
    "WEIGH",
    "ApplyFunction",
    "EdgeFunction",
    "ReduceFunction",
    "VertexProgram",
    "from_root",
]

EdgeFunction: TypeAlias = Callable[[float, float], float]  # of the source's property and the edge's weight
ReduceFunction: TypeAlias = Callable[[float, float], float]  # of what is there and a message
ApplyFunction: TypeAlias = Callable[[float, float, float], float]  # of property, reduced and out-degree
Start: TypeAlias = Callable[[Integers, int], Values]  # of all out-degrees and the root

HOP, WEIGH, COPY = "hop", "weigh", "copy"  # of an edge: property + 1, property + weight, property
MIN, ADD = "min", "add"
RANK = "rank"  # of a vertex: PageRank's new rank, by its out-degree
DAMPING = 0.85

PROCESS: dict[str, Callable[[Values, Values], Values]] = {
    HOP: lambda source, _weight: source + 1.0,
    WEIGH: lambda source, weight: source + weight,
    COPY: lambda source, _weight: source,
}
REDUCE: dict[str, np.ufunc] = {MIN: np.minimum, ADD: np.add}
APPLY: dict[str, Callable[[Values, Values, Values], Values]] = {
    MIN: lambda old, reduced, _degree: np.minimum(old, reduced),
    RANK: lambda _old, reduced, degree: ((1.0 - DAMPING) + DAMPING * reduced) / np.maximum(degree, 1.0),
}


@dataclass(frozen=True)
class VertexProgram:
    """One algorithm.

    Args:
        name: as titles have it.
        process_edge: the message of an edge: ``HOP``, ``WEIGH``, ``COPY`` or a function.
        reduce: of two messages to one vertex: ``MIN``, ``ADD`` or a function. It must not depend on the order
            of messages, but for rounding.
        apply: the new property: ``MIN``, ``RANK`` or a function. A vertex without a message must keep its
            property, unless all are active.
        neutral: what reduced messages begin with: ``reduce(neutral, x)`` is x.
        start: all first properties, of the out-degrees and the root.
        uses_weights: whether messages depend on the weights, which are then fetched with the edges.
        all_active: every vertex sends in every iteration, of which there is a fixed number; else those whose
            property changed do, until there are none.
        cycles: latencies of the three functions where they are not those of the machine's configuration.

    Raises:
        ValueError: a name that is not known, a neutral that is no number, or latencies that are not
            three, each at least 1.
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
        """Refuse what no machine could run."""
        for what, value, choices in (
            ("process_edge", self.process_edge, PROCESS),
            ("reduce", self.reduce, REDUCE),
            ("apply", self.apply, APPLY),
        ):
            if value not in choices if isinstance(value, str) else not callable(value):
                raise ValueError(
                    f"{what} is {value!r}; it should be a function or one of {', '.join(choices)}"
                )
        if not isinstance(self.neutral, Real) or isnan(self.neutral):
            raise ValueError(f"neutral is {self.neutral!r}; it should be a number")
        if self.cycles is not None and not _are_latencies(self.cycles):
            raise ValueError(f"cycles is {self.cycles}; it should be three whole numbers, each at least 1")


def _are_latencies(cycles: tuple[int, ...]) -> bool:
    return len(cycles) == 3 and all(isinstance(each, int) and each >= 1 for each in cycles)


def from_root(elsewhere: float, at_root: float) -> Start:
    """First properties that are the same everywhere but at the root."""

    def start(degrees: Integers, root: int) -> Values:
        values = np.full(len(degrees), elsewhere)
        values[root] = at_root
        return values

    return start


def _shared_rank(degrees: Integers, _root: int) -> Values:
    """A rank of 1 at every vertex, shared among its edges."""
    return 1.0 / np.maximum(degrees, 1)


BFS = VertexProgram("BFS", HOP, MIN, MIN, np.inf, from_root(np.inf, 0.0), uses_weights=False)
SSSP = VertexProgram("SSSP", WEIGH, MIN, MIN, np.inf, from_root(np.inf, 0.0))
PAGERANK = VertexProgram("PageRank", COPY, ADD, RANK, 0.0, _shared_rank, uses_weights=False, all_active=True)
