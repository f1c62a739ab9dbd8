"""Coordinates computed from the coordinates of loops: parts of flattened ranks, and indices such as q + s."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fiberscope.models.trace.codes import NO_WINDOW
from fiberscope.models.trace.levels import find_scanned_ranks, find_window
from fiberscope.models.trace.plan import LoopPlan
from fiberscope.models.trace.prepare import Operand, find_depth
from fiberscope.workloads.expressions.expression import Index


@dataclass(frozen=True)
class Term:
    """A summand of a coordinate: ``factor * (c // divisor % size)``, where c is the coordinate of a loop.

    Division and remainder select a part of a flattened rank. The coordinate of such a rank is a number whose
    digits are the coordinates of its parts, that of the first part the highest.

    Args:
        loop: name of the loop.
        factor: multiplier of the index.
        divisor: product of the shapes of the lower parts of the flattened rank.
        size: shape of this part; 0 if no remainder is taken.
    """

    loop: str
    factor: int = 1
    divisor: int = 1
    size: int = 0


@dataclass(frozen=True)
class Projection:
    """A coordinate: the sum of terms and a constant."""

    terms: tuple[Term, ...]
    constant: int = 0

    @property
    def plain_loop(self) -> str:
        """The loop whose coordinate this coordinate equals; empty if there is none, as for a constant."""
        # ``Term(loop)`` has the defaults, with which the term is the loop's coordinate itself.
        is_plain = len(self.terms) == 1 and self.constant == 0 and self.terms[0] == Term(self.terms[0].loop)
        return self.terms[0].loop if is_plain else ""


@dataclass(frozen=True)
class CoordinateRange:
    """Coordinates of a loop whose rank no operand has: a range, or its part in a piece of an outer loop.

    An element e of the outer loop gives the coordinates e, e + ``step``, ... that are below
    e + ``piece_size`` and below ``size``. Without an outer loop, they are 0, ``step``, ... below ``size``.

    Args:
        size: end of the range of coordinates.
        step: distance between two coordinates.
        piece_loop: the outer loop over pieces; empty if there is none.
        piece_size: size of a piece, of which every ``step``-th coordinate is taken; 0 without an outer loop.
    """

    size: int
    step: int
    piece_loop: str
    piece_size: int


@dataclass(frozen=True)
class Lookup:
    """A rank of an operand in which a coordinate is looked up.

    Args:
        rank: name of the rank in the fibertree.
        graph_name: name of the rank in the graph: that of the rank, with a prime if a loop has the same name.
        loop: loop in whose body the coordinate becomes known; empty if the coordinate is a constant.
        projection: the coordinate.
    """

    rank: str
    graph_name: str
    loop: str
    projection: Projection


def project_index(plan: LoopPlan, index: Index) -> Projection:
    """Return an index as a function of the coordinates of loops.

    Args:
        plan: plan with a loop for every rank of the index.
        index: index of a tensor; its ranks may be parts of flattened ranks. Without ranks, the result is a
            constant.
    """
    return Projection(tuple(_make_term(plan, rank, factor) for rank, factor in index.terms), index.constant)


def _make_term(plan: LoopPlan, rank: str, factor: int) -> Term:
    """Return ``factor`` times the coordinate of a rank, which has a loop or is a part of a flattened rank."""
    loop, lowest = plan.loop_of(rank), plan.find_lowest_piece(rank)
    assert loop is not None, rank
    # Of the pieces of a partitioned rank, the innermost one has the coordinates of the rank.
    if lowest == loop:
        return Term(loop, factor)
    # ``loop_of`` found another loop than ``lowest``, so ``lowest`` is a part of a flattened rank
    ranks = plan.list_parts(loop)
    position = ranks.index(lowest)
    divisor = math.prod(plan.shape(lower) for lower in ranks[position + 1 :])
    # The first part is the highest digit, which the division alone selects.
    return Term(loop, factor, divisor, plan.shape(lowest) if position else 0)


def find_range(plan: LoopPlan, loop: str) -> CoordinateRange | None:
    """Return the coordinates of a loop whose rank no operand has; None if they are no ``CoordinateRange``.

    The pieces of an outer loop must have one size, which is a multiple of the loop's own step. These pieces
    must not cross the pieces of a further outer loop. Only the last piece may be shorter, where the shape
    ends. None if the next outer loop, or a loop without an outer loop, is over pieces by occupancy.

    Args:
        plan: plan of the Einsum's loops.
        loop: name of the loop.
    """
    window = find_window(plan, loop)  # depth of the loop over pieces that contain the loop's coordinates
    step = max(1, plan.find_piece_size(loop))  # the size is 0 for a loop over single coordinates
    if window == NO_WINDOW:
        return CoordinateRange(plan.shape(loop), step, "", 0) if plan.leader(loop) is None else None
    piece_loop = plan.loops[window]
    piece_size = plan.find_piece_size(piece_loop)
    outer_window = find_window(plan, piece_loop)
    # A piece that crossed an outer piece would be cut short there, and so have another size. ``max`` only
    # avoids a division by 0: without a size of its pieces (by occupancy), the loop is refused below.
    fits_outer = (
        outer_window == NO_WINDOW or plan.find_piece_size(plan.loops[outer_window]) % max(1, piece_size) == 0
    )
    return (
        CoordinateRange(plan.shape(loop), step, piece_loop, piece_size)
        if piece_size and piece_size % step == 0 and fits_outer
        else None
    )


def find_lookups(plan: LoopPlan, operand: Operand) -> tuple[Lookup, ...]:
    """Return the look-ups of an operand, outermost rank first.

    A rank is looked up if no loop scans it, if its index is not plain (``RankUse``), or if a rank above it is
    looked up in the body of the same loop. A rank whose coordinate no loop determines has no look-up, and
    neither have the ranks below it.

    Args:
        plan: plan of the Einsum's loops.
        operand: the prepared operand.
    """
    lookups: list[Lookup] = []
    for rank, scanned in find_scanned_ranks(plan, operand).items():
        use, depth = operand.use(rank), find_depth(plan, operand, rank)
        is_plain = use is None or use.is_plain
        loop = plan.loops[depth] if depth >= 0 else ""
        # The trace scans a rank with an affine index along one rank of the index. Here it is looked up.
        # A rank below a look-up in the body of the same loop is looked up too: its fiber is known only there.
        if not (scanned and is_plain) or any(lookup.loop == loop for lookup in lookups):
            index = Index(((rank, 1),)) if use is None or is_plain else use.index
            # A graph joins the levels with one name, so the rank must not have the name of a loop
            graph_name = f"{rank}'" if rank in plan.loops else rank
            lookups.append(Lookup(rank, graph_name, loop, project_index(plan, index)))
    return tuple(lookups)
