"""Synchronous execution of a vertex program: the reference for the results and counts of every machine.

All properties that an iteration reads are those of the iteration before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import CsrArray, Integers, Values
from fiberscope.workloads.vertex_program import APPLY, PROCESS, REDUCE, VertexProgram

AnyIntegers: TypeAlias = npt.NDArray[np.integer[Any]]

BLOCK = 256  # vertices in one bit of GraphDynS's bitmap
EDGES_AT_ONCE = 1 << 21  # limits the memory of an iteration
RULE_SOURCE, RULE_DESTINATION, RULE_LARGEST = 7919, 104729, 255


@dataclass(frozen=True)
class GraphTask:
    """A problem on a graph.

    Args:
        program: the algorithm.
        root: 0-based vertex at which a search begins.
        iterations: the number for a program whose vertices are all active, the maximum for any other.
        weights: ``rule`` (1 + (7919 u + 104729 v) mod 255), ``file`` (the graph's values) or ``unit``.
    """

    program: VertexProgram
    root: int
    iterations: int
    weights: str


@dataclass(frozen=True)
class Iteration:
    """Counts of one iteration.

    ``frontier``: active vertices. ``edges``: their edges. ``updates``: distinct destinations of the edges.
    ``blocks``: blocks of ``BLOCK`` vertices with a destination. ``changed``: vertices whose property changed.
    """

    frontier: int
    edges: int
    updates: int
    blocks: int
    changed: int


@dataclass(frozen=True)
class ProgramResult:
    """Final properties, and the counts of every iteration; ``ended`` is false at the iteration limit."""

    properties: Values
    iterations: tuple[Iteration, ...]
    ended: bool

    def total(self, count: str) -> int:
        """Return the sum of a count over all iterations."""
        return sum(getattr(iteration, count) for iteration in self.iterations)


def weights_of(graph: CsrArray, task: GraphTask, sources: Integers, places: Integers) -> Values:
    """Return the weights of the edges at these positions of the graph's arrays, given their sources."""
    if task.weights == "file":
        values: Values = graph.data[places]
        return values
    if task.weights == "unit" or not task.program.uses_weights:
        return np.ones(len(places))
    sums = RULE_SOURCE * sources + RULE_DESTINATION * graph.indices[places].astype(np.int64)
    return np.asarray(1.0 + sums % RULE_LARGEST)


def run(graph: CsrArray, task: GraphTask) -> ProgramResult:
    """Return the outcome of a program on a graph whose rows are sources."""
    program, degrees = task.program, np.diff(graph.indptr)
    properties = program.start(degrees, task.root)
    active = np.arange(len(degrees)) if program.all_active else np.array([task.root])
    counts: list[Iteration] = []
    while len(active) and len(counts) < task.iterations:
        reduced, touched = _process(graph, task, properties, active)
        new = _apply(program, properties, reduced, degrees)
        changed = np.flatnonzero(new != properties)
        counts.append(
            Iteration(
                len(active),
                int(degrees[active].sum()),
                int(np.count_nonzero(touched)),
                int(np.add.reduceat(touched, np.arange(0, len(touched), BLOCK)).astype(bool).sum()),
                len(changed),
            )
        )
        properties = new
        active = active if program.all_active else changed
    return ProgramResult(properties, tuple(counts), program.all_active or len(active) == 0)


def _process(
    graph: CsrArray, task: GraphTask, properties: Values, active: Integers
) -> tuple[Values, npt.NDArray[np.bool_]]:
    """Return the reduced messages of all vertices, and a mask of the vertices with messages."""
    program = task.program
    reduced = np.full(len(properties), program.neutral)
    touched = np.zeros(len(properties), bool)
    for sources, places in _edges(graph, active):
        messages = _messages(program, properties[sources], weights_of(graph, task, sources, places))
        destinations = graph.indices[places]
        _reduce(program, reduced, destinations, messages)
        touched[destinations] = True
    return reduced, touched


def _edges(graph: CsrArray, active: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield sources and positions of the edges of active vertices in order, in parts of limited size."""
    ends = np.cumsum(graph.indptr[active + 1] - graph.indptr[active])
    first = 0
    while first < len(active):
        behind = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, behind + EDGES_AT_ONCE, "right")))
        some, some_ends = active[first:last], ends[first:last] - behind
        lengths = np.diff(some_ends, prepend=0)
        offsets = np.repeat(graph.indptr[some] - (some_ends - lengths), lengths)
        yield np.repeat(some, lengths), offsets + np.arange(len(offsets))
        first = last


def _messages(program: VertexProgram, properties: Values, weights: Values) -> Values:
    if isinstance(program.process_edge, str):
        return PROCESS[program.process_edge](properties, weights)
    return _each(program.process_edge, properties, weights)


def _reduce(program: VertexProgram, reduced: Values, destinations: AnyIntegers, messages: Values) -> None:
    if isinstance(program.reduce, str):
        REDUCE[program.reduce].at(reduced, destinations, messages)
        return
    for destination, message in zip(destinations.tolist(), messages.tolist(), strict=True):
        reduced[destination] = float(program.reduce(float(reduced[destination]), message))


def _apply(program: VertexProgram, old: Values, reduced: Values, degrees: Integers) -> Values:
    if isinstance(program.apply, str):
        return APPLY[program.apply](old, reduced, degrees.astype(float))
    return _each(program.apply, old, reduced, degrees.astype(float))


def _each(function: Callable[..., float], *columns: Values) -> Values:
    """Apply a Python function of plain numbers to each row."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return np.fromiter((float(function(*row)) for row in rows), dtype=float)
