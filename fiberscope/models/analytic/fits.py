"""Checks that mappings are valid on a machine: loop bounds, instances, and the capacity of each level.

A check that fails hides the faults of later checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fiberscope.models.analytic.architecture import Architecture, Compute, Level
from fiberscope.models.analytic.arrays import Booleans, Integers, Numbers
from fiberscope.models.analytic.cost import compute_bits_needed
from fiberscope.models.analytic.dataflow import Traffic
from fiberscope.models.analytic.density import evaluate_for_tiles
from fiberscope.models.analytic.formats import StoredTile
from fiberscope.models.analytic.mapping import Mappings, Nest
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import SparseFeatures

REASONS: Final = (
    "",
    "the loops do not cover the problem",
    "more instances than there are",
    "more loops than a format has ranks",
    "data does not fit",
    "metadata does not fit",
    "too little of a level is used",
    "formats of two levels do not fit",
    "partial sums cannot be added there",
)
_LOOPS, _MESH, _RANKS, _DATA, _METADATA, _UNUSED, _FORMATS, _SUMS = range(1, len(REASONS))


def find_misfits(
    problem: Problem, architecture: Architecture, features: SparseFeatures, traffic: Traffic
) -> list[tuple[str, Booleans]]:
    """Return descriptions of incompatible formats of neighbouring levels, with masks of mappings.

    The neighbour of a level is the next inner level that keeps the tensor.

    Args:
        problem: names the tensors.
        architecture: the levels, some of which convert formats.
        features: the format of each tensor at each level.
        traffic: dense traffic of the mappings.
    """
    misfits = []
    for level, tensor in traffic.dense:
        child = traffic.child(level, tensor)
        if child is None or not features.is_compressed(level, tensor):
            continue
        description = _describe_misfit(problem, architecture, features, level, child, tensor)
        if description:
            # ranks of a single element take no loops (``ranks``), so only the loss of compression matters
            is_uncompressed_inside = not features.is_compressed(child, tensor)
            misfits.append(
                (description, np.asarray((traffic.dense[child, tensor].tile > 1) | is_uncompressed_inside))
            )
    return misfits


def _describe_misfit(
    problem: Problem,
    architecture: Architecture,
    features: SparseFeatures,
    outer: int,
    inner: int,
    tensor: int,
) -> str:
    """Describe the incompatibility between the formats of two levels; empty if they are compatible."""
    name = problem.tensors[tensor].name
    outside, inside = architecture.levels[outer], architecture.levels[inner]
    kind, child = features.formats[outer, tensor], features.formats.get((inner, tensor))
    if child is None or not child.is_compressed:
        # the inner level converts in both directions: outputs also return to the outer level
        missing = [] if inside.decompresses else ["decompression_supported"]
        if problem.tensors[tensor].output and not inside.compresses:
            missing.append("compression_supported")
        if not missing:
            return ""
        required = " and ".join(missing)
        return f"{name} is compressed at {outside.name} but not at {inside.name}, which needs {required}"
    kinds, child_kinds = ([rank.kind for rank in format_.ranks] for format_ in (kind, child))
    # ranks are innermost first; a child with more ranks than the outer format never matches
    if kinds[: len(child_kinds)] == child_kinds:
        return ""
    return (
        f"{name} at {outside.name} is cut into tiles of {inside.name}, so its innermost ranks have to be "
        f"those of {inside.name}, {child}; they are {kind}"
    )


def describe_loops(
    problem: Problem,
    architecture: Architecture,
    features: SparseFeatures,
    traffic: Traffic,
    key: tuple[int, int],
    row: int,
) -> str:
    """Describe the loops of a mapping that need a rank at a level, and the ranks of the format.

    Args:
        problem, architecture, features, traffic: the arguments of ``find_misfits``.
        key: index of the level, and of a tensor with a format there.
        row: index of the mapping.
    """
    level, tensor = key
    nest, child = traffic.nest, traffic.child(level, tensor)
    start = 0 if child is None else nest.end(child)
    touched = problem.touches[tensor][nest.dimension[row]]
    is_tiled = child is not None and features.is_compressed(level, tensor)
    bounds = nest.bound[row].copy()
    if child is not None and not is_tiled:
        # the innermost loops cover the inner tile, which is stored in one piece, see ``ranks``
        for slot in range(start + nest.dimensions, start + 2 * nest.dimensions):
            bounds[slot] *= nest.tile(child)[row, nest.dimension[row, slot]]
    slots = [slot for slot in range(start, nest.end(level)) if touched[slot] and bounds[slot] > 1]
    # slots are innermost first, and the text lists loops outermost first
    loops = [problem.dimensions[nest.dimension[row, slot]] for slot in reversed(slots)]
    ranks = len(features.formats[level, tensor].ranks)
    tile_ranks = ""
    if child is not None and is_tiled:
        inner = features.formats.get((child, tensor))
        count = len(inner.ranks) if inner else 1
        tile_ranks = f", and {count} for the tiles of {architecture.levels[child].name}"
    name = f"{problem.tensors[tensor].name} at {architecture.levels[level].name}"
    return f"{name} needs a rank for each loop over {', '.join(loops)}{tile_ranks}; its format has {ranks}"


@dataclass(frozen=True)
class Fault:
    """A reason for which mappings are invalid.

    Args:
        reason: index of the reason in ``REASONS``.
        location: name of the level, or a description of the fault; empty if the fault is of the whole
            mapping.
        mappings: mask of the mappings with the fault.
        tile_key: indices of level and tensor, for a fault of a tensor.
    """

    reason: int
    location: str
    mappings: Booleans
    tile_key: tuple[int, int] | None = None

    def __str__(self) -> str:
        """Describe the fault and where it is."""
        return f"{self.location}: {REASONS[self.reason]}" if self.location else REASONS[self.reason]


def find_first_faults(count: int, faults: Sequence[Fault]) -> Integers:
    """Return the number of the first fault of each mapping, from 1; 0 means none."""
    numbers = np.zeros(count, np.int64)
    for number, fault in enumerate(faults, start=1):
        numbers = np.where((numbers == 0) & fault.mappings, number, numbers)
    return numbers


def find_mesh_faults(problem: Problem, architecture: Architecture, mappings: Mappings) -> list[Fault]:
    """Return the faults that follow from the loops alone: wrong bounds, and too many instances.

    Each check has an entry, even if no mapping fails the check. Without axes (``Mappings.on_y`` is None), the
    number of instances is checked, and not the sides of the mesh.

    Args:
        problem: the bounds that the loops must cover.
        architecture: the instances of each level, and their mesh.
        mappings: the mappings to check.
    """
    covered_bounds = (mappings.temporal * mappings.spatial).prod(axis=1)
    faults = [Fault(_LOOPS, "", (covered_bounds != np.array(problem.bounds)).any(axis=1))]
    on_y = np.zeros(mappings.spatial.shape, np.bool_) if mappings.on_y is None else mappings.on_y
    bounds_by_axis = [np.where(on_y, 1, mappings.spatial), np.where(on_y, mappings.spatial, 1)]
    instances_by_axis = [np.cumprod(bounds.prod(axis=2), axis=1) for bounds in bounds_by_axis]
    # the spatial loops of a level fan out to the instances of the next level, the innermost to compute units
    inner: list[Level | Compute] = [*architecture.levels[1:], architecture.compute]
    for level, unit in enumerate(inner):
        used_instances = [instances[:, level] for instances in instances_by_axis]
        exceeds_mesh = used_instances[0] * used_instances[1] > unit.instances
        if mappings.on_y is not None:
            exceeds_mesh = (
                exceeds_mesh | (used_instances[0] > unit.mesh[0]) | (used_instances[1] > unit.mesh[1])
            )
        faults.append(Fault(_MESH, unit.name, exceeds_mesh))
    return faults


def tile_faults(
    problem: Problem, architecture: Architecture, features: SparseFeatures, mappings: Mappings
) -> list[Fault]:
    """Return the faults of levels whose uncompressed tiles alone exceed the capacity.

    They need no statistics of nonzeros, and are therefore checked first in a search.

    Args:
        problem: gives the size of a tile.
        architecture: the capacity of each level.
        features: tells which tiles are compressed; these are left out.
        mappings: the mappings to check.
    """
    nest = Nest(mappings)
    faults = []
    for number, level in enumerate(architecture.levels):
        if level.entries is None:
            continue
        data_words = np.zeros(len(mappings))  # of the uncompressed tiles alone: a lower bound
        for tensor in np.flatnonzero(mappings.keep[number]):
            if not features.is_compressed(number, int(tensor)):
                data_words = data_words + problem.size(int(tensor), nest.tile(number))
        faults.append(Fault(_DATA, level.name, data_words > level.entries / level.buffering))
    return faults


def find_capacity_faults(
    problem: Problem,
    architecture: Architecture,
    features: SparseFeatures,
    traffic: Traffic,
    stored_tiles: Mapping[tuple[int, int], StoredTile],
) -> list[Fault]:
    """Return the faults of stored tiles: formats, ranks, partial sums, and capacity, in this order.

    Args:
        problem, architecture, features, traffic: the arguments of ``find_misfits``.
        stored_tiles: stored part of each tensor, by level and tensor.
    """
    misfits = find_misfits(problem, architecture, features, traffic)
    faults = [Fault(_FORMATS, description, mask) for description, mask in misfits]
    faults += [
        Fault(_RANKS, "", stored_tile.short, key)
        for key, stored_tile in stored_tiles.items()
        if stored_tile.short.any()
    ]
    faults += [
        Fault(_SUMS, architecture.levels[level].name, dense.reductions > 0)
        for (level, _tensor), dense in traffic.dense.items()
        if not architecture.levels[level].reduces
    ]
    for number, level in enumerate(architecture.levels):
        data_words, metadata_bits = np.zeros(len(traffic.steps)), np.zeros(len(traffic.steps))
        for tensor in range(len(problem.tensors)):
            if (number, tensor) in stored_tiles:
                stored_tile = stored_tiles[number, tensor]
                data_words = data_words + compute_allocated_words(
                    problem, features, traffic, stored_tiles, level, (number, tensor)
                )
                metadata_bits = metadata_bits + compute_bits_needed(
                    features.formats.get((number, tensor)), level, stored_tile.largest
                )
        faults += _check_capacity(level, data_words, metadata_bits)
    return faults


def compute_allocated_words(
    problem: Problem,
    features: SparseFeatures,
    traffic: Traffic,
    stored_tiles: Mapping[tuple[int, int], StoredTile],
    level: Level,
    key: tuple[int, int],
) -> Numbers:
    """Return the words that a level allocates for a tile: the maximum, or a quantile.

    The quantile is for compressed tensors at a level with overbooking: a share ``overbooked`` of the tiles
    may be larger.

    Args:
        problem, features, traffic, stored_tiles: the arguments of ``find_capacity_faults``.
        key: index of the level, and of the tensor.
    """
    if not level.overbooking or not features.is_compressed(*key):
        return stored_tiles[key].words
    model = problem.densities[key[1]]
    extents = problem.extents(key[1], traffic.nest.tile(key[0]))
    tile_extents = [np.atleast_1d(extent) for extent in extents]

    def quantile(tile: list[Any]) -> Numbers:
        # ``evaluate_for_tiles`` passes integers for a single tile, and arrays for several tiles
        shapes = zip(*(np.atleast_1d(extent) for extent in tile), strict=True)
        confidence = 1.0 - level.overbooked
        return np.array([model.quantile([int(extent) for extent in shape], confidence) for shape in shapes])

    return evaluate_for_tiles(quantile, tile_extents)


def _check_capacity(level: Level, data_words: Numbers, metadata_bits: Numbers) -> list[Fault]:
    """Return the faults of a level's capacities; ``buffering`` divides the space for data only."""
    faults = []
    if level.entries is not None:
        capacity = level.entries / level.buffering
        faults.append(Fault(_DATA, level.name, data_words > capacity))
        faults.append(Fault(_UNUSED, level.name, data_words < capacity * level.least_utilization))
    if level.metadata_depth is not None:
        faults.append(
            Fault(_METADATA, level.name, metadata_bits > level.metadata_depth * level.metadata_width)
        )
    return faults
