"""The third step: whether a mapping fits, and what it costs in cycles and energy.

Source: Sparseloop (MICRO 2022), Section 5.4; Timeloop (ISPASS 2019), Section V.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.actions import Access, Computes, LevelActions
from fiberscope.models.analytic.architecture import Architecture, Level
from fiberscope.models.analytic.dataflow import Traffic
from fiberscope.models.analytic.density import Numbers, ask
from fiberscope.models.analytic.energies import Energies
from fiberscope.models.analytic.formats import Units, bits_of
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import Format, SparseFeatures
from fiberscope.models.analytic.sparse import Sparse

__all__ = ["Cost", "LevelCost", "bits_needed", "cost", "row_ratio"]

# Tiles of so many rows or more are not looked into by the public tool, by words of a row and density
# (0.1, 0.2 ... 1). Source: timeloop, include/model/buffer.hpp, VectorWidthCoefficientTable.
_TOOL_LIMITS = {
    2: (251, 125, 84, 63, 51, 42, 36, 32, 28, 1),
    4: (375, 188, 125, 94, 75, 63, 54, 47, 42, 1),
    8: (438, 219, 146, 110, 88, 73, 63, 55, 49, 1),
    16: (469, 235, 157, 118, 94, 79, 67, 59, 52, 1),
    32: (485, 243, 162, 122, 97, 81, 70, 61, 52, 1),
}
Place = tuple[int, int]
_WAYS = ("read", "fill", "update")
_STATES = ("", "gated_", "skipped_")
_NONE: Final = np.zeros(1)


def row_ratio(
    problem: Problem,
    features: SparseFeatures,
    traffic: Traffic,
    counts: Sparse,
    place: tuple[int, int],
    level: Level,
    options: Options,
) -> Numbers:
    """Rows that the tiles of a tensor at a level take, over those were their nonzeros packed."""
    density, tile = counts.stored[place].density, traffic.dense[place].tile
    if level.block == 1 or not features.compressed(*place):
        return np.ones(1)
    tensor = place[1]
    extents = problem.extents(tensor, traffic.nest.tile(place[0]))
    model = problem.densities[tensor]
    rows = ask(partial(_each, model.expected_blocks, level.block), extents)
    if options.timeloop:
        packed = density * tile / level.block
        ratio = np.divide(rows, packed, out=np.ones_like(rows), where=packed > 0)
        return np.where(_looked_into(level.block, density, tile), ratio, 1.0)
    mean = ask(model.expected, extents) / level.block
    return np.divide(rows, mean, out=np.ones_like(rows), where=mean > 0)


def _each(
    question: Callable[[list[int], int], float], block: int, extents: Sequence[NDArray[np.int64]]
) -> Numbers:
    """The answers for tiles that are asked of one by one."""
    tiles = zip(*(np.atleast_1d(extent) for extent in extents), strict=True)
    return np.array([question([int(extent) for extent in tile], block) for tile in tiles])


def _looked_into(block: int, density: Numbers, tile: NDArray[np.int64]) -> NDArray[np.bool_]:
    limits = np.array(_TOOL_LIMITS.get(block, (0,) * 10))
    column = np.where(density >= 0.1, np.floor(density / 0.1) - 1, 0).astype(np.int64)
    return (limits[np.clip(column, 0, 9)] > tile // block) & (density < 1.0)


@dataclass(frozen=True)
class LevelCost:
    """One level; by mapping.

    Args:
        cycles: that compute and this level make the whole take at least.
        own_cycles: that its bandwidths take by themselves.
        read_words, write_words: a instance, metadata among them, by tensor.
        format_read_words, format_write_words: the format read words and format write words of these metadata.
        energy_pj: by tensor, a instance.
        instances: used on average, by tensor.
        leak_pj: the leakage of all instances, in pJ.
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
        parts = [energy * self.instances[tensor] for tensor, energy in self.energy_pj.items()]
        return np.asarray(sum(parts, start=self.leak_pj))


@dataclass(frozen=True)
class Cost:
    """Cycles and energy of mappings, and those of each level and of compute."""

    levels: tuple[LevelCost, ...]
    compute_cycles: Numbers
    compute_pj: Numbers
    cycles: Numbers
    energy_pj: Numbers


def cost(
    problem: Problem,
    architecture: Architecture,
    features: SparseFeatures,
    traffic: Traffic,
    counts: Sparse,
    energies: Energies,
    options: Options,
) -> Cost:
    """Cycles and energy: the slowest of compute and levels, and the sum of all actions."""
    units = traffic.instances[:, -1]
    compute_cycles = np.ceil((counts.computes.actual + counts.computes.gated) / units - 1e-9)
    rows = _Rows(problem, architecture, features, traffic, counts, energies, options)
    moved = [rows.level(number) for number in range(len(architecture.levels))]
    own = [_cycles(level_moves, level) for level, level_moves in zip(architecture.levels, moved, strict=True)]
    slowest = np.max([compute_cycles, *own], axis=0)
    leaks = _leaks(architecture, energies)
    levels = tuple(
        _costed(level_moves, cycles, compute_cycles, leak * slowest)
        for level_moves, cycles, leak in zip(moved, own, leaks, strict=False)
    )
    compute_pj = _compute_energy(counts.computes, energies) + leaks[-1] * slowest
    total = compute_pj + sum(level.total_pj for level in levels)
    return Cost(levels, compute_cycles, compute_pj, slowest, np.asarray(total))


@dataclass(frozen=True)
class _Moved:
    """Traffic of a level by tensor: words read and written, with metadata, and their energy."""

    read: dict[int, Numbers]
    write: dict[int, Numbers]
    format_read: dict[int, Numbers]
    format_write: dict[int, Numbers]
    energy: dict[int, Numbers]
    instances: dict[int, Numbers]
    used: Numbers
    scale: dict[int, float]


def _cycles(moved: _Moved, level: Level) -> Numbers:
    """The cycles that the words take at the bandwidths; instances that get no tile take none."""
    reads = _averaged(moved, moved.read)
    writes = _averaged(moved, moved.write)
    limits = (
        (reads, level.read_bandwidth),
        (writes, level.write_bandwidth),
        (reads + writes, level.shared_bandwidth),
    )
    slow = [np.ceil(words / bandwidth - 1e-9) for words, bandwidth in limits if bandwidth is not None]
    return np.asarray(np.max([np.zeros_like(reads), *slow], axis=0))


def _averaged(moved: _Moved, words: Mapping[int, Numbers]) -> Numbers:
    parts = [
        count * moved.scale[tensor] * moved.instances[tensor] / moved.used for tensor, count in words.items()
    ]
    return np.asarray(sum(parts, start=np.zeros_like(moved.used)))


def _costed(moved: _Moved, own: Numbers, compute_cycles: Numbers, leak: Numbers) -> LevelCost:
    return LevelCost(
        np.maximum(compute_cycles, own),
        own,
        moved.read,
        moved.write,
        moved.format_read,
        moved.format_write,
        moved.energy,
        moved.instances,
        leak,
    )


def _compute_energy(computes: Computes, energies: Energies) -> Numbers:
    return np.asarray(
        computes.actual * energies.compute["actual"]
        + computes.gated * energies.compute["gated"]
        + computes.skipped * energies.compute["skipped"]
    )


def _leaks(architecture: Architecture, energies: Energies) -> list[float]:
    """pJ a cycle of each level, and of compute last."""
    levels = [
        level.instances * energy["leak"]
        for level, energy in zip(architecture.levels, energies.levels, strict=True)
    ]
    return [*levels, architecture.compute.instances * energies.compute["leak"]]


@dataclass(frozen=True)
class _Rows:
    """Turns words and units into rows of the arrays, and these into energy."""

    problem: Problem
    architecture: Architecture
    features: SparseFeatures
    traffic: Traffic
    counts: Sparse
    energies: Energies
    options: Options

    def level(self, number: int) -> _Moved:
        level = self.architecture.levels[number]
        used = self.traffic.instances[:, number].astype(np.float64)
        moved = _Moved({}, {}, {}, {}, {}, {}, used, {})
        for tensor in range(len(self.problem.tensors)):
            if (number, tensor) in self.counts.counted:
                self._tensor(level, number, tensor, moved)
        return moved

    def _tensor(self, level: Level, number: int, tensor: int, moved: _Moved) -> None:
        place = number, tensor
        counted, stored = self.counts.counted[place], self.counts.stored[place]
        kind = self.features.formats.get(place)
        bits = _bits(counted, kind, level)
        moved.instances[tensor] = moved.used * stored.arriving
        read, write = _words_of_format(bits, level)
        moved.format_read[tensor], moved.format_write[tensor] = read, write
        moved.read[tensor] = counted.reads.actual + counted.reads.gated + read
        fills, updates = counted.fills, counted.updates
        moved.write[tensor] = fills.actual + fills.gated + updates.actual + updates.gated + write
        moved.scale[tensor] = dict(level.bandwidth_scales).get(self.problem.tensors[tensor].name, 1.0)
        moved.energy[tensor] = self._energy(level, place, counted, bits)
        if level.overbooking and self.features.compressed(*place):
            self._overbook(level, place, moved)

    def _overbook(self, level: Level, place: Place, moved: _Moved) -> None:
        """Move a share of the reads of tiles that do not fit to the outer level."""
        number, tensor = place
        parent = self.traffic.parent(number, tensor)
        counted, energy = self.counts.counted[place], moved.energy[tensor]
        moved.energy[tensor] = energy * (1.0 - level.overbooked)
        if parent is not None:
            outer = self.architecture.levels[parent]
            rows = np.ceil(counted.reads.actual / outer.block) * self.energies.levels[parent]["read"]
            moved.energy[tensor] = moved.energy[tensor] + level.overbooked * rows

    def _energy(self, level: Level, place: Place, counted: LevelActions, bits: Numbers | None) -> Numbers:
        """pJ of an instance: rows of data, rows of metadata, changes of format."""
        energy = self.energies.levels[place[0]]
        ratio = row_ratio(self.problem, self.features, self.traffic, self.counts, place, level, self.options)
        words = _actions(counted.reads, counted.fills, counted.updates)
        total = (np.ceil(words / level.block) @ _of_actions(energy, "")) * ratio
        if bits is not None and level.metadata_width:
            total = total + np.ceil(bits / level.metadata_width) @ _of_actions(energy, "metadata_")
        if energy["decompression"] or energy["compression"]:
            changed = (
                counted.decompressions * energy["decompression"]
                + counted.compressions * energy["compression"]
            )
            total = total + changed
        return np.asarray(total)


def _of_actions(energy: Mapping[str, float], data: str) -> Numbers:
    """Energies in the order of ``_actions``."""
    return np.array([energy[f"{state}{data}{way}"] for way in _WAYS for state in _STATES])


def _actions(*accesses: Access) -> Numbers:
    """Reads, fills and updates, each actual, gated and skipped: mappings x 9."""
    parts = [part for access in accesses for part in (access.actual, access.gated, access.skipped)]
    return np.stack(parts, axis=1)


def _bits(counted: LevelActions, kind: Format | None, level: Level) -> Numbers | None:
    """Bits of metadata in the order of ``_actions``; None without a format."""
    if kind is None:
        return None
    metadata = np.stack([part for access in counted.formats for part in _parts(access.metadata)], axis=1)
    payload = np.stack([part for access in counted.formats for part in _parts(access.payload)], axis=1)
    return total_bits(kind, level, metadata, payload)


def _parts(access: Access) -> tuple[Numbers, Numbers, Numbers]:
    return access.actual, access.gated, access.skipped


def total_bits(kind: Format, level: Level, metadata: Numbers, payload: Numbers) -> Numbers:
    """Units of metadata and payloads by rank, the last axis, in bits."""
    widths = _widths(kind, level.metadata_bits, level.metadata_width)
    return np.asarray(metadata @ widths[0] + payload @ widths[1])


@lru_cache(maxsize=1024)
def _widths(kind: Format, default: int, width: int) -> Numbers:
    """Bits of a word of metadata, and of a payload, by rank: 2 x ranks."""
    return np.array([bits_of(rank, default, width) for rank in kind.ranks], np.float64).T


def _words_of_format(bits: Numbers | None, level: Level) -> tuple[Numbers, Numbers]:
    """Words of the array that metadata takes of its bandwidth, read and written: actual and gated."""
    if bits is None:
        return _NONE, _NONE
    read, write = bits[:, 0] + bits[:, 1], bits[:, 3] + bits[:, 4] + bits[:, 6] + bits[:, 7]
    return np.floor(read / level.word_bits), np.floor(write / level.word_bits)


def bits_needed(kind: Format | None, level: Level, largest: Units | None) -> Numbers:
    """The most bits of metadata that a tile takes."""
    if kind is None or largest is None:
        return np.zeros(1)
    return total_bits(kind, level, np.ceil(largest.metadata), np.ceil(largest.payload))
