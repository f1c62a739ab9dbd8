"""Coordinates that are computed from those of loops: parts of flattened ranks, and indices such as q + s."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fiberscope.models.trace.codes import NO_WINDOW
from fiberscope.models.trace.levels import scanned_ranks, window_of
from fiberscope.models.trace.plan import LoopPlan
from fiberscope.models.trace.prepare import Operand, depth_of
from fiberscope.workloads.expressions.expression import Index

__all__ = ["Count", "LookUp", "Projection", "Term", "count_of", "lookups_of", "projection_of"]


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
class Count:
    """A loop that no operand has: all its coordinates, or those of the piece that an outer loop is in.

    Args:
        size: end of the coordinates.
        step: the distance between two.
        pieces: the loop over pieces; empty if there is none.
        piece: coordinates of such a piece.
    """

    size: int
    step: int
    pieces: str
    piece: int


@dataclass(frozen=True)
class LookUp:
    """A rank of an operand in which a coordinate is sought.

    Args:
        rank: its name in the tree.
        variable: its name in the graph, which no loop has.
        loop: the loop in whose body the coordinate is known.
        sought: the coordinate.
    """

    rank: str
    variable: str
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


def count_of(plan: LoopPlan, loop: str) -> Count | None:
    """The coordinates of a loop that no operand has; None if what it counts is no range of one size.

    Pieces are of so many coordinates each, and smaller pieces end where they do.
    """
    window = window_of(plan, loop)
    step = max(1, plan.piece(loop))
    if window == NO_WINDOW:
        return Count(plan.shape(loop), step, "", 0) if plan.leader(loop) is None else None
    pieces = plan.loops[window]
    piece = plan.piece(pieces)
    outer = window_of(plan, pieces)
    ends_within = outer == NO_WINDOW or plan.piece(plan.loops[outer]) % max(1, piece) == 0
    return (
        Count(plan.shape(loop), step, pieces, piece) if piece and piece % step == 0 and ends_within else None
    )


def lookups_of(plan: LoopPlan, operand: Operand) -> tuple[LookUp, ...]:
    """The ranks of an operand that no loop goes through by their own coordinates, from the root.

    Args:
        plan: of the Einsum.
        operand: prepared.
    """
    lookups: list[LookUp] = []
    for rank, scanned in scanned_ranks(plan, operand).items():
        use, depth = operand.use(rank), depth_of(plan, operand, rank)
        plain = use is None or use.plain
        loop = plan.loops[depth] if depth >= 0 else ""
        if not (scanned and plain) or any(lookup.loop == loop for lookup in lookups):
            index = Index(((rank, 1),)) if use is None or plain else use.index
            variable = f"{rank}'" if rank in plan.loops else rank
            lookups.append(LookUp(rank, variable, loop, projection_of(plan, index)))
    return tuple(lookups)
