"""Joint statistics of two tensors: the probability that co-iterated tiles are both nonempty.

The product of the two shares would assume independent tensors, which fails for a graph times itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.models.analytic.arrays import Integers, Numbers
from fiberscope.models.analytic.counted_densities import CountedDensity
from fiberscope.models.analytic.density import Tile, find_distinct_rows
from fiberscope.models.analytic.problem import Problem


@dataclass(frozen=True)
class Operand:
    """A tensor in a joint statistic.

    Args:
        density: its counted density.
        ranks: names of its ranks; equal names in two operands are shared ranks.
        tile: extents of its tiles, by rank.
    """

    density: CountedDensity
    ranks: Sequence[str]
    tile: Tile


def count_nonempty_pairs(a: Operand, b: Operand) -> tuple[int, int]:
    """Count pairs of tiles with equal coordinates in the shared ranks: nonempty pairs, and all pairs.

    For tiles of one element, the first number is the number of products of two nonzeros. Tensors without a
    shared rank form pairs of any two tiles. A tile at the far edge counts as a whole tile.

    Raises:
        ValueError: the tensors differ in the extent or in the size of tiles of a shared rank.
    """
    shared = [rank for rank in a.ranks if rank in b.ranks]
    _check_extents(a, b, shared)
    first, second = _find_coordinates(a, shared), _find_coordinates(b, shared)
    # without a shared rank all tiles get the same key, so that each pairs with each
    keys = np.concatenate([first, second]) if shared else np.zeros((len(first) + len(second), 1), np.int64)
    _, pair_of = find_distinct_rows(keys)
    a_counts = np.bincount(pair_of[: len(first)], minlength=int(pair_of.max(initial=-1)) + 1)
    b_counts = np.bincount(pair_of[len(first) :], minlength=len(a_counts))
    # at each shared coordinate, every tile of a pairs with every tile of b
    return int(np.dot(a_counts, b_counts)), _count_tiles(a, a.ranks) * _count_tiles(
        b, set(b.ranks) - set(shared)
    )


def share_of_nonempty_pairs(a: Operand, b: Operand) -> float:
    """Return the share of pairs in which both tiles are nonempty.

    Both tensors must have elements: without a pair, the division fails.

    Raises:
        ValueError: as of ``count_nonempty_pairs``.
    """
    nonempty, pairs = count_nonempty_pairs(a, b)
    return nonempty / pairs


def _check_extents(a: Operand, b: Operand, shared: Sequence[str]) -> None:
    """Refuse operands whose shared ranks differ in extent or in the size of tiles."""
    for rank in shared:
        first, second = (
            (side.density.shape[index], side.tile[index])
            for side in (a, b)
            for index in [_rank_index(side, rank)]
        )
        if first != second:
            raise ValueError(
                f"rank {rank} has {first[0]} coordinates in tiles of {first[1]} in one tensor, "
                f"and {second[0]} in tiles of {second[1]} in the other"
            )


def _rank_index(operand: Operand, rank: str) -> int:
    return list(operand.ranks).index(rank)


def _find_coordinates(operand: Operand, shared: Sequence[str]) -> Integers:
    """Return the coordinates of each nonempty tile in the shared ranks, in tiles: nonempty tiles x ranks."""
    density = operand.density
    tiles = density.nonempty_tiles(density.shape, tuple(int(np.asarray(extent)) for extent in operand.tile))
    return tiles.positions[:, [_rank_index(operand, rank) for rank in shared]]


def _count_tiles(operand: Operand, ranks: Sequence[str] | set[str]) -> int:
    """Return the number of tiles of the tensor along some of its ranks."""
    tiles = 1
    for rank in ranks:
        index = _rank_index(operand, rank)
        tiles *= -(-operand.density.shape[index] // int(np.asarray(operand.tile[index])))
    return tiles


def have_counted_densities(problem: Problem, tensors: Sequence[int]) -> bool:
    """Return whether two tensors have counted densities, and a single dimension as the index of each rank.

    A coefficient or a sum in an index excludes a tensor: its tiles overlap, or leave gaps.
    """
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


def share_both_nonempty(problem: Problem, a: int, a_box: Integers, b: int, b_box: Integers) -> Numbers:
    """Return the share of pairs in which both tiles are nonempty, for each mapping.

    Args:
        a, b: the indices of the tensors, which fulfil ``have_counted_densities``.
        a_box, b_box: extents of the tiles: mappings x dimensions. In shared dimensions, those of the
            first tensor count for both.
    """
    shared = problem.touches[a] & problem.touches[b]  # mask of the dimensions that index both tensors
    second = np.where(shared, a_box, b_box)
    # counting costs far more than this search for mappings with equal tiles
    rows = np.concatenate([a_box, second], axis=1)
    distinct_rows, inverse = np.unique(rows, axis=0, return_inverse=True)
    half = a_box.shape[1]
    shares = [
        share_of_nonempty_pairs(
            _build_operand(problem, a, row[:half]), _build_operand(problem, b, row[half:])
        )
        for row in distinct_rows
    ]
    return np.array(shares)[inverse.reshape(-1)]


def share_effectual(problem: Problem, a: int, b: int) -> float:
    """Return the share of computes with two nonzero operands.

    Args:
        a, b: indices of the operands, which fulfil ``have_counted_densities``.
    """
    box = np.ones((1, len(problem.dimensions)), np.int64)
    return float(share_both_nonempty(problem, a, box, b, box)[0])


def _build_operand(problem: Problem, tensor: int, box: Integers) -> Operand:
    density = problem.densities[tensor]
    assert isinstance(density, CountedDensity)  # see ``have_counted_densities``
    names = [problem.dimensions[rank.terms[0][1]] for rank in problem.tensors[tensor].ranks]
    return Operand(density, names, [int(extent) for extent in problem.extents(tensor, box)])
