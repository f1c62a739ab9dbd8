"""Expected cycles and energy of the weight-stationary array, by the two formats.

Each PE holds a column of B, or what its buffer has room for; A goes by on a bus to all of them, once for each
group of columns and, slice by slice of the rank summed over, for all that did not fit. Source: the paper's
Sections IV and VI; nonzeros lie anywhere with the same probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import bdtrc

from fiberscope.converters.sage.configuration import SageParameters
from fiberscope.converters.sage.kernels import Problem

SPREAD = 12  # standard deviations of a Poisson distribution, and as many nonzeros, beyond which nothing is
BY_ROWS = ("csr", "csf")  # formats in which a beat has one row, or fiber, and its id once


@dataclass(frozen=True)
class Compute:
    """Costs of computing.

    Args:
        cycles: the cycles of it.
        beats: cycles of the bus alone.
        picojoules: the picojoules of buffers, comparators and MACs.
    """

    cycles: float
    beats: float
    picojoules: float


def compute(problem: Problem, a: str, b: str, parameters: SageParameters) -> Compute:
    """The array's cycles and energy with A and B in these formats."""
    array = parameters.array
    groups = -(-problem.columns // array.elements)
    beats = cycles = energy = 0.0
    for length, times in _slices(problem, b, array.buffer):
        streamed, words = _stream(problem, a, length, array.bus)
        nonzeros = problem.rows * length * problem.streamed.density
        beats += times * streamed
        matched = _match(a, b, parameters)
        if a == "csc" and array.csc_match == "beat":  # which has one id, and whose sums leave one by one
            cycles += times * max(streamed * max(1, matched), nonzeros * _any_meets(problem, array.elements))
        else:
            cycles += times * max(streamed, nonzeros * matched)
        spent = groups * words * parameters.energy.sram + _work(problem, a, b, length, parameters)
        energy += times * spent
    least = math.ceil(_effectual(problem) / array.macs)
    return Compute(max(groups * cycles, least), groups * beats, energy)


def _held_words(b: str, density: float) -> float:
    """Words of a PE's buffer that a place of a column takes.

    A column in CSC has an id for each value; in COO two; in CSR an id, and a pointer for each row.
    """
    return {"dense": 1.0, "csc": 2 * density, "coo": 3 * density, "csr": 1 + 2 * density}[b]


def _slices(problem: Problem, b: str, buffer: int) -> Iterator[tuple[int, int]]:
    """Lengths of the slices along the rank summed over, and how many there are of each."""
    words = _held_words(b, problem.held.density)
    full = problem.depth if words == 0 else min(problem.depth, max(1, int(buffer / words)))
    whole, rest = divmod(problem.depth, full)
    yield full, whole
    if rest:
        yield rest, 1


def _stream(problem: Problem, a: str, length: int, bus: int) -> tuple[float, float]:
    """Beats that bring a slice of A, and the words in them."""
    rows, density = problem.rows, problem.streamed.density
    nonzeros = rows * length * density
    if a == "dense":
        cycles = rows * math.ceil(length / (bus - 1))
        return cycles, rows * length + cycles
    if a == "coo":
        ids = len(problem.streamed.shape)
        return math.ceil(nonzeros / max(1, bus // (ids + 1))), (ids + 1) * nonzeros
    fibers, places = (rows, length) if a in BY_ROWS else (length, rows)
    beats = fibers * _expected_beats(places, density, (bus - 1) // 2)
    return beats, 2 * nonzeros + beats


@cache
def _expected_beats(places: int, density: float, pairs: int) -> float:
    """Beats of ``pairs`` nonzeros that a fiber takes: the sum over k of the chance of more than k full."""
    mean = places * density
    spread = SPREAD * (1 + math.sqrt(mean))
    sure = max(0, math.floor((mean - spread) / pairs))  # full beats that nearly every fiber has
    most = min(places, math.ceil(mean + spread))
    nonzeros = np.arange(sure * pairs, most, pairs, dtype=np.float64)
    return sure + float(bdtrc(nonzeros, places, density).sum())


def _match(a: str, b: str, parameters: SageParameters) -> float:
    """Cycles that a streamed nonzero takes a PE beside the bus.

    PEs index a dense column, and compare ids otherwise: they follow no pointers. All of the metadata's half
    of the buffer is compared, however far it is filled.
    """
    array = parameters.array
    if a == "dense" or parameters.match_cost == "bus":
        return 0.0
    matches = array.dense_match if b == "dense" else -(-(array.buffer // 2) // array.comparators)
    return matches + (array.row_match if a == "coo" else 0)


def _any_meets(problem: Problem, elements: int) -> float:
    """The chance that one of the PEs has a nonzero for a column of A."""
    return float(1 - (1 - problem.held.density) ** min(problem.columns, elements))


def _effectual(problem: Problem) -> float:
    """Products of two nonzeros."""
    return problem.streamed.nonzeros * problem.columns * problem.held.density


def _work(problem: Problem, a: str, b: str, length: int, parameters: SageParameters) -> float:
    """Energy of a slice in the PEs and behind them: buffers, comparators, MACs, the output buffer."""
    energy, columns = parameters.energy, problem.columns
    places = problem.rows * length
    nonzeros = places * problem.streamed.density
    streamed = nonzeros if a != "dense" or parameters.zero_gating else places
    work = streamed * problem.held.density  # of a column's nonzeros
    products = streamed if b == "dense" and not parameters.zero_gating else work
    reads, compared = (
        (streamed, 0.0) if b == "dense" else (work, _compared(problem, a, b, length, parameters))
    )
    left = nonzeros if a == "csc" else _fibers(problem, length)  # sums leave as the row changes
    multiplied = _fibers(problem, length) if problem.other else 0.0  # by the factor of the middle rank
    return columns * (
        (reads + compared) * energy.buffer
        + compared * energy.compare
        + (products + multiplied) * (energy.multiply + energy.add)
        + 2 * left * energy.sram  # the output buffer is read, added to, and written
    )


def _compared(problem: Problem, a: str, b: str, length: int, parameters: SageParameters) -> float:
    """Entries of metadata that are compared with what is streamed: ids, or of CSR pointers, one for each row.

    A dense row goes by in order, and each is met once. Entries that hold nothing are not read, if gated.
    """
    held = length if b == "csr" else problem.held.density * length
    if a == "dense":
        return problem.rows * held
    most = parameters.array.buffer // 2
    entries = min(held, most) if parameters.zero_gating else most
    return problem.rows * length * problem.streamed.density * entries


def _fibers(problem: Problem, length: int) -> float:
    """Rows of A that have a nonzero in so many places."""
    return float(problem.rows * (1 - (1 - problem.streamed.density) ** length))
