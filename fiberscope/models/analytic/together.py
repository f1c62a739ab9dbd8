"""Two operands whose nonzeros are known, looked at together: how often both are there where they meet.

The product of the two shares takes them to be independent, which a graph multiplied by itself is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.counted import Counted
from fiberscope.models.analytic.density import Numbers
from fiberscope.models.analytic.joint import Operand, probability_both
from fiberscope.models.analytic.problem import Problem

__all__ = ["are_known", "both_there", "scalars_there"]

Whole = NDArray[np.int64]


def are_known(problem: Problem, tensors: Sequence[int]) -> bool:
    """Whether these are two tensors that are counted, indexed with one dimension a rank."""
    plain = all(
        len(rank.terms) == 1 and rank.terms[0][0] == 1
        for tensor in tensors
        for rank in problem.tensors[tensor].ranks
    )
    return plain and len(tensors) == 2 and all(isinstance(problem.densities[one], Counted) for one in tensors)


def both_there(problem: Problem, one: int, its_box: Whole, other: int, its_own: Whole) -> Numbers:
    """The share of pairs of tiles of which neither is empty; boxes are mappings x dimensions.

    In dimensions that both have the tiles are as long as those of the first.
    """
    shared = problem.touches[one] & problem.touches[other]
    second = np.where(shared, its_box, its_own)
    rows = np.concatenate([its_box, second], axis=1)
    kept, which = np.unique(rows, axis=0, return_inverse=True)
    half = its_box.shape[1]
    shares = [
        probability_both(_operand(problem, one, row[:half]), _operand(problem, other, row[half:]))
        for row in kept
    ]
    return np.array(shares)[which.reshape(-1)]


def scalars_there(problem: Problem, one: int, other: int) -> float:
    """The share of computes of which both operands are not zero."""
    box = np.ones((1, len(problem.dimensions)), np.int64)
    return float(both_there(problem, one, box, other, box)[0])


def _operand(problem: Problem, tensor: int, box: Whole) -> Operand:
    density = problem.densities[tensor]
    assert isinstance(density, Counted)  # as ``are_known`` said
    names = [problem.dimensions[rank.terms[0][1]] for rank in problem.tensors[tensor].ranks]
    return Operand(density, names, [int(extent) for extent in problem.extents(tensor, box)])
