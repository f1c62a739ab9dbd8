"""Coordinates that are computed from those of loops: parts of flattened ranks, and indices such as q + s."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fiberscope.models.trace.levels import scanned_ranks
from fiberscope.models.trace.plan import LoopPlan
from fiberscope.models.trace.prepare import Operand, depth_of
from fiberscope.workloads.expressions.expression import Index

__all__ = ["LookUp", "Projection", "Term", "lookups_of", "projection_of"]


@dataclass(frozen=True)
class Term:
    """Summand of a coordinate that a loop gives: ``factor * (c // divisor % size)`` of its own coordinate c.

    Args:
        loop: the loop.
        factor, divisor: see above.
        size: see above; 0 without a remainder.
    """

    loop: str
    factor: int = 1
    divisor: int = 1
    size: int = 0


@dataclass(frozen=True)
class Projection:
    """A coordinate: the sum of the terms and the constant."""

    terms: tuple[Term, ...]
    constant: int = 0

    @property
    def plain(self) -> str:
        """The loop whose own coordinate it is; empty if it is computed."""
        alone = len(self.terms) == 1 and self.constant == 0 and self.terms[0] == Term(self.terms[0].loop)
        return self.terms[0].loop if alone else ""


@dataclass(frozen=True)
class LookUp:
    """A rank of an operand in which a coordinate is sought.

    Args:
        rank: its name in the tree.
        loop: the loop in whose body the coordinate is known.
        sought: the coordinate.
    """

    rank: str
    loop: str
    sought: Projection


def projection_of(plan: LoopPlan, index: Index) -> Projection:
    """An index by the coordinates of loops.

    Args:
        plan: whose loops know all ranks of the index.
        index: of a tensor; its ranks may be parts of flattened ones.
    """
    return Projection(tuple(_term(plan, rank, factor) for rank, factor in index.terms), index.constant)


def _term(plan: LoopPlan, rank: str, factor: int) -> Term:
    loop, lowest = plan.loop_of(rank), plan.lowest(rank)
    assert loop is not None, rank
    if lowest == loop:
        return Term(loop, factor)
    ranks = plan.flattened[str(plan.holder(lowest))].ranks
    place = ranks.index(lowest)
    divisor = math.prod(plan.shape(lower) for lower in ranks[place + 1 :])
    return Term(loop, factor, divisor, plan.shape(lowest) if place else 0)


def lookups_of(plan: LoopPlan, operand: Operand) -> tuple[LookUp, ...]:
    """The ranks of an operand that no loop goes through, from the root.

    Args:
        plan: of the Einsum.
        operand: prepared.
    """
    lookups = []
    for rank, scanned in scanned_ranks(plan, operand).items():
        if not scanned:
            use, depth = operand.use(rank), depth_of(plan, operand, rank)
            index = Index(((rank, 1),)) if use is None or use.plain else use.index
            lookups.append(LookUp(rank, plan.loops[depth] if depth >= 0 else "", projection_of(plan, index)))
    return tuple(lookups)
