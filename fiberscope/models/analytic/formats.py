"""Formats of tensors: the stored share of a tile, and its units of metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fiberscope.models.analytic.arrays import Booleans, Integers, Numbers
from fiberscope.models.analytic.dataflow import Dense, Traffic
from fiberscope.models.analytic.density import compute_empty_share, compute_mean_occupancy, evaluate_for_tiles
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.ranks import Fibers, RankAssignment
from fiberscope.models.analytic.safs import Format, RankFormat, SparseFeatures
from fiberscope.models.analytic.uniform import Uniform


@dataclass(frozen=True)
class Units:
    """Units of metadata and of payloads by rank, innermost first: mappings x ranks.

    A unit is a word, with the bits of the rank's format; in a bitmask, a unit of metadata is one bit.
    """

    metadata: Numbers
    payload: Numbers


@dataclass(frozen=True)
class _Rank:
    """Arrays of the same shape that determine the units of a rank.

    Args:
        all_fibers: number of fibers, including empty ones.
        shape: number of coordinates of a fiber.
        fibers: number of nonempty fibers.
        coordinates: number of nonempty coordinates of all fibers.
    """

    all_fibers: Numbers
    shape: Numbers
    fibers: Numbers
    coordinates: Numbers


@lru_cache(maxsize=1024)
def _mask_kinds(kind: Format) -> dict[str, Numbers]:
    """Return a mask of the ranks of each kind, as factors 0 and 1; cached, so callers must not change it."""
    names = [rank.kind for rank in kind.ranks]
    return {
        name: np.array([float(kind_name == name) for kind_name in names])
        for name in ("UB", "B", "CP", "RLE", "UOP")
    }


def count_exact_units(
    problem: Problem, tensor: int, kind: Format, fibers: Fibers, nonempty: bool, splits_runs: bool
) -> Units:
    """Return the mean units of a tile, without the biases of the public tool.

    Args:
        problem, tensor: the problem, and the index of a tensor.
        kind: the format of the tensor.
        fibers: the fibers of each rank of the format.
        nonempty: whether the mean is over nonempty tiles only.
        splits_runs: whether runs that exceed the width of an RLE are split.
    """
    density = problem.densities[tensor]
    nonempty_share = 1.0 - compute_empty_share(density, problem.extents(tensor, fibers.tiles))
    tile_share = nonempty_share[:, -1:] if nonempty else np.ones_like(nonempty_share[:, -1:])
    # the last column is the whole tile; a part that is nonempty implies a nonempty tile, so the
    # conditional probability is the quotient
    share = np.divide(nonempty_share, tile_share, out=np.zeros_like(nonempty_share), where=tile_share > 0)
    fiber_count = fibers.outside.astype(np.float64)
    shape = fibers.shape.astype(np.float64)
    ranks = _Rank(fiber_count, shape, fiber_count * share[:, 1:], fiber_count * shape * share[:, :-1])
    if splits_runs:
        ranks = _add_continuations(kind, ranks)
    return _count_units(kind, fibers, ranks)


def _add_continuations(kind: Format, ranks: _Rank) -> _Rank:
    """Add the units of RLE runs that exceed the run's width; lengths of runs are taken as geometric."""
    coordinates = ranks.coordinates.copy()
    for number, rank in enumerate(kind.ranks):
        if rank.kind != "RLE" or not rank.metadata_bits:
            continue
        coordinate_count = np.maximum(ranks.fibers[:, number] * ranks.shape[:, number], 1e-300)
        zero_share = 1.0 - coordinates[:, number] / coordinate_count
        overflow_share = zero_share ** (2.0**rank.metadata_bits - 1)  # the longest run of a word
        # a run needs 1 + p + p^2 + ... units; 1e-300 avoids a division by zero in ranks without nonzeros
        coordinates[:, number] /= np.maximum(1.0 - overflow_share, 1e-300)
    return _Rank(
        ranks.all_fibers, ranks.shape, ranks.fibers, np.minimum(coordinates, ranks.all_fibers * ranks.shape)
    )


def count_tool_mean_units(
    problem: Problem, tensor: int, kind: Format, fibers: Fibers, row: int, nonempty: bool
) -> Units:
    """Return the public tool's mean units over the occupancies of a tile, for one mapping of several.

    Args:
        problem, tensor, kind, fibers, nonempty: as of ``count_exact_units``.
        row: index of the mapping.
    """
    density = problem.densities[tensor]
    tile = [int(extent[row, -1]) for extent in problem.extents(tensor, fibers.tiles)]
    occupancies, probabilities = density.distribution(tile)
    # of a uniform density, the tool drops the smallest occupancy even if it is not 0
    if nonempty and (occupancies[0] == 0 or isinstance(density, Uniform)):
        nonempty_share = 1.0 - probabilities[0]
        conditional = probabilities[1:] / nonempty_share if nonempty_share > 0 else probabilities[1:]
        occupancies, probabilities = occupancies[1:], conditional
    if not len(occupancies):
        return Units(np.zeros((1, len(kind.ranks))), np.zeros((1, len(kind.ranks))))
    by_occupancy = _count_units_by_occupancy(problem, tensor, kind, fibers, row, occupancies)
    return Units(probabilities[None] @ by_occupancy.metadata, probabilities[None] @ by_occupancy.payload)


def count_tool_maximum_units(problem: Problem, tensor: int, kind: Format, fibers: Fibers, row: int) -> Units:
    """Return the public tool's units of a tile with the most nonzeros, for one mapping of several.

    Args:
        problem: has the density of the tensor.
        tensor: index of the tensor.
        kind: its format.
        fibers: the fibers of each rank, over mappings.
        row: index of the mapping.
    """
    tile = [int(extent[row, -1]) for extent in problem.extents(tensor, fibers.tiles)]
    maximum = np.array([int(problem.densities[tensor].maximum(tile))])
    return _count_units_by_occupancy(problem, tensor, kind, fibers, row, maximum)


def _count_units_by_occupancy(
    problem: Problem, tensor: int, kind: Format, fibers: Fibers, row: int, occupancies: Integers
) -> Units:
    """Return the units by occupancy of the tile: occupancies x ranks."""
    extents = [extent[row] for extent in problem.extents(tensor, fibers.tiles)]
    conditional_density = problem.densities[tensor].inside(
        [int(extent[-1]) for extent in extents], occupancies
    )
    empty_shares = np.stack(
        [
            np.broadcast_to(
                conditional_density.probability_empty([int(extent[rank]) for extent in extents]),
                occupancies.shape,
            )
            for rank in range(len(extents[0]))
        ],
        axis=1,
    )
    all_fibers = np.broadcast_to(fibers.outside[row].astype(np.float64), empty_shares[:, 1:].shape)
    shape = np.broadcast_to(fibers.shape[row].astype(np.float64), empty_shares[:, 1:].shape)
    nonempty_fibers = all_fibers * (1.0 - empty_shares[:, 1:])
    nonempty_coordinates = shape * (1.0 - empty_shares[:, :-1])
    rounded = np.array([rank.kind != "RLE" for rank in kind.ranks])
    # the tool counts whole coordinates of a fiber, but not of an RLE; 1e-12 absorbs rounding errors
    coordinates = nonempty_fibers * np.where(
        rounded, np.ceil(nonempty_coordinates - 1e-12 * shape), nonempty_coordinates
    )
    row_fibers = Fibers(fibers.steps[row : row + 1], fibers.shape[row : row + 1], fibers.tiles, fibers.short)
    return _count_units(kind, row_fibers, _Rank(all_fibers, shape, nonempty_fibers, coordinates))


def _count_units(kind: Format, fibers: Fibers, ranks: _Rank) -> Units:
    """Return the units of each rank.

    A rank with a single coordinate has no units, except the rank at which the assignment of loops begins.
    """
    masks = _mask_kinds(kind)
    listed, every = masks["CP"] + masks["RLE"], ranks.all_fibers * ranks.shape * masks["UB"]
    metadata = every + ranks.fibers * ranks.shape * masks["B"] + ranks.coordinates * listed
    offsets = ranks.fibers * (ranks.shape + 1.0) * masks["UOP"]  # a start each, and the last end
    payload = every + ranks.coordinates * (listed + masks["B"]) + offsets
    costs = fibers.shape > 1
    costs[:, 0 if kind.inner_to_outer else -1] = True
    holds_data = np.cumsum(costs, axis=1) <= 1  # the payloads of the innermost rank are the data
    return Units(np.where(costs, metadata, 0.0), np.where(costs & ~holds_data, payload, 0.0))


def count_maximum_units(problem: Problem, tensor: int, kind: Format, fibers: Fibers) -> Units:
    """Return the largest number of units of a tile, without the biases of the public tool.

    Args:
        problem, tensor, kind, fibers: the arguments of ``count_tool_maximum_units``; all mappings are
            computed together.
    """
    density = problem.densities[tensor]
    extents = problem.extents(tensor, fibers.tiles)
    tiles = [extent[:, -1:] + 0 * extent for extent in extents]  # the whole tile, once for each rank
    count = len(extents)

    def maximum_nonempty(extents_pair: list[Any]) -> Numbers:
        return np.asarray(density.maximum_nonempty(extents_pair[:count], extents_pair[count:]), np.float64)

    nonempty = evaluate_for_tiles(maximum_nonempty, [*tiles, *extents])
    shape, outside = fibers.shape.astype(np.float64), fibers.outside.astype(np.float64)
    ranks = _Rank(
        outside, shape, np.minimum(nonempty[:, 1:], outside), np.minimum(nonempty[:, :-1], outside * shape)
    )
    return _count_units(kind, fibers, ranks)


def compute_bits(rank: RankFormat, default: int, width: int) -> tuple[int, int]:
    """Return the bits of a word of metadata and of a payload, rounded up to a divisor of the row's width.

    A word that is wider than a row takes whole rows.

    Args:
        rank: the rank; its own widths replace the defaults.
        default: bits of a word at this level; a word of metadata of a bitmask has 1 bit instead.
        width: bits of a row of metadata; 0 for no rounding.
    """
    metadata = rank.metadata_bits
    if metadata is None:
        metadata = 1 if rank.kind in ("B", "UB") else default
    payload = default if rank.payload_bits is None else rank.payload_bits
    return _round_to_divisor(metadata, width), _round_to_divisor(payload, width)


def _round_to_divisor(bits: int, width: int) -> int:
    """Return the smallest divisor of ``width`` from ``bits`` on; whole rows if ``bits`` exceeds ``width``.

    Without bits or without a width, nothing is rounded.
    """
    if bits > width > 0:
        return -(-bits // width) * width
    while width and bits and width % bits:  # ends at ``width`` at the latest
        bits += 1
    return bits


@dataclass(frozen=True)
class StoredTile:
    """Stored part of one tensor at one level; arrays over mappings.

    Args:
        density: the mean density of the tiles that the level gets.
        arriving: the share of tiles that the level gets; known empty tiles are left out.
        listed: words that the ranks iterate over: more than the words of the tile if its inner tiles overlap.
        units: the mean units of a tile by rank; None without a format.
        words: the largest number of words of data of a tile.
        largest: the largest number of units of a tile.
        short: mask of the mappings whose loops need more ranks than the format has.
    """

    density: Numbers
    arriving: Numbers
    listed: Numbers
    units: Units | None
    words: Numbers
    largest: Units | None
    short: Booleans


class Representation:
    """Computation of the stored part of each tensor at each level.

    Args:
        problem: the loop nest, and the densities of its tensors.
        traffic: dense traffic of the mappings.
        features: the format of each tensor at each level.
        options: options of the model.
    """

    def __init__(
        self, problem: Problem, traffic: Traffic, features: SparseFeatures, options: Options
    ) -> None:
        self._problem, self._traffic, self._features = problem, traffic, features
        self._options = options
        self._ranks = RankAssignment(problem, traffic, features)

    def stored_tile(self, level: int, tensor: int) -> StoredTile:
        """Return the stored part of a tensor at a level that keeps it."""
        problem, density = self._problem, self._problem.densities[tensor]
        extents = problem.extents(tensor, self._traffic.nest.tile(level))
        dense = self._traffic.dense[level, tensor]
        is_sized = self._is_known_outside(level, tensor)
        mean, arriving = compute_mean_occupancy(density, extents) / dense.tile, np.ones(len(dense.tile))
        if is_sized:
            mean, arriving = self._measure_nonempty_tiles(tensor, dense, extents, mean)
        kind = self._features.formats.get((level, tensor))
        if kind is None:
            short = np.zeros(len(dense.tile), np.bool_)
            words = dense.tile.astype(np.float64)
            return StoredTile(mean, arriving, words, None, words, None, short)
        return self._apply_format(level, tensor, is_sized, mean, arriving)

    def _is_known_outside(self, level: int, tensor: int) -> bool:
        """Return whether the outer level has a format, so that it knows and does not send empty tiles."""
        parent = self._traffic.parent(level, tensor)
        return parent is not None and (parent, tensor) in self._features.formats

    def _measure_nonempty_tiles(
        self, tensor: int, dense: Dense, extents: Sequence[Integers], mean: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Return the mean density and the share of nonempty tiles."""
        density = self._problem.densities[tensor]
        if self._options.timeloop and isinstance(density, Uniform):
            return _exclude_least(density, dense, mean)
        arriving = 1.0 - compute_empty_share(density, extents)
        # empty tiles add nothing to the mean, so the mean of the others is larger by their share
        return np.divide(mean, arriving, out=np.zeros_like(mean), where=arriving > 0), arriving

    def _apply_format(
        self, level: int, tensor: int, is_sized: bool, mean: Numbers, arriving: Numbers
    ) -> StoredTile:
        """Return the stored part of a tensor in its format; ``is_sized``: empty tiles do not arrive."""
        problem, kind = self._problem, self._features.formats[level, tensor]
        fibers = self._ranks.fibers(level, tensor)
        dense, density = self._traffic.dense[level, tensor], problem.densities[tensor]
        words = listed = dense.tile.astype(np.float64)
        if kind.is_compressed:
            extents = problem.extents(tensor, self._traffic.nest.tile(level))
            words = evaluate_for_tiles(density.maximum, extents)
        if self._options.exact_formats:
            listed = fibers.shape.prod(axis=1).astype(np.float64)
            units = count_exact_units(problem, tensor, kind, fibers, is_sized, self._options.rle_split_runs)
            largest = count_maximum_units(problem, tensor, kind, fibers)
        else:
            rows = range(len(dense.tile))
            units = _stack(
                [count_tool_mean_units(problem, tensor, kind, fibers, row, is_sized) for row in rows]
            )
            largest = _stack([count_tool_maximum_units(problem, tensor, kind, fibers, row) for row in rows])
        return StoredTile(mean, arriving, listed, units, words, largest, fibers.short)


def _stack(units: list[Units]) -> Units:
    return Units(
        np.concatenate([unit.metadata for unit in units]), np.concatenate([unit.payload for unit in units])
    )


def _exclude_least(density: Uniform, dense: Dense, mean: Numbers) -> tuple[Numbers, Numbers]:
    """Return the public tool's values, which count the smallest possible occupancy as an empty tile.

    A tile that cannot be empty loses its smallest occupancy. If no other occupancy is possible, nothing
    remains (a density of 1, or a tile that is the whole tensor).
    """
    density_left, arriving = np.zeros_like(mean), np.zeros_like(mean)
    for row, size in enumerate(dense.tile):
        occupancies, probabilities = density.distribution([int(size)])
        arriving[row] = 1.0 - probabilities[0]
        if arriving[row] > 0:
            remaining = mean[row] * size - occupancies[0] * probabilities[0]
            density_left[row] = remaining / arriving[row] / size
    return density_left, arriving
