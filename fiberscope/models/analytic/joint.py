"""Joint statistics of two tensors: how often co-iterated tiles both hold nonzeros.

The product of the two shares takes the tensors to be independent, which a graph multiplied by itself is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.counted_densities import CountedDensity
from fiberscope.models.analytic.density import Counts, Numbers, Tile, distinct
from fiberscope.models.analytic.problem import Problem

__all__ = ["Operand", "are_known", "both_there", "pairs_nonempty", "probability_both", "scalars_there"]

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Operand:
    """A tensor, counted, with the names of its ranks and the extents of its tiles."""

    density: CountedDensity
    ranks: Sequence[str]
    tile: Tile


def pairs_nonempty(left: Operand, other: Operand) -> tuple[int, int]:
    """Count the pairs of tiles at one place in the shared ranks that both hold nonzeros, and all pairs.

    With tiles of one element the first number is that of the effectual products.

    Raises:
        ValueError: if the two do not agree in the extents of a shared rank.
    """
    shared = [rank for rank in left.ranks if rank in other.ranks]
    _check(left, other, shared)
    first, second = _by_place(left, shared), _by_place(other, shared)
    both = np.concatenate([first, second]) if shared else np.zeros((len(first) + len(second), 1), np.int64)
    _, which = distinct(both)
    ones = np.bincount(which[: len(first)], minlength=int(which.max(initial=-1)) + 1)
    others = np.bincount(which[len(first) :], minlength=len(ones))
    return int(np.dot(ones, others)), _tiles(left, left.ranks) * _tiles(other, set(other.ranks) - set(shared))


def probability_both(left: Operand, other: Operand) -> float:
    """The share of pairs of which both tiles hold nonzeros."""
    nonempty, pairs = pairs_nonempty(left, other)
    return nonempty / pairs


def _check(left: Operand, other: Operand, shared: Sequence[str]) -> None:
    for rank in shared:
        first, second = (
            (side.density.shape[at], side.tile[at]) for side in (left, other) for at in [_at(side, rank)]
        )
        if first != second:
            raise ValueError(
                f"rank {rank} has {first[0]} coordinates in tiles of {first[1]} in one tensor, "
                f"and {second[0]} in tiles of {second[1]} in the other"
            )


def _at(operand: Operand, rank: str) -> int:
    return list(operand.ranks).index(rank)


def _by_place(operand: Operand, shared: Sequence[str]) -> Counts:
    """The place of each tile with nonzeros, in the shared ranks."""
    density = operand.density
    places = density.pieces(density.shape, tuple(int(np.asarray(extent)) for extent in operand.tile)).places
    return places[:, [_at(operand, rank) for rank in shared]]


def _tiles(operand: Operand, ranks: Sequence[str] | set[str]) -> int:
    """Count the tiles of the tensor along some of its ranks."""
    tiles = 1
    for rank in ranks:
        at = _at(operand, rank)
        tiles *= -(-operand.density.shape[at] // int(np.asarray(operand.tile[at])))
    return tiles


def are_known(problem: Problem, tensors: Sequence[int]) -> bool:
    """Return whether these are two tensors that are counted, indexed with one dimension a rank."""
    plain = all(
        len(rank.terms) == 1 and rank.terms[0][0] == 1
        for tensor in tensors
        for rank in problem.tensors[tensor].ranks
    )
    return (
        plain
        and len(tensors) == 2
        and all(isinstance(problem.densities[tensor], CountedDensity) for tensor in tensors)
    )


def both_there(problem: Problem, left: int, its_box: Whole, other: int, its_own: Whole) -> Numbers:
    """The share of pairs of tiles of which neither is empty; boxes are mappings x dimensions.

    In dimensions that both have the tiles are as long as those of the first.
    """
    shared = problem.touches[left] & problem.touches[other]
    second = np.where(shared, its_box, its_own)
    rows = np.concatenate([its_box, second], axis=1)
    distinct_rows, which = np.unique(rows, axis=0, return_inverse=True)
    half = its_box.shape[1]
    shares = [
        probability_both(_operand(problem, left, row[:half]), _operand(problem, other, row[half:]))
        for row in distinct_rows
    ]
    return np.array(shares)[which.reshape(-1)]


def scalars_there(problem: Problem, left: int, other: int) -> float:
    """The share of computes of which both operands are not zero."""
    box = np.ones((1, len(problem.dimensions)), np.int64)
    return float(both_there(problem, left, box, other, box)[0])


def _operand(problem: Problem, tensor: int, box: Whole) -> Operand:
    density = problem.densities[tensor]
    assert isinstance(density, CountedDensity)  # as ``are_known`` said
    names = [problem.dimensions[rank.terms[0][1]] for rank in problem.tensors[tensor].ranks]
    return Operand(density, names, [int(extent) for extent in problem.extents(tensor, box)])
