"""Statistics of a tensor for D2T2: six statistics of its base tiling, and their JSON.

Every interpretation of the paper is collected under a name: Corrs ``pooled`` and ``per_tile``, TileCorrs
``slice`` and ``pooled``. Statistics are over nonempty tiles; ragged tiles at the edge count as whole tiles.

Source: D2T2 (MICRO 2025), Sections 4.3 and 4.4.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, TypeAlias

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.base import Shape
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.options import DEFAULTS, Options
from fiberscope.models.tiles.overlaps import Numbers, count_overlaps, sort_with_last
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.tiles.metrics import METRICS, Metric, find_metric
from fiberscope.workloads.tiles.tiling import TiledTensor, mark_changes, tile

MIN_SAMPLED_TILES = 32  # minimum number of sampled tiles for any share, if there are as many

Correlations: TypeAlias = Mapping[str, Numbers]  # by variant: correlation at each distance; 1 at distance 0
VERSION = 1  # of the JSON
CORRS, TILE_CORRS = {"pooled", "per_tile"}, {"pooled", "slice"}  # variants of each statistic
_Count: TypeAlias = Annotated[int, Field(ge=0, le=2**62, strict=True)]
_Number: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class Sample:
    """The tiles of Corrs, drawn uniformly without replacement; other statistics are of all tiles.

    Args:
        share: requested share of the nonempty tiles.
        seed: seed of the random numbers.
        tiles: number of tiles that were drawn.
    """

    share: float
    seed: int
    tiles: int


@dataclass(frozen=True)
class _ProbIndex:
    tiles_with: list[list[_Count]]


@dataclass(frozen=True)
class _Document:
    """The JSON of statistics; see ``Statistics`` for the fields."""

    indices: list[str]
    extents: list[_Count]
    tile: list[_Count]
    metric: str
    nonzeros: _Count
    tiles: _Count
    size_tile: _Number
    max_tile: _Count
    fullest: dict[str, _Count]
    pr_tile_index: dict[str, _Number]
    prob_index: _ProbIndex
    corrs: dict[str, dict[str, list[_Number]]]
    tile_corrs: dict[str, dict[str, list[_Number]]]
    sample: Sample


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of one tensor; ranks are in loop order.

    Args:
        indices: the indices of its ranks.
        extents: the extents of the tensor.
        tile: the extents of a base tile.
        metric: the metric of the sizes.
        nonzeros: the nonzeros of the tensor.
        tiles: number of nonempty tiles.
        size_tile: mean traffic of one fetch of a nonempty tile; 0 without any.
        max_tile: size of the fullest tile in a buffer; 0 without any.
        fullest: outer coordinate of the fullest tile by index; empty without nonempty tiles.
        pr_tile_index: for each rank, the mean share of nonempty coordinates in a fiber of tiles.
        beginnings: for each rank, the number of tiles with a nonzero at each tuple of inner coordinates up to
            the rank; the last coordinate varies fastest.
        corrs: for each contracted index and variant, by distance below the tile's extent: the share of the
            nonzeros that have a nonzero at that distance above, in the same fiber of the same tile.
        tile_corrs: for each index and variant, by distance in tiles: the share of nonempty tiles (or slices
            of tiles) with a nonempty tile at that distance.
        sample: the tiles of ``corrs``.
    """

    indices: tuple[str, ...]
    extents: tuple[int, ...]
    tile: tuple[int, ...]
    metric: str
    nonzeros: int
    tiles: int
    size_tile: float
    max_tile: int
    fullest: Mapping[str, int]
    pr_tile_index: tuple[float, ...]
    beginnings: tuple[Integers, ...]
    corrs: Mapping[str, Correlations]
    tile_corrs: Mapping[str, Correlations]
    sample: Sample

    @property
    def p_tile(self) -> float:
        """Return the share of nonempty tiles in the grid."""
        return math.prod(self.pr_tile_index)

    @property
    def pr(self) -> float:
        """Return the mean share of nonzeros in a nonempty tile."""
        return self.nonzeros / (self.tiles * math.prod(self.tile)) if self.tiles else 0.0

    @cached_property
    def prob_index(self) -> tuple[Numbers, ...]:
        """Return for each rank the conditional probabilities of inner coordinates.

        An entry is the share of tiles with a nonzero at coordinates up to the rank, among tiles with a
        nonzero at the coordinates of the ranks above; 0 without such tiles.
        """
        prefix_counts = np.array([self.tiles])
        probabilities = []
        for counts, size in zip(self.beginnings, self.tile, strict=True):
            denominators = np.repeat(prefix_counts, size)
            probabilities.append(
                np.divide(counts, denominators, out=np.zeros(len(counts)), where=denominators > 0)
            )
            prefix_counts = counts
        return tuple(probabilities)

    @property
    def occupied(self) -> Numbers:
        """Return for each position in a tile the share of nonempty tiles with a nonzero there."""
        shares: Numbers = self.beginnings[-1].reshape(self.tile) / max(1, self.tiles)
        return shares


def collect(
    tiled: TiledTensor,
    indices: Sequence[str],
    contracted: Collection[str],
    sample: float = 1.0,
    seed: int = 0,
    metric: Metric = METRICS["words"],
    as_written: TiledTensor | None = None,
) -> Statistics:
    """Return the statistics of a base tiling.

    Args:
        tiled: with its ranks in loop order.
        indices: the indices of its ranks.
        contracted: the summed indices, for which Corrs are collected.
        sample: the share of tiles from which Corrs are collected; at least 32 tiles, or all of fewer tiles.
        seed: seed of the sample.
        metric: the metric of sizes.
        as_written: the same tiles with ranks as the kernel writes them, for sizes; None: ``tiled``.
    """
    sizes = tiled if as_written is None else as_written
    in_buffer = sizes.buffered_sizes(metric)
    number = min(len(tiled), max(MIN_SAMPLED_TILES, math.ceil(sample * len(tiled))))
    sample_tiles = _draw_tiles(len(tiled), number, seed)
    return Statistics(
        indices=tuple(indices),
        extents=tiled.extents,
        tile=tiled.shape,
        metric=metric.name,
        nonzeros=len(tiled.positions),
        tiles=len(tiled),
        size_tile=float(sizes.fetched_sizes(metric).mean()) if len(tiled) else 0.0,
        max_tile=int(in_buffer.max(initial=0)),
        fullest=_find_fullest(sizes, tiled.order, indices, in_buffer),
        pr_tile_index=_compute_pr_tile_index(tiled),
        beginnings=tuple(_count_beginnings(tiled, rank) for rank in range(1, tiled.ranks + 1)),
        corrs={
            name: _corrs(tiled, rank, sample_tiles) for rank, name in enumerate(indices) if name in contracted
        },
        tile_corrs={name: _tile_corrs(tiled, rank) for rank, name in enumerate(indices)},
        sample=Sample(sample, seed, number),
    )


def collect_all(
    kernel: Kernel, tensors: Mapping[str, SparseTensor], shape: Shape, options: Options = DEFAULTS
) -> dict[str, Statistics]:
    """Return the statistics of each operand's base tiling by name.

    Args:
        kernel: names the operands and their summed indices.
        tensors: with their ranks as the kernel writes them.
        shape: the shape of base tiles.
        options: the metric, and the sample of Corrs.
    """
    return {name: _collect_operand(kernel, name, tensors[name], shape, options) for name in kernel.inputs}


def _collect_operand(
    kernel: Kernel, name: str, tensor: SparseTensor, shape: Shape, options: Options
) -> Statistics:
    tile_shape, order = [shape[index] for index in kernel.indices[name]], kernel.rank_order(name)
    in_order = order == tuple(range(len(order)))
    return collect(
        tile(tensor, tile_shape, order),
        kernel.list_stored_indices(name),
        kernel.contracted,
        options.sample,
        options.seed,
        find_metric(options.metric),
        None if in_order else tile(tensor, tile_shape),
    )


def _find_fullest(
    sizes: TiledTensor, order: Sequence[int], indices: Sequence[str], in_buffer: Integers
) -> dict[str, int]:
    """Return the outer coordinates of the first fullest tile, by index; ``order``: the rank of each index."""
    if not len(in_buffer):
        return {}
    by_rank = dict(zip(sizes.order, sizes.ids, strict=True))
    fullest = int(np.argmax(in_buffer))
    return {index: int(by_rank[rank][fullest]) for index, rank in zip(indices, order, strict=True)}


def _compute_pr_tile_index(tiled: TiledTensor) -> tuple[float, ...]:
    """Return for each rank the mean share of nonempty coordinates in a fiber of tiles."""
    probabilities, fibers = [], min(1, len(tiled))  # the root is a single fiber, if there is a tile
    for rank, extent in enumerate(tiled.grid, start=1):
        coordinates = int(mark_changes(tiled.tiles // math.prod(tiled.grid[rank:])).sum())
        probabilities.append(coordinates / (fibers * extent) if fibers else 0.0)
        fibers = coordinates
    return tuple(probabilities)


def _count_beginnings(tiled: TiledTensor, ranks: int) -> Integers:
    """Return the number of tiles with a nonzero at each tuple of the first ``ranks`` inner coordinates."""
    suffixes = math.prod(tiled.shape[ranks:])  # positions with the same first coordinates
    keys = tiled.positions // suffixes
    if suffixes > 1:
        keys = keys[mark_changes(keys)]
    # a position is tile * volume + place in the tile: equal prefixes of one tile are adjacent and count once
    prefixes = tiled.volume // suffixes  # tuples of the first coordinates in a tile
    counts: Integers = np.bincount(keys % prefixes, minlength=prefixes)
    return counts


def _draw_tiles(tiles: int, number: int, seed: int) -> Integers:
    """Return the tiles of a sample in increasing order."""
    if number == tiles:
        return np.arange(tiles)
    return np.sort(np.random.default_rng(seed).choice(tiles, number, replace=False))


def _corrs(tiled: TiledTensor, rank: int, sample_tiles: Integers) -> Correlations:
    """Return Corrs of a rank in both variants, from the sampled tiles."""
    positions = tiled.positions
    if len(sample_tiles) < len(tiled):
        is_sampled = np.zeros(len(tiled), bool)
        is_sampled[sample_tiles] = True
        positions = positions[np.repeat(is_sampled, tiled.nonzeros)]
    extent = tiled.shape[rank]
    members = sort_with_last(positions, tiled.shape, rank)
    fiber_starts = np.flatnonzero(mark_changes(members // extent))
    tile_of = np.searchsorted(tiled.tiles, members[fiber_starts] // tiled.volume)
    weights = np.stack([np.ones(len(fiber_starts)), 1.0 / tiled.nonzeros[tile_of]])  # by nonzero; by tile
    pooled, per_tile = count_overlaps(members, extent, weights)
    return {"pooled": _normalise(np.rint(pooled)), "per_tile": _normalise(per_tile)}


def _tile_corrs(tiled: TiledTensor, rank: int) -> Correlations:
    """Return TileCorrs of a rank in both variants, from all tiles."""
    extent = tiled.grid[rank]
    members = sort_with_last(tiled.tiles, tiled.grid, rank)
    fibers = int(mark_changes(members // extent).sum())
    slices = np.unique(tiled.ids[rank])  # the slices are one set, the fibers of tiles a set each
    return {
        "slice": _normalise(np.rint(count_overlaps(slices, extent, np.ones((1, min(1, len(slices)))))[0])),
        "pooled": _normalise(np.rint(count_overlaps(members, extent, np.ones((1, fibers)))[0])),
    }


def _normalise(counts: Numbers) -> Numbers:
    """Divide by the count at distance 0; without data, the correlation is 1 at distance 0, and 0 beyond."""
    shares: Numbers = counts / counts[0] if counts[0] else np.eye(1, len(counts))[0]
    return shares


def to_document(statistics: Statistics) -> dict[str, Any]:
    """Return the contents of ``to_json`` as plain data; ``from_json`` does not read ``p_tile`` and ``pr``."""
    return {
        "version": VERSION,
        "indices": list(statistics.indices),
        "extents": list(statistics.extents),
        "tile": list(statistics.tile),
        "metric": statistics.metric,
        "nonzeros": statistics.nonzeros,
        "tiles": statistics.tiles,
        "size_tile": statistics.size_tile,
        "max_tile": statistics.max_tile,
        "fullest": dict(statistics.fullest),
        "pr_tile_index": dict(zip(statistics.indices, statistics.pr_tile_index, strict=True)),
        "p_tile": statistics.p_tile,
        "pr": statistics.pr,
        "prob_index": {
            "reading": "pooled counts",
            "tiles_with": [counts.tolist() for counts in statistics.beginnings],
        },
        "corrs": {index: _to_lists(shares) for index, shares in statistics.corrs.items()},
        "tile_corrs": {index: _to_lists(shares) for index, shares in statistics.tile_corrs.items()},
        "sample": {
            "share": statistics.sample.share,
            "seed": statistics.sample.seed,
            "tiles": statistics.sample.tiles,
        },
    }


def to_json(statistics: Statistics) -> str:
    """Return the JSON of statistics, which ``from_json`` reads."""
    return json.dumps(to_document(statistics))


def from_json(text: str, location: str) -> Statistics:
    """Return the statistics of a JSON text.

    Args:
        text: as ``to_json`` writes it.
        location: the source of the text, for messages.

    Raises:
        InputError: the text is not JSON, is incomplete, has another version, a value of a wrong type, a
            negative number or an unknown metric, or its lists by rank differ in length.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{location}:{error.lineno}: {error.msg}; statistics are kept as JSON") from error
    version = document.get("version") if isinstance(document, dict) else None
    if version != VERSION:
        raise InputError(
            f"{location}: statistics of version {version}; version {VERSION} is read; collect anew"
        )
    try:
        return _from_document(TypeAdapter(_Document).validate_python(document))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        field = ".".join(map(str, fault["loc"]))
        raise InputError(f"{location}: {field}: {fault['msg'].lower()}; collect anew") from error
    except (KeyError, ValueError) as error:
        raise InputError(f"{location}: incomplete statistics ({error}); collect anew") from error


def _from_document(document: _Document) -> Statistics:
    """Return the statistics of a document, after a check that its parts have the same ranks."""
    indices = tuple(document.indices)
    find_metric(document.metric)
    by_rank = (document.extents, document.tile, document.prob_index.tiles_with)
    if any(len(values) != len(indices) for values in by_rank):
        raise ValueError(f"not as many extents, tiles and beginnings as ranks, {len(indices)}")
    for readings, corrs in ((CORRS, document.corrs), (TILE_CORRS, document.tile_corrs)):
        if any(readings - shares.keys() for shares in corrs.values()):
            raise ValueError(f"correlations without {' or '.join(sorted(readings))}")
    return Statistics(
        indices=indices,
        extents=tuple(document.extents),
        tile=tuple(document.tile),
        metric=document.metric,
        nonzeros=document.nonzeros,
        tiles=document.tiles,
        size_tile=document.size_tile,
        max_tile=document.max_tile,
        fullest=document.fullest,
        pr_tile_index=tuple(document.pr_tile_index[index] for index in indices),
        beginnings=tuple(np.array(counts, np.int64) for counts in document.prob_index.tiles_with),
        corrs={index: _to_arrays(shares) for index, shares in document.corrs.items()},
        tile_corrs={index: _to_arrays(shares) for index, shares in document.tile_corrs.items()},
        sample=document.sample,
    )


def _to_lists(correlations: Correlations) -> dict[str, list[float]]:
    return {reading: shares.tolist() for reading, shares in correlations.items()}


def _to_arrays(shares_by_reading: dict[str, list[float]]) -> Correlations:
    return {reading: np.array(shares, np.float64) for reading, shares in shares_by_reading.items()}
