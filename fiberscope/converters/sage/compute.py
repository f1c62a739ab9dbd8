"""Expected cycles and energy of the weight-stationary array, for given formats (ACFs) of A and B.

Each PE holds a column of B. The columns are processed in groups of as many columns as there are PEs. A column
that does not fit in a PE's buffer is processed in slices of the rank that is summed over. For each group and
each slice, a bus broadcasts the slice's part of A to all PEs. One transfer on the bus takes a cycle and is
called a *beat*. All nonzeros are taken to be uniformly distributed. Source: the paper's Sections IV and VI.
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

# The nonzeros of a fiber exceed the mean by SPREAD standard deviations of a Poisson distribution plus SPREAD
# only with negligible probability.
SPREAD = 12
BY_ROWS = ("csr", "csf")  # formats of A in which a beat has nonzeros of one row or fiber, and its id


@dataclass(frozen=True)
class Compute:
    """Costs of the array for the whole computation.

    Args:
        cycles: cycles of the array, including waits for its PEs.
        beats: cycles of the bus alone.
        picojoules: energy of the global buffer, and of the buffers, comparators and MACs of the PEs.
    """

    cycles: float
    beats: float
    picojoules: float


def compute(problem: Problem, a: str, b: str, parameters: SageParameters) -> Compute:
    """Return cycles and energy of the array.

    Args:
        problem: kernel and operands.
        a, b: names of the ACFs of A and B.
        parameters: parameters of SAGE.

    Returns:
        Expected costs. Cycles are whole numbers only if the expectations are. Memory and conversions are not
        included.
    """
    array = parameters.array
    groups = -(-problem.columns // array.elements)
    beats = cycles = energy = 0.0
    for length, times in _iterate_slices(problem, b, array.buffer):
        streamed, words = _stream(problem, a, length, array.bus)
        nonzeros = problem.rows * length * problem.streamed.density
        beats += times * streamed
        matched = _match(a, b, parameters)
        if a == "csc" and array.csc_match == "beat":  # a beat has one id to match, and sums leave one by one
            cycles += times * max(
                streamed * max(1, matched), nonzeros * _compute_meeting_probability(problem, array.elements)
            )
        else:
            cycles += times * max(streamed, nonzeros * matched)
        # A is streamed once for each group; ``_work`` is already the sum over all columns
        spent = groups * words * parameters.energy.sram + _work(problem, a, b, length, parameters)
        energy += times * spent
    # No format makes the array faster than its multipliers
    least = math.ceil(_count_effectual(problem) / array.macs)
    return Compute(max(groups * cycles, least), groups * beats, energy)


def _compute_held_words(b: str, density: float) -> float:
    """Return the mean words of a PE's buffer for one element of a column of B, including zeros.

    A nonzero takes its value and one id in CSC, and two ids in COO. In CSR, it takes its value and one id,
    and each row takes a pointer.
    """
    return {"dense": 1.0, "csc": 2 * density, "coo": 3 * density, "csr": 1 + 2 * density}[b]


def _iterate_slices(problem: Problem, b: str, buffer: int) -> Iterator[tuple[int, int]]:
    """Yield the lengths of the slices of the rank that is summed over, with the number of slices of each.

    A slice is the longest part of a column of B that is expected to fit in a PE's buffer.
    """
    words = _compute_held_words(b, problem.held.density)
    full = problem.depth if words == 0 else min(problem.depth, max(1, int(buffer / words)))
    whole, rest = divmod(problem.depth, full)
    yield full, whole
    if rest:
        yield rest, 1


def _stream(problem: Problem, a: str, length: int, bus: int) -> tuple[float, float]:
    """Return the beats of a slice of A, and the words in them.

    A beat of a dense row, and of a fiber of CSR, CSC or CSF, has one word for the id of the row or fiber. The
    other words are values, or pairs of a value and an id. An entry of COO has its value and all its ids.

    Args:
        problem: kernel and operands.
        a: ACF of A.
        length: length of the slice.
        bus: words per beat.
    """
    rows, density = problem.rows, problem.streamed.density
    nonzeros = rows * length * density
    if a == "dense":
        cycles = rows * math.ceil(length / (bus - 1))
        return cycles, rows * length + cycles
    if a == "coo":
        ids = len(problem.streamed.shape)
        return math.ceil(nonzeros / max(1, bus // (ids + 1))), (ids + 1) * nonzeros
    fibers, places = (rows, length) if a in BY_ROWS else (length, rows)
    beats = fibers * _compute_expected_beats(places, density, (bus - 1) // 2)
    return beats, 2 * nonzeros + beats


@cache
def _compute_expected_beats(places: int, density: float, pairs: int) -> float:
    """Return the expected number of beats of a fiber.

    The expectation is the sum over k of the probability that the fiber has more than k * ``pairs`` nonzeros.

    Args:
        places: length of the fiber, including zeros.
        density: probability that an element is a nonzero.
        pairs: nonzeros per beat.
    """
    mean = places * density
    spread = SPREAD * (1 + math.sqrt(mean))
    sure = max(0, math.floor((mean - spread) / pairs))  # full beats that nearly every fiber has
    most = min(places, math.ceil(mean + spread))
    nonzeros = np.arange(sure * pairs, most, pairs, dtype=np.float64)
    # bdtrc(k, n, p) is the probability of more than k successes in n trials
    return sure + float(bdtrc(nonzeros, places, density).sum())


def _match(a: str, b: str, parameters: SageParameters) -> float:
    """Return the cycles of a PE for a streamed nonzero, apart from the bus.

    A PE indexes a dense column. In other formats, it compares the id of the nonzero with all ids of its
    column, and does not use pointers. The comparison covers half the buffer, even if it is not full: the
    other half is for the values of these ids. A streamed dense row takes no further cycles.
    """
    array = parameters.array
    if a == "dense" or parameters.match_cost == "bus":
        return 0.0
    matches = array.dense_match if b == "dense" else -(-(array.buffer // 2) // array.comparators)
    return matches + (array.row_match if a == "coo" else 0)


def _compute_meeting_probability(problem: Problem, elements: int) -> float:
    """Return the probability that at least one PE has a nonzero for a given column of A."""
    return float(1 - (1 - problem.held.density) ** min(problem.columns, elements))


def _count_effectual(problem: Problem) -> float:
    """Return the expected number of products of two nonzeros, for all columns of B."""
    return problem.streamed.nonzeros * problem.columns * problem.held.density


def _work(problem: Problem, a: str, b: str, length: int, parameters: SageParameters) -> float:
    """Return the energy of a slice in the PEs and the output buffer, in pJ, for all columns of B."""
    energy, columns = parameters.energy, problem.columns
    places = problem.rows * length
    nonzeros = places * problem.streamed.density
    streamed = nonzeros if a != "dense" or parameters.zero_gating else places
    work = streamed * problem.held.density  # products with nonzeros of one column
    products = streamed if b == "dense" and not parameters.zero_gating else work
    reads, compared = (
        (streamed, 0.0) if b == "dense" else (work, _count_comparisons(problem, a, b, length, parameters))
    )
    left = nonzeros if a == "csc" else _count_fibers(problem, length)  # sums leave as the row changes
    multiplied = _count_fibers(problem, length) if problem.other else 0.0  # by the factor of the middle rank
    return columns * (
        (reads + compared) * energy.buffer
        + compared * energy.compare
        + (products + multiplied) * (energy.multiply + energy.add)
        + 2 * left * energy.sram  # the output buffer is read, added to, and written
    )


def _count_comparisons(problem: Problem, a: str, b: str, length: int, parameters: SageParameters) -> float:
    """Return the comparisons of streamed nonzeros with metadata of one column of B.

    The metadata are ids, or, in CSR, one pointer per row. A dense row of A is streamed in order, and compared
    with each entry once. With ``zero_gating``, entries of the buffer that are not in use are not read.
    """
    held = length if b == "csr" else problem.held.density * length
    if a == "dense":
        return problem.rows * held
    most = parameters.array.buffer // 2
    entries = min(held, most) if parameters.zero_gating else most
    return problem.rows * length * problem.streamed.density * entries


def _count_fibers(problem: Problem, length: int) -> float:
    """Return the expected number of rows of A with a nonzero in a slice of this length."""
    return float(problem.rows * (1 - (1 - problem.streamed.density) ** length))
