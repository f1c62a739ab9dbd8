"""Second step of the model: traffic after formats, gating and skipping.

Omitted counts are rounded like those of the public tool, so that counts stay integers.

Source: Sparseloop (MICRO 2022), Section 5.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from fiberscope.models.analytic.actions import Access, Computes, FormatAccess, LevelActions
from fiberscope.models.analytic.arrays import Numbers
from fiberscope.models.analytic.dataflow import Dense, Traffic
from fiberscope.models.analytic.formats import Representation, StoredTile
from fiberscope.models.analytic.joint import have_counted_densities, share_effectual
from fiberscope.models.analytic.leaders import Leaders, Omission
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import SparseFeatures

TileKey = tuple[int, int]  # indices of a level and of a tensor
PRESENT, ZERO, ABSENT = range(3)


@dataclass(frozen=True)
class Saved:
    """Omission of a tensor's reads at a level; arrays over mappings.

    Args:
        share, of_all: as in ``Omission``.
        is_skipping: 1 where the reads are skipped, 0 where they are gated.
        leaders: the tensors whose empty tiles allow the omission.
    """

    share: Numbers
    is_skipping: Numbers
    leaders: frozenset[int]
    of_all: Numbers


@dataclass(frozen=True)
class Sparse:
    """The sparse traffic of mappings, by level and tensor; ``saved`` lacks tensors without omitted reads."""

    stored_tiles: Mapping[TileKey, StoredTile]
    saved: Mapping[TileKey, Saved]
    actions: Mapping[TileKey, LevelActions]
    computes: Computes


def count_sparse_actions(
    problem: Problem,
    traffic: Traffic,
    features: SparseFeatures,
    options: Options,
    blocks: tuple[int, ...],
    cost_of_read: tuple[float, ...],
) -> Sparse:
    """Count actual, gated and skipped actions.

    Args:
        problem, traffic, features, options: as of the other steps.
        blocks: words of a row, by level.
        cost_of_read: pJ of a row, by level, which weighs the options of a feature.
    """
    representation = Representation(problem, traffic, features, options)
    stored_tiles = {key: representation.stored_tile(*key) for key in traffic.dense}
    leaders = Leaders(problem, traffic, options, blocks, features)
    weights = {
        (level, tensor): stored_tile.density
        * traffic.dense[level, tensor].tile
        * cost_of_read[level]
        / blocks[level]
        for (level, tensor), stored_tile in stored_tiles.items()
    }
    saved = _choose_savings(features, leaders, weights)
    all_actions = {key: _count_stored_actions(traffic, stored_tiles, key) for key in stored_tiles}
    for tensor, chain in enumerate(traffic.chains):
        _propagate(problem, traffic, tensor, [(level, saved, all_actions) for level in chain], options)
    _count_conversions(problem, traffic, features, all_actions)
    return Sparse(
        stored_tiles, saved, all_actions, count_computes(problem, traffic, features, saved, options)
    )


def _choose_savings(
    features: SparseFeatures, leaders: Leaders, weights: Mapping[TileKey, Numbers]
) -> dict[TileKey, Saved]:
    """Return by level and tensor the omission with the largest share (gating of equals), with all leaders."""
    savings: dict[TileKey, Saved] = {}
    ordered = [
        (level, omission)
        for is_skipping in (False, True)
        for level, features_of_level in sorted(features.features.items(), reverse=True)
        for omission in features_of_level
        if omission.is_skipping == is_skipping
    ]
    for level, feature in ordered:
        leaders_of_feature = frozenset(leader for option in feature.options for leader in option.leaders)
        for omission in _choose([leaders.omit(level, option) for option in feature.options], weights):
            key = (omission.level, omission.tensor)
            is_skipping = np.full_like(omission.share, float(feature.is_skipping))
            if key in savings:
                better = omission.share > savings[key].share
                is_skipping = np.where(better, is_skipping, savings[key].is_skipping)
                share = np.where(better, omission.share, savings[key].share)
                of_all = np.where(better, omission.of_all, savings[key].of_all)
                savings[key] = Saved(share, is_skipping, leaders_of_feature | savings[key].leaders, of_all)
            else:
                savings[key] = Saved(omission.share, is_skipping, leaders_of_feature, omission.of_all)
    return savings


def _choose(omissions: list[Omission], weights: Mapping[TileKey, Numbers]) -> list[Omission]:
    """Return the option with the largest saving, mapping by mapping; the last of equals."""
    if len(omissions) == 1:
        return omissions
    savings = np.stack([omission.share * weights[omission.level, omission.tensor] for omission in omissions])
    best = len(omissions) - 1 - np.argmax(savings[::-1], axis=0)
    return [
        Omission(
            omission.level,
            omission.tensor,
            np.where(best == number, omission.share, 0.0),
            np.where(best == number, omission.of_all, 0.0),
        )
        for number, omission in enumerate(omissions)
    ]


def _count_stored_actions(
    traffic: Traffic, stored_tiles: Mapping[TileKey, StoredTile], key: TileKey
) -> LevelActions:
    """Return the accesses to stored data and to its metadata."""
    dense, stored_tile = traffic.dense[key], stored_tiles[key]
    words = [dense.reads, dense.fills, dense.updates]
    if stored_tile.units is None:
        reads, fills, updates = (Access.all_actual(accesses.astype(np.float64)) for accesses in words)
        return LevelActions(reads, fills, updates, reductions=dense.reductions.astype(np.float64))
    zeros = 1.0 - stored_tile.density
    reads, fills, updates = (Access.all_actual(accesses - _floor(accesses * zeros)) for accesses in words)
    formats = [
        FormatAccess.from_units(stored_tile.units, accesses / stored_tile.listed) for accesses in words
    ]
    return LevelActions(reads, fills, updates, *formats, reductions=dense.reductions.astype(np.float64))


def _propagate(
    problem: Problem,
    traffic: Traffic,
    tensor: int,
    chain: list[tuple[int, Mapping[TileKey, Saved], dict[TileKey, LevelActions]]],
    options: Options,
) -> None:
    """Apply the omissions of a tensor to the inner levels, down to the next level with an omission."""
    outer: Saved | None = None
    ranks = 0
    for level, saved, all_actions in chain:
        actions, saving = all_actions[level, tensor], saved.get((level, tensor))
        updates = traffic.dense[level, tensor].updates
        if outer is not None:
            _diminish(actions, outer.share, ranks, options)
        if saving is not None:
            _omit(
                problem,
                traffic,
                (level, tensor),
                all_actions,
                _compute_additional_saving(saving, outer),
                outer,
                options,
            )
            outer, ranks = (
                saving,
                len(actions.format_reads.metadata.actual[0]) if actions.format_reads else 0,
            )
        remaining_share = np.divide(
            actions.updates.actual, updates, out=np.zeros(len(updates)), where=updates > 0
        )
        actions.reductions = np.ceil(actions.reductions * remaining_share - 1e-9)


def _diminish(actions: LevelActions, share: Numbers, ranks: int, options: Options) -> None:
    """Remove the accesses to tiles that an outer level omits.

    The public tool does not remove metadata, except reads and fills of the innermost rank if the outer level
    has a single rank.
    """
    for access in (actions.reads, actions.fills, actions.updates):
        access.actual = access.actual - _floor(access.actual * share)
    if not options.timeloop:
        for accesses in actions.formats:
            accesses.shrink(share)
    elif ranks == 1 and actions.format_reads and actions.format_fills:
        actions.format_reads.shrink(share, 1)
        actions.format_fills.shrink(share, 1)


def _compute_additional_saving(saving: Saved, outer: Saved | None) -> Saved:
    """Return the omissions of a level in addition to those of an outer level."""
    if outer is None:
        return saving
    remaining_share = 1.0 - outer.share
    share = 1.0 - np.divide(
        1.0 - saving.share, remaining_share, out=np.ones_like(remaining_share), where=remaining_share > 0
    )
    return replace(saving, share=np.maximum(share, 0.0))


def _omit(
    problem: Problem,
    traffic: Traffic,
    key: TileKey,
    all_actions: dict[TileKey, LevelActions],
    saving: Saved,
    outer: Saved | None,
    options: Options,
) -> None:
    """Omit reads and updates at this level, and the metadata that belongs to them."""
    level, tensor = key
    actions = all_actions[key]
    is_output = problem.tensors[tensor].output
    if options.joint == "exact" and is_output and saving.leaders >= set(problem.operands):
        _keep_products(actions, traffic.dense[key])  # only accesses with nonzero products remain
    rounding = np.ceil if is_output else np.floor
    actions.reads.lose(rounding(_round_near(actions.reads.actual * saving.share)), saving.is_skipping)
    actions.updates.lose(_floor(actions.updates.actual * saving.share), saving.is_skipping)
    if actions.format_reads is None or actions.format_updates is None:
        return
    if outer is not None and options.timeloop:  # the public tool uses the metadata of updates for reads
        actions.format_reads = actions.format_updates.copy()
    child = traffic.child(level, tensor)
    count = actions.format_reads.metadata.actual.shape[1]
    if child is not None:
        inner = all_actions[child, tensor].format_reads
        count = inner.metadata.actual.shape[1] if inner else 0
    actions.format_reads.lose_share(saving.share, saving.is_skipping, count)
    actions.format_updates.lose_share(saving.share, saving.is_skipping, count)


def _keep_products(actions: LevelActions, dense: Dense) -> None:
    """Keep all accesses to an output with nonzero products: its zeros omit nothing."""
    for access, accesses, units in (
        (actions.reads, dense.reads, actions.format_reads),
        (actions.updates, dense.updates, actions.format_updates),
    ):
        remaining = np.divide(access.actual, accesses, out=np.ones(len(accesses)), where=access.actual > 0)
        access.actual = accesses.astype(np.float64)
        if units is not None:
            units.shrink(1.0 - 1.0 / remaining)  # a share below 0: the units grow as the accesses do


def _count_conversions(
    problem: Problem, traffic: Traffic, features: SparseFeatures, all_actions: dict[TileKey, LevelActions]
) -> None:
    """Count format conversions of data that is compressed at the outer level but not at this level."""
    is_compressed = features.is_compressed
    for (level, tensor), actions in all_actions.items():
        parent = traffic.parent(level, tensor)
        none = np.zeros_like(actions.reads.actual)
        actions.decompressions, actions.compressions = none, none
        if parent is None or not is_compressed(parent, tensor) or is_compressed(level, tensor):
            continue
        actions.decompressions = actions.fills.actual
        if problem.tensors[tensor].output:
            actions.compressions = all_actions[parent, tensor].updates.actual


def _round_near(numbers: Numbers) -> Numbers:
    """Round numbers that differ from integers only by the rounding error of a product."""
    rounded = np.rint(numbers)
    return np.where(np.abs(numbers - rounded) <= 1e-9 * np.maximum(np.abs(rounded), 1.0), rounded, numbers)


def _floor(numbers: Numbers) -> Numbers:
    return np.asarray(np.floor(_round_near(numbers)))


def count_computes(
    problem: Problem,
    traffic: Traffic,
    features: SparseFeatures,
    saved: Mapping[tuple[int, int], Saved],
    options: Options,
) -> Computes:
    """Return the computes of all units: actual, gated, skipped and absent.

    Of each operand, only the innermost omission in ``saved`` removes computes.
    """
    innermost = {tensor: _find_innermost(traffic, saved, tensor) for tensor in problem.operands}
    remaining = traffic.computes.astype(np.float64)
    gated = np.zeros_like(remaining)
    is_joint = options.joint == "exact" and have_counted_densities(problem, problem.operands)
    is_first = True
    for omission in innermost.values():
        if omission is not None:
            # the second omission applies to the remaining computes
            share = omission.of_all if is_first else omission.share
            is_first = False
            removed = np.floor(remaining * share + 1e-9)
            remaining = remaining - removed
            if not options.timeloop:  # a gated compute takes a cycle, which the public tool omits
                gated = gated + removed * (1.0 - omission.is_skipping)
    if is_joint:
        return _count_joint(problem, traffic, features, innermost, remaining, gated)
    states = {
        tensor: _compute_probabilities(problem, traffic, features, innermost, tensor, options)
        for tensor in problem.operands
    }
    return _divide_by_state(features, list(states.values()), remaining, gated)


def _count_joint(
    problem: Problem,
    traffic: Traffic,
    features: SparseFeatures,
    innermost: Mapping[int, Saved | None],
    remaining: Numbers,
    gated: Numbers,
) -> Computes:
    """Return the computes of two operands with known nonzeros.

    Without an earlier omission, pairs of two absent operands do not reach the unit. In the other pairs that
    remain, one operand is missing.
    """
    total = traffic.computes.astype(np.float64)
    actual = np.minimum(np.rint(total * share_effectual(problem, *problem.operands)), remaining)
    remaining, absent = remaining - actual, np.zeros_like(remaining)
    is_formatted = [(traffic.chains[tensor][-1], tensor) in features.formats for tensor in problem.operands]
    if all(is_formatted) and not any(innermost.values()):
        shares = [problem.densities[tensor].exact for tensor in problem.operands]
        absent = np.rint(total * (1.0 - sum(shares))) + actual
        remaining = remaining - absent
    nothing = np.zeros_like(remaining)
    if features.compute_skipping and any(is_formatted):
        return Computes(actual, gated, remaining, absent)
    if features.compute_gating:
        return Computes(actual, gated + remaining, nothing, absent)
    return Computes(actual + remaining, gated, nothing, absent)


def _find_innermost(traffic: Traffic, saved: Mapping[tuple[int, int], Saved], tensor: int) -> Saved | None:
    """Return the omission at the innermost level that omits reads of an operand."""
    levels = [level for level in traffic.chains[tensor] if (level, tensor) in saved]
    return saved[levels[-1], tensor] if levels else None


def _compute_probabilities(
    problem: Problem,
    traffic: Traffic,
    features: SparseFeatures,
    innermost: Mapping[int, Saved | None],
    tensor: int,
    options: Options,
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the probabilities that an operand is present, zero and absent in the remaining computes."""
    density = np.full(len(traffic.steps), problem.densities[tensor].exact)
    if options.timeloop:
        density = np.round(density, 6)
    for operand, saved in innermost.items():
        if operand != tensor and saved is not None and tensor in saved.leaders:
            share = np.round(saved.share, 6) if options.timeloop else saved.share
            remaining_share = 1.0 - share
            density = np.divide(
                density, remaining_share, out=np.ones_like(remaining_share), where=remaining_share > 0
            )
    present = np.minimum(density, 1.0)
    nothing = np.zeros_like(present)
    if (traffic.chains[tensor][-1], tensor) in features.formats:
        return present, nothing, 1.0 - present
    return present, 1.0 - present, nothing


def _divide_by_state(
    features: SparseFeatures,
    states: list[tuple[Numbers, Numbers, Numbers]],
    remaining: Numbers,
    gated: Numbers,
) -> Computes:
    """Return the computes; the remaining computes are divided by the states of their operands."""
    skipped, absent = np.zeros_like(remaining), np.zeros_like(remaining)
    idle = np.zeros_like(remaining)
    for combination in product((PRESENT, ZERO, ABSENT), repeat=len(states)):
        count = remaining.copy()
        for state, index in zip(states, combination, strict=True):
            count = count * state[index]
        if all(state == ABSENT for state in combination):
            absent = absent + count
        elif ABSENT in combination and features.compute_skipping:
            skipped = skipped + count
        elif combination != (PRESENT,) * len(states) and features.compute_gating:
            idle = idle + count
    skipped, idle, absent = (np.floor(count + 1e-9) for count in (skipped, idle, absent))
    return Computes(remaining - skipped - idle - absent, gated + idle, skipped, absent)
