"""The second step: what formats, gating and skipping leave of the dense traffic.

Source: Sparseloop (MICRO 2022), Section 5.3. Counts that are left out are rounded as the public tool rounds
them, so that they are whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fiberscope.models.analytic.actions import Access, Computes, FormatAccess, LevelActions
from fiberscope.models.analytic.dataflow import Dense, Traffic
from fiberscope.models.analytic.density import Numbers
from fiberscope.models.analytic.formats import Representation, Stored
from fiberscope.models.analytic.joint import are_known, scalars_there
from fiberscope.models.analytic.leaders import Leaders, Omission
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import SparseFeatures

__all__ = ["Saved", "Sparse", "computes_of", "sparse"]

Place = tuple[int, int]  # level and tensor
PRESENT, ZERO, ABSENT = range(3)


@dataclass(frozen=True)
class Saved:
    """Omission at a place: the share of the reads, and whether it is skipped (1) or gated (0).

    ``leaders`` are the tensors whose empty tiles allow it; ``of_all`` is as of an ``Omission``.
    """

    share: Numbers
    skipping: Numbers
    leaders: frozenset[int]
    of_all: Numbers


@dataclass(frozen=True)
class Sparse:
    """The sparse traffic of mappings, by level and tensor."""

    stored: Mapping[Place, Stored]
    saved: Mapping[Place, Saved]
    counted: Mapping[Place, LevelActions]
    computes: Computes


def sparse(
    problem: Problem,
    traffic: Traffic,
    features: SparseFeatures,
    options: Options,
    blocks: tuple[int, ...],
    cost_of_read: tuple[float, ...],
) -> Sparse:
    """Count what is done, gated and skipped.

    Args:
        problem, traffic, features, options: as of the other steps.
        blocks: words of a row, by level.
        cost_of_read: pJ of a row, by level; by it the options of a feature are weighed.
    """
    representation = Representation(problem, traffic, features, options)
    stored = {place: representation.stored(*place) for place in traffic.dense}
    leaders = Leaders(problem, traffic, options, blocks, features.formats)
    weights = {
        (level, tensor): stored_tensor.density
        * traffic.dense[level, tensor].tile
        * cost_of_read[level]
        / blocks[level]
        for (level, tensor), stored_tensor in stored.items()
    }
    saved = _saved(features, leaders, weights)
    counted = {place: _represented(problem, traffic, stored, place) for place in stored}
    for tensor, chain in enumerate(traffic.chains):
        _propagated(problem, traffic, tensor, [(level, saved, counted) for level in chain], options)
    _conversions(problem, traffic, features, counted)
    return Sparse(stored, saved, counted, computes_of(problem, traffic, features, saved, options))


def _saved(
    features: SparseFeatures, leaders: Leaders, weights: Mapping[Place, Numbers]
) -> dict[Place, Saved]:
    """Choose the feature with the larger share for each tensor and level; gating comes first."""
    savings: dict[Place, Saved] = {}
    ordered = [
        (level, omission)
        for skipping in (False, True)
        for level, several in sorted(features.features.items(), reverse=True)
        for omission in several
        if omission.skipping == skipping
    ]
    for level, feature in ordered:
        led = frozenset(leader for option in feature.options for leader in option.leaders)
        for omission in _best([leaders.omission(level, option) for option in feature.options], weights):
            place = (omission.level, omission.tensor)
            skipping = np.full_like(omission.share, float(feature.skipping))
            if place in savings:
                better = omission.share > savings[place].share
                skipping = np.where(better, skipping, savings[place].skipping)
                share = np.where(better, omission.share, savings[place].share)
                of_all = np.where(better, omission.of_all, savings[place].of_all)
                savings[place] = Saved(share, skipping, led | savings[place].leaders, of_all)
            else:
                savings[place] = Saved(omission.share, skipping, led, omission.of_all)
    return savings


def _best(omissions: list[Omission], weights: Mapping[Place, Numbers]) -> list[Omission]:
    """Choose the option that saves most, mapping by mapping; the last of equals."""
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


def _represented(
    problem: Problem, traffic: Traffic, stored: Mapping[Place, Stored], place: Place
) -> LevelActions:
    """The accesses to what is stored, and those to its metadata."""
    dense, stored_tensor = traffic.dense[place], stored[place]
    every = [dense.reads, dense.fills, dense.updates]
    if stored_tensor.units is None:
        reads, fills, updates = (Access.all_actual(each.astype(np.float64)) for each in every)
        return LevelActions(reads, fills, updates, reductions=dense.reductions.astype(np.float64))
    zeros = 1.0 - stored_tensor.density
    reads, fills, updates = (Access.all_actual(each - _floor(each * zeros)) for each in every)
    formats = [FormatAccess.from_units(stored_tensor.units, each / stored_tensor.listed) for each in every]
    return LevelActions(reads, fills, updates, *formats, reductions=dense.reductions.astype(np.float64))


def _propagated(
    problem: Problem,
    traffic: Traffic,
    tensor: int,
    chain: list[tuple[int, Mapping[Place, Saved], dict[Place, LevelActions]]],
    options: Options,
) -> None:
    """Propagate an omission inwards, down to the next level that omits reads itself."""
    outer: Saved | None = None
    ranks = 0
    for level, saved, counted in chain:
        counted_tensor, saving = counted[level, tensor], saved.get((level, tensor))
        updates = traffic.dense[level, tensor].updates
        if outer is not None:
            _diminish(counted_tensor, outer.share, ranks, options)
        if saving is not None:
            _leave_out(problem, traffic, (level, tensor), counted, _beyond(saving, outer), outer, options)
            outer, ranks = (
                saving,
                len(counted_tensor.format_reads.metadata.actual[0]) if counted_tensor.format_reads else 0,
            )
        rest = np.divide(
            counted_tensor.updates.actual, updates, out=np.zeros(len(updates)), where=updates > 0
        )
        counted_tensor.reductions = np.ceil(counted_tensor.reductions * rest - 1e-9)


def _diminish(counted: LevelActions, share: Numbers, ranks: int, options: Options) -> None:
    """The accesses of tiles that were left out further out do not exist here.

    The public tool forgets the metadata, but for what is read and brought in of the innermost rank where the
    outer level has but one.
    """
    for access in (counted.reads, counted.fills, counted.updates):
        access.actual = access.actual - _floor(access.actual * share)
    if not options.timeloop:
        for each in counted.formats:
            each.shrink(share)
    elif ranks == 1 and counted.format_reads and counted.format_fills:
        counted.format_reads.shrink(share, 1)
        counted.format_fills.shrink(share, 1)


def _beyond(saving: Saved, outer: Saved | None) -> Saved:
    """Return the omissions of a level beyond those of a further level."""
    if outer is None:
        return saving
    left = 1.0 - outer.share
    share = 1.0 - np.divide(1.0 - saving.share, left, out=np.ones_like(left), where=left > 0)
    return replace(saving, share=np.maximum(share, 0.0))


def _leave_out(
    problem: Problem,
    traffic: Traffic,
    place: Place,
    counted: dict[Place, LevelActions],
    saving: Saved,
    outer: Saved | None,
    options: Options,
) -> None:
    """Reads and updates that are left out at this level, and the metadata that would go with them."""
    level, tensor = place
    counted_tensor = counted[place]
    if options.joint == "exact" and _is_made(problem, tensor, saving):
        _make_certain(counted_tensor, traffic.dense[place])
    rounding = np.ceil if problem.tensors[tensor].output else np.floor
    counted_tensor.reads.lose(rounding(_near(counted_tensor.reads.actual * saving.share)), saving.skipping)
    counted_tensor.updates.lose(_floor(counted_tensor.updates.actual * saving.share), saving.skipping)
    if counted_tensor.format_reads is None or counted_tensor.format_updates is None:
        return
    if outer is not None and options.timeloop:  # the public tool uses the metadata of updates for reads
        counted_tensor.format_reads = counted_tensor.format_updates.copy()
    child = traffic.child(level, tensor)
    count = counted_tensor.format_reads.metadata.actual.shape[1]
    if child is not None:
        inner = counted[child, tensor].format_reads
        count = inner.metadata.actual.shape[1] if inner else 0
    counted_tensor.format_reads.lose_share(saving.share, saving.skipping, count)
    counted_tensor.format_updates.lose_share(saving.share, saving.skipping, count)


def _is_made(problem: Problem, tensor: int, saving: Saved) -> bool:
    """Return whether all that is left of an output's accesses is of products that are not zero."""
    return problem.tensors[tensor].output and saving.leaders >= set(problem.operands)


def _make_certain(counted: LevelActions, dense: Dense) -> None:
    """Keep the output where a product exists: its own zeros omit nothing more."""
    for access, every, units in (
        (counted.reads, dense.reads, counted.format_reads),
        (counted.updates, dense.updates, counted.format_updates),
    ):
        stored = np.divide(access.actual, every, out=np.ones(len(every)), where=access.actual > 0)
        access.actual = every.astype(np.float64)
        if units is not None:
            units.shrink(1.0 - 1.0 / stored)


def _conversions(
    problem: Problem, traffic: Traffic, features: SparseFeatures, counted: dict[Place, LevelActions]
) -> None:
    """Count format conversions of data that is compressed at the outer level but not at this level."""
    for (level, tensor), counted_tensor in counted.items():
        parent = traffic.parent(level, tensor)
        none = np.zeros_like(counted_tensor.reads.actual)
        counted_tensor.decompressions, counted_tensor.compressions = none, none
        if parent is None or features.compressed(level, tensor) or not features.compressed(parent, tensor):
            continue
        counted_tensor.decompressions = counted_tensor.fills.actual
        if problem.tensors[tensor].output:
            counted_tensor.compressions = counted[parent, tensor].updates.actual


def _near(numbers: Numbers) -> Numbers:
    """Whole numbers without what rounding left of the product that they are."""
    near = np.rint(numbers)
    return np.where(np.abs(numbers - near) <= 1e-9 * np.maximum(np.abs(near), 1.0), near, numbers)


def _floor(numbers: Numbers) -> NDArray[np.float64]:
    return np.asarray(np.floor(_near(numbers)))


def computes_of(
    problem: Problem,
    traffic: Traffic,
    features: SparseFeatures,
    saved: Mapping[tuple[int, int], Saved],
    options: Options,
) -> Computes:
    """Computes of all units, done, gated, skipped and absent."""
    innermost = {tensor: _innermost(traffic, saved, tensor) for tensor in problem.operands}
    left = traffic.computes.astype(np.float64)
    gated = np.zeros_like(left)
    together = options.joint == "exact" and are_known(problem, problem.operands)
    first = True
    for omitted in innermost.values():
        if omitted is not None:
            share = omitted.of_all if first else omitted.share  # the second sees the rest
            first = False
            removed = np.floor(left * share + 1e-9)
            left = left - removed
            if not options.timeloop:  # a gated compute takes a cycle, which the public tool omits
                gated = gated + removed * (1.0 - omitted.skipping)
    if together:
        return _join_pairs(problem, traffic, features, innermost, left, gated)
    states = {
        tensor: _states(problem, traffic, features, innermost, tensor, options) for tensor in problem.operands
    }
    return _by_state(features, list(states.values()), left, gated)


def _join_pairs(
    problem: Problem,
    traffic: Traffic,
    features: SparseFeatures,
    innermost: Mapping[int, Saved | None],
    left: Numbers,
    gated: Numbers,
) -> Computes:
    """Join two operands with known nonzeros: pairs where both are present, and the remaining cases.

    Where neither is looked at before, pairs of which both are absent do not come; of what is left to one of
    them the other is missing.
    """
    first, other = problem.operands
    total = traffic.computes.astype(np.float64)
    actual = np.minimum(np.rint(total * scalars_there(problem, first, other)), left)
    rest, absent = left - actual, np.zeros_like(left)
    stored = [(traffic.chains[tensor][-1], tensor) in features.formats for tensor in problem.operands]
    if all(stored) and not any(innermost.values()):
        shares = [problem.densities[tensor].exact for tensor in problem.operands]
        absent = np.rint(total * (1.0 - sum(shares))) + actual
        rest = rest - absent
    nothing = np.zeros_like(left)
    if features.compute_skipping and any(stored):
        return Computes(actual, gated, rest, absent)
    if features.compute_gating:
        return Computes(actual, gated + rest, nothing, absent)
    return Computes(actual + rest, gated, nothing, absent)


def _innermost(traffic: Traffic, saved: Mapping[tuple[int, int], Saved], tensor: int) -> Saved | None:
    """Return the omission at the innermost level that omits reads of an operand."""
    levels = [level for level in traffic.chains[tensor] if (level, tensor) in saved]
    return saved[levels[-1], tensor] if levels else None


def _states(
    problem: Problem,
    traffic: Traffic,
    features: SparseFeatures,
    innermost: Mapping[int, Saved | None],
    tensor: int,
    options: Options,
) -> tuple[Numbers, Numbers, Numbers]:
    """The chances of an operand to be present, zero and absent, in the computes that are left."""
    density = np.full(len(traffic.steps), problem.densities[tensor].exact)
    if options.timeloop:
        density = np.round(density, 6)
    for other, saved in innermost.items():
        if other != tensor and saved is not None and tensor in saved.leaders:
            share = np.round(saved.share, 6) if options.timeloop else saved.share
            rest = 1.0 - share
            density = np.divide(density, rest, out=np.ones_like(rest), where=rest > 0)
    present = np.minimum(density, 1.0)
    nothing = np.zeros_like(present)
    if (traffic.chains[tensor][-1], tensor) in features.formats:
        return present, nothing, 1.0 - present
    return present, 1.0 - present, nothing


def _by_state(
    features: SparseFeatures, states: list[tuple[Numbers, Numbers, Numbers]], left: Numbers, gated: Numbers
) -> Computes:
    skipped, absent = np.zeros_like(left), np.zeros_like(left)
    idle = np.zeros_like(left)
    for chosen in product((PRESENT, ZERO, ABSENT), repeat=len(states)):
        some = left.copy()
        for state, state_ in zip(states, chosen, strict=True):
            some = some * state[state_]
        if all(state == ABSENT for state in chosen):
            absent = absent + some
        elif ABSENT in chosen and features.compute_skipping:
            skipped = skipped + some
        elif chosen != (PRESENT,) * len(states) and features.compute_gating:
            idle = idle + some
    skipped, idle, absent = (np.floor(count + 1e-9) for count in (skipped, idle, absent))
    return Computes(left - skipped - idle - absent, gated + idle, skipped, absent)
