"""Which computes are done: what each operand of a compute is, by chance.

An operand is there and not zero, there and zero, or absent, where its innermost level stores no zeros.
Source: Sparseloop (MICRO 2022), Section 5.3.4, "traffic post-processing".
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from fiberscope.models.analytic.actions import Computes
from fiberscope.models.analytic.dataflow import Traffic
from fiberscope.models.analytic.density import Numbers
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.safs import SparseFeatures
from fiberscope.models.analytic.together import are_known, scalars_there

if TYPE_CHECKING:
    from fiberscope.models.analytic.sparse import Saved

__all__ = ["computes_of"]

PRESENT, ZERO, ABSENT = range(3)


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
    for one in innermost.values():
        if one is not None:
            share = one.of_all if first else one.share  # the second finds what the first has left
            first = False
            removed = np.floor(left * share + 1e-9)
            left = left - removed
            if not options.timeloop:  # a compute whose operand is gated takes its cycle; the tool forgets it
                gated = gated + removed * (1.0 - one.skipping)
    if together:
        return _known(problem, traffic, features, innermost, left, gated)
    states = {
        tensor: _states(problem, traffic, features, innermost, tensor, options) for tensor in problem.operands
    }
    return _by_state(features, list(states.values()), left, gated)


def _known(
    problem: Problem,
    traffic: Traffic,
    features: SparseFeatures,
    innermost: Mapping[int, Saved | None],
    left: Numbers,
    gated: Numbers,
) -> Computes:
    """Of two operands that are known: pairs that are both there, and what else is left.

    Where neither is looked at before, pairs of which both are absent do not come; of what is left to one of
    them the other is missing.
    """
    one, other = problem.operands
    total = traffic.computes.astype(np.float64)
    actual = np.minimum(np.rint(total * scalars_there(problem, one, other)), left)
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
    """What the innermost level leaves out of those that leave out reads of an operand."""
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
    for other, one in innermost.items():
        if other != tensor and one is not None and tensor in one.leaders:
            share = np.round(one.share, 6) if options.timeloop else one.share
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
        for state, one in zip(states, chosen, strict=True):
            some = some * state[one]
        if all(one == ABSENT for one in chosen):
            absent = absent + some
        elif ABSENT in chosen and features.compute_skipping:
            skipped = skipped + some
        elif chosen != (PRESENT,) * len(states) and features.compute_gating:
            idle = idle + some
    skipped, idle, absent = (np.floor(one + 1e-9) for one in (skipped, idle, absent))
    return Computes(left - skipped - idle - absent, gated + idle, skipped, absent)
