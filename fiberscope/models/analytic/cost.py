"""Third step of the model: cycles and energy of a mapping.

Source: Sparseloop (MICRO 2022), Section 5.4; Timeloop (ISPASS 2019), Section V.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

import numpy as np

from fiberscope.models.analytic.actions import Access, Computes, LevelActions
from fiberscope.models.analytic.architecture import Architecture, Level
from fiberscope.models.analytic.arrays import Booleans, Integers, Numbers
from fiberscope.models.analytic.dataflow import Traffic
from fiberscope.models.analytic.density import evaluate_for_tiles
from fiberscope.models.analytic.energies import Energies
from fiberscope.models.analytic.formats import Units, compute_bits
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import Format, SparseFeatures
from fiberscope.models.analytic.sparse import Sparse

# Number of rows from which on the public tool takes a tile's nonzeros as packed, by words of a row and
# density (0.1, 0.2 ... 1). Source: timeloop, include/model/buffer.hpp, VectorWidthCoefficientTable.
_TOOL_LIMITS = {
    2: (251, 125, 84, 63, 51, 42, 36, 32, 28, 1),
    4: (375, 188, 125, 94, 75, 63, 54, 47, 42, 1),
    8: (438, 219, 146, 110, 88, 73, 63, 55, 49, 1),
    16: (469, 235, 157, 118, 94, 79, 67, 59, 52, 1),
    32: (485, 243, 162, 122, 97, 81, 70, 61, 52, 1),
}
TileKey = tuple[int, int]  # indices of a level and of a tensor
_ACCESSES = ("read", "fill", "update")
_STATES = ("", "gated_", "skipped_")
_NONE: Final = np.zeros(1)


def compute_row_ratio(
    problem: Problem,
    features: SparseFeatures,
    traffic: Traffic,
    counts: Sparse,
    key: tuple[int, int],
    level: Level,
    options: Options,
) -> Numbers:
    """Return the rows of a tensor's tiles at a level, divided by the rows of its packed nonzeros.

    The nonzeros of a tile may lie in more rows than their number requires, as each tile begins a new row. The
    ratio is 1 for a level with one word a row, for an uncompressed tensor, for tiles without nonzeros, and
    with ``options.timeloop`` for tiles whose nonzeros the public tool takes as packed.

    Args:
        problem, features, traffic, counts, options: as for ``compute_cost``.
        key: index of the level, and of the tensor.

    Returns:
        The ratio by mapping.
    """
    density, tile = counts.stored_tiles[key].density, traffic.dense[key].tile
    if level.block == 1 or not features.is_compressed(*key):
        return np.ones(1)
    tensor = key[1]
    extents = problem.extents(tensor, traffic.nest.tile(key[0]))
    model = problem.densities[tensor]
    rows = evaluate_for_tiles(partial(_evaluate_tiles, model.expected_blocks, level.block), extents)
    if options.timeloop:
        packed = density * tile / level.block
        ratio = np.divide(rows, packed, out=np.ones_like(rows), where=packed > 0)
        return np.where(_is_row_exact(level.block, density, tile), ratio, 1.0)
    mean = evaluate_for_tiles(model.expected, extents) / level.block
    return np.divide(rows, mean, out=np.ones_like(rows), where=mean > 0)


def _evaluate_tiles(
    statistic: Callable[[list[int], int], float], block: int, extents: Sequence[Integers]
) -> Numbers:
    """Return a statistic of blocks of ``block`` words for each tile."""
    tiles = zip(*(np.atleast_1d(extent) for extent in extents), strict=True)
    return np.array([statistic([int(extent) for extent in tile], block) for tile in tiles])


def _is_row_exact(block: int, density: Numbers, tile: Integers) -> Booleans:
    """Return whether the public tool counts rows exactly, and does not take the nonzeros as packed.

    The tool takes nonzeros as packed if its table lacks the number of words of a row.
    """
    limits = np.array(_TOOL_LIMITS.get(block, (0,) * 10))
    column = np.where(density >= 0.1, np.floor(density / 0.1) - 1, 0).astype(np.int64)
    return (limits[np.clip(column, 0, 9)] > tile // block) & (density < 1.0)


@dataclass(frozen=True)
class LevelCost:
    """Cost of one level; arrays over mappings.

    Args:
        cycles: lower bound of the total from compute and this level.
        own_cycles: cycles that the bandwidths need; 0 for a level with unlimited bandwidths.
        read_words, write_words: words of an instance, actual and gated, with metadata, by tensor.
        format_read_words, format_write_words: the words of metadata among them.
        energy_pj: energy of an instance, by tensor.
        instances: mean number of used instances, by tensor.
        leak_pj: the leakage of all instances of the machine, used or not, in pJ.
    """

    cycles: Numbers
    own_cycles: Numbers
    read_words: Mapping[int, Numbers]
    write_words: Mapping[int, Numbers]
    format_read_words: Mapping[int, Numbers]
    format_write_words: Mapping[int, Numbers]
    energy_pj: Mapping[int, Numbers]
    instances: Mapping[int, Numbers]
    leak_pj: Numbers

    @property
    def total_pj(self) -> Numbers:
        """Return the energy of all instances and tensors."""
        energies = [energy * self.instances[tensor] for tensor, energy in self.energy_pj.items()]
        return np.asarray(sum(energies, start=self.leak_pj))


@dataclass(frozen=True)
class Cost:
    """Cycles and energy of mappings; arrays over mappings.

    Args:
        levels: cost of each level.
        compute_cycles: cycles of the compute units.
        compute_pj: energy of all compute units.
        cycles: cycles of the slowest of compute and levels.
        energy_pj: energy of compute and of all levels.
    """

    levels: tuple[LevelCost, ...]
    compute_cycles: Numbers
    compute_pj: Numbers
    cycles: Numbers
    energy_pj: Numbers


def compute_cost(
    problem: Problem,
    architecture: Architecture,
    features: SparseFeatures,
    traffic: Traffic,
    counts: Sparse,
    energies: Energies,
    options: Options,
) -> Cost:
    """Return cycles and energy: the slowest of compute and levels, and the sum of all actions.

    Args:
        problem: the loop nest and its tensors.
        architecture: the levels and the compute units.
        features: formats, gating and skipping.
        traffic: the dense traffic, from the first step.
        counts: the sparse traffic, from the second step.
        energies: energy of each action.
        options: options of the model.
    """
    units = traffic.instances[:, -1]
    # 1e-9: a whole number with a rounding error is not rounded up to the next cycle
    compute_cycles = np.ceil((counts.computes.actual + counts.computes.gated) / units - 1e-9)
    rows = _Rows(problem, architecture, features, traffic, counts, energies, options)
    level_traffic = [rows.level(number) for number in range(len(architecture.levels))]
    level_cycles = list(map(_compute_cycles, level_traffic, architecture.levels))
    slowest = np.max([compute_cycles, *level_cycles], axis=0)
    leaks = _compute_leakage(architecture, energies)
    levels = tuple(
        _level_cost(moves, cycles, compute_cycles, leak * slowest)
        # not strict: the last leak is that of compute
        for moves, cycles, leak in zip(level_traffic, level_cycles, leaks, strict=False)
    )
    compute_pj = _compute_energy(counts.computes, energies) + leaks[-1] * slowest
    total = compute_pj + sum(level.total_pj for level in levels)
    return Cost(levels, compute_cycles, compute_pj, slowest, np.asarray(total))


@dataclass(frozen=True)
class _LevelTraffic:
    """Traffic of a level by tensor: words read and written, with metadata, and their energy."""

    read: dict[int, Numbers]
    write: dict[int, Numbers]
    format_read: dict[int, Numbers]
    format_write: dict[int, Numbers]
    energy: dict[int, Numbers]
    instances: dict[int, Numbers]
    used: Numbers
    scale: dict[int, float]


def _compute_cycles(traffic: _LevelTraffic, level: Level) -> Numbers:
    """Return the cycles of a level's bandwidths; instances without a tile need none."""
    reads = _average_words(traffic, traffic.read)
    writes = _average_words(traffic, traffic.write)
    limits = (
        (reads, level.read_bandwidth),
        (writes, level.write_bandwidth),
        (reads + writes, level.shared_bandwidth),
    )
    cycles = [np.ceil(words / bandwidth - 1e-9) for words, bandwidth in limits if bandwidth is not None]
    return np.asarray(np.max([np.zeros_like(reads), *cycles], axis=0))


def _average_words(traffic: _LevelTraffic, words_by_tensor: Mapping[int, Numbers]) -> Numbers:
    """Return the words of bandwidth of all tensors, in the mean over the used instances."""
    words_of_tensor = [
        count * traffic.scale[tensor] * traffic.instances[tensor] / traffic.used
        for tensor, count in words_by_tensor.items()
    ]
    return np.asarray(sum(words_of_tensor, start=np.zeros_like(traffic.used)))


def _level_cost(
    traffic: _LevelTraffic, own_cycles: Numbers, compute_cycles: Numbers, leak: Numbers
) -> LevelCost:
    return LevelCost(
        np.maximum(compute_cycles, own_cycles),
        own_cycles,
        traffic.read,
        traffic.write,
        traffic.format_read,
        traffic.format_write,
        traffic.energy,
        traffic.instances,
        leak,
    )


def _compute_energy(computes: Computes, energies: Energies) -> Numbers:
    return np.asarray(
        computes.actual * energies.compute["actual"]
        + computes.gated * energies.compute["gated"]
        + computes.skipped * energies.compute["skipped"]
    )


def _compute_leakage(architecture: Architecture, energies: Energies) -> list[float]:
    """Return the leakage in pJ a cycle of each level, and last of compute."""
    levels = [
        level.instances * energy["leak"]
        for level, energy in zip(architecture.levels, energies.levels, strict=True)
    ]
    return [*levels, architecture.compute.instances * energies.compute["leak"]]


@dataclass(frozen=True)
class _Rows:
    """Conversion of words and units to rows of the arrays, and of rows to energy."""

    problem: Problem
    architecture: Architecture
    features: SparseFeatures
    traffic: Traffic
    counts: Sparse
    energies: Energies
    options: Options

    def level(self, number: int) -> _LevelTraffic:
        """Return the traffic of level ``number``, by tensor that the level keeps."""
        level = self.architecture.levels[number]
        used = self.traffic.instances[:, number].astype(np.float64)
        level_traffic = _LevelTraffic({}, {}, {}, {}, {}, {}, used, {})
        for tensor in range(len(self.problem.tensors)):
            if (number, tensor) in self.counts.actions:
                self._add_tensor(level, number, tensor, level_traffic)
        return level_traffic

    def _add_tensor(self, level: Level, number: int, tensor: int, level_traffic: _LevelTraffic) -> None:
        """Add the words and the energy of a tensor; skipped accesses take no bandwidth."""
        key = number, tensor
        actions, stored_tile = self.counts.actions[key], self.counts.stored_tiles[key]
        kind = self.features.formats.get(key)
        bits = _stack_metadata_bits(actions, kind, level)
        level_traffic.instances[tensor] = level_traffic.used * stored_tile.arriving
        read, write = _format_words(bits, level)
        level_traffic.format_read[tensor], level_traffic.format_write[tensor] = read, write
        level_traffic.read[tensor] = actions.reads.actual + actions.reads.gated + read
        fills, updates = actions.fills, actions.updates
        level_traffic.write[tensor] = fills.actual + fills.gated + updates.actual + updates.gated + write
        level_traffic.scale[tensor] = dict(level.bandwidth_scales).get(self.problem.tensors[tensor].name, 1.0)
        level_traffic.energy[tensor] = self._compute_energy(level, key, actions, bits)
        if level.overbooking and level.entries is not None and self.features.is_compressed(*key):
            self._charge_overbooking(level, key, level_traffic)

    def _charge_overbooking(self, level: Level, key: TileKey, level_traffic: _LevelTraffic) -> None:
        """Charge a share of the reads to the outer level, for tiles that exceed the level."""
        number, tensor = key
        parent = self.traffic.parent(number, tensor)
        actions, energy = self.counts.actions[key], level_traffic.energy[tensor]
        level_traffic.energy[tensor] = energy * (1.0 - level.overbooked)
        if parent is not None:
            outer = self.architecture.levels[parent]
            rows = np.ceil(actions.reads.actual / outer.block) * self.energies.levels[parent]["read"]
            level_traffic.energy[tensor] = level_traffic.energy[tensor] + level.overbooked * rows

    def _compute_energy(
        self, level: Level, key: TileKey, actions: LevelActions, bits: Numbers | None
    ) -> Numbers:
        """Return the energy of an instance in pJ: rows of data, rows of metadata, changes of format."""
        energy = self.energies.levels[key[0]]
        ratio = compute_row_ratio(
            self.problem, self.features, self.traffic, self.counts, key, level, self.options
        )
        accesses = _stack_actions(actions.reads, actions.fills, actions.updates)
        total = (np.ceil(accesses / level.block) @ _list_action_energies(energy, "")) * ratio
        if bits is not None and level.metadata_width:
            total = total + np.ceil(bits / level.metadata_width) @ _list_action_energies(energy, "metadata_")
        if energy["decompression"] or energy["compression"]:
            conversions = (
                actions.decompressions * energy["decompression"]
                + actions.compressions * energy["compression"]
            )
            total = total + conversions
        return np.asarray(total)


def _list_action_energies(energy: Mapping[str, float], data: str) -> Numbers:
    """Return energies in the order of ``_actions``."""
    return np.array([energy[f"{state}{data}{access}"] for access in _ACCESSES for state in _STATES])


def _stack_actions(*accesses: Access) -> Numbers:
    """Return reads, fills and updates, each actual, gated and skipped: mappings x 9."""
    counts = [count for access in accesses for count in (access.actual, access.gated, access.skipped)]
    return np.stack(counts, axis=1)


def _stack_metadata_bits(actions: LevelActions, kind: Format | None, level: Level) -> Numbers | None:
    """Return the bits of metadata in the order of ``_actions``; None without a format."""
    if kind is None:
        return None
    metadata = _stack_actions(*(access.metadata for access in actions.formats))
    payload = _stack_actions(*(access.payload for access in actions.formats))
    return total_bits(kind, level, metadata, payload)


def total_bits(kind: Format, level: Level, metadata: Numbers, payload: Numbers) -> Numbers:
    """Return the bits of units of metadata and payloads, summed over ranks (the last axis).

    Args:
        kind: the format, with the bits of a word of each rank.
        level: the level, with the default bits and the width of a row of metadata.
        metadata, payload: number of units by rank.
    """
    widths = _compute_widths(kind, level.metadata_bits, level.metadata_width)
    return np.asarray(metadata @ widths[0] + payload @ widths[1])


@lru_cache(maxsize=1024)
def _compute_widths(kind: Format, default: int, width: int) -> Numbers:
    """Return the bits of a word of metadata, and of a payload, by rank: 2 x ranks."""
    return np.array([compute_bits(rank, default, width) for rank in kind.ranks], np.float64).T


def _format_words(bits: Numbers | None, level: Level) -> tuple[Numbers, Numbers]:
    """Return the words of bandwidth that metadata takes, read and written: actual and gated.

    Args:
        bits: bits of metadata in the order of ``_actions``; None without a format.
        level: the level with the bits of a word.
    """
    if bits is None:
        return _NONE, _NONE
    # columns 0, 1: reads; 3, 4: fills; 6, 7: updates; skipped accesses (2, 5, 8) move no metadata
    read, write = bits[:, 0] + bits[:, 1], bits[:, 3] + bits[:, 4] + bits[:, 6] + bits[:, 7]
    return np.floor(read / level.word_bits), np.floor(write / level.word_bits)


def compute_bits_needed(kind: Format | None, level: Level, largest: Units | None) -> Numbers:
    """Return the largest number of bits of metadata of a tile; 0 without a format.

    Args:
        kind: the format.
        level: the level, with the default bits and the width of a row of metadata.
        largest: the largest number of units by rank.
    """
    if kind is None or largest is None:
        return np.zeros(1)
    return total_bits(kind, level, np.ceil(largest.metadata), np.ceil(largest.payload))
