"""Construction of a loop nest: the loops of an Einsum, the cursors of its inputs, the ranks of its output."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from fiberscope.models.trace.body import Body
from fiberscope.models.trace.codes import BOTH, OPCODES
from fiberscope.models.trace.coiteration import Coiteration, PieceLoop
from fiberscope.models.trace.cursor import Cursor, NestState
from fiberscope.models.trace.levels import (
    InputLevel,
    OutputLevel,
    build_full_cursor,
    build_output_levels,
    find_window,
    list_levels,
    set_index,
)
from fiberscope.models.trace.nest import ComputedRank, Intersection, LeaderFollower, Loop, Scan
from fiberscope.models.trace.output import OutputRank
from fiberscope.models.trace.plan import NO_LOOP, LoopPlan, uses_of
from fiberscope.models.trace.prepare import Operand
from fiberscope.models.trace.program import compile_condition, compile_expression
from fiberscope.models.trace.specification import Specification
from fiberscope.workloads.expressions.expression import Access, Index, reduces

REPLACES = -1  # in place of an opcode: an update replaces the value of the output


class Nest:
    """A loop nest, ready for one run.

    Attributes: ``inputs`` has the levels of each operand, ``output`` the levels of the output. A level is a
    rank of a tensor in the nest.

    Args:
        plan: loops and partitions of the Einsum.
        operands: prepared operands in the order of the equation.
        specification: the specification of the Einsum.
    """

    def __init__(self, plan: LoopPlan, operands: Sequence[Operand], specification: Specification) -> None:
        self.plan = plan
        self.operands = operands
        self.inputs = [list_levels(plan, operand) for operand in operands]
        tensor = specification.tensors[plan.einsum.output]
        self.output = build_output_levels(plan, uses_of(plan.equation.output, tensor.ranks), tensor.empty)
        self.program = compile_expression(
            plan.equation.expression, plan.einsum.operators, specification.functions, specification.symbols
        )
        self.state = NestState(len(plan.loops), sum(len(flat.ranks) for flat in plan.flattened.values()))
        # loops append cursors of their own, so this list comes before them
        self.cursors = [level.cursor for levels in self.inputs for level in levels]
        self.leaders = {unit.rank: unit.leader for unit in plan.einsum.bindings.intersectors if unit.leader}
        self.loops = [_build_loop(self, depth) for depth in range(len(plan.loops))]
        self.body = _build_body(self)
        # link the loops: the body of a loop is the next loop, or of the innermost loop the computation
        for outer, inner in itertools.pairwise(self.loops):
            outer.inner = inner
        if self.loops:
            self.loops[-1].body = self.body

    def run(self) -> None:
        """Run the loops; attach all recorders before, see ``evaluate.attach``. Call this method once.

        The levels of ``output`` then hold the output, and ``body`` and ``loops`` the counts, which a second
        run would add to.
        """
        for cursor in self.cursors:
            cursor.attach(self.state)
        for output in self.output:
            output.fibers.attach(self.state)
        for levels in self.inputs:
            for level in levels:
                if level.depth == NO_LOOP:  # a constant coordinate: looked up once, before all loops
                    level.cursor.look_up(level.cursor.index())
        self._run_within([level for level in self.output if level.depth == NO_LOOP])

    def _run_within(self, constant_levels: Sequence[OutputLevel]) -> None:
        """Open the ranks of the output with a constant coordinate, run the loops, and close these ranks."""
        fiber = 0
        for level in constant_levels:
            level.fibers.begin(fiber)
            level.fibers.open(level.index.constant)
            fiber = level.fibers.child  # the fiber of the rank below
        if self.loops:
            self.loops[0].run()
        else:
            self.body.run()
        for level in reversed(constant_levels):
            level.fibers.close()
            level.fibers.finish()

    def mark_bodies(self) -> None:
        """Have the loop of the output's last rank record the iterations in which the rank is computed."""
        depth = self.output[-1].depth
        if depth != NO_LOOP:
            self.loops[depth].marks_body = True

    def coordinate_cursor(self, index: Index) -> Cursor:
        """Return a cursor without elements that computes the coordinate of an index."""
        cursor = Cursor(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0), 0)
        set_index(self.plan, cursor, index, None)
        self.cursors.append(cursor)
        return cursor

    def full_cursor(self, loop: str) -> Cursor:
        """Return a cursor that is present at every coordinate of a loop."""
        cursor = build_full_cursor(self.plan, loop)
        self.cursors.append(cursor)
        return cursor


def _build_loop(nest: Nest, depth: int) -> Loop:
    """Return the loop at a depth, with its look-ups, its ranks of the output, and its pieces."""
    loop = _make_loop(nest, depth)
    loop.intersects = isinstance(loop, LeaderFollower | Intersection | Coiteration)
    plan, name = nest.plan, nest.plan.loops[depth]
    for levels in nest.inputs:
        loop.lookups += [level.cursor for level in levels if level.depth == depth and not level.loops]
    outer_rank: OutputRank | None = None  # the output's rank above, whose open element has the fiber
    for level in nest.output:
        if level.depth == depth and level.loops:
            loop.output, loop.outer_rank = level.fibers, outer_rank
        elif level.depth == depth:
            loop.computed_ranks.append(
                ComputedRank(level.fibers, nest.coordinate_cursor(level.index), outer_rank)
            )
        outer_rank = level.fibers
    for flatten in plan.flattened.values():
        # only this loop has the flattened coordinate itself, from which its body computes those of the parts
        if plan.find_lowest_piece(flatten.name) == name:
            parts = plan.list_parts(name)
            loop.component_shapes = [plan.shape(rank) for rank in parts[1:]]
            loop.component_indices = [plan.locate(rank).index for rank in parts]
    loop.outer_loop = find_window(plan, name)  # its pieces may not exceed those of an outer loop
    if plan.leader(name) is None:  # a ``PieceLoop`` finds the bounds of pieces by occupancy while it runs
        loop.piece_size = plan.find_piece_size(name)
    return loop


def _make_loop(nest: Nest, depth: int) -> Loop:
    """Return a loop of the class that the presence condition of the tensors needs, with its cursors."""
    plan, name = nest.plan, nest.plan.loops[depth]
    leader = plan.leader(name)
    cursors: list[Cursor] = []
    are_followers: list[bool] = []
    names: list[str] = []
    numbers = iter(range(len(nest.operands)))  # ``compile_condition`` reads accesses in the operands' order

    def number_of(access: Access) -> int | None:
        """Return the index of the cursor of the next tensor; None if the tensor has no rank in the loop."""
        number = next(numbers)
        level = _find_level(nest, nest.inputs[number], depth, name)
        if level is None:
            return None
        cursors.append(level.cursor)
        are_followers.append(level.follows and level.name != name)
        names.append(access.tensor)
        return len(cursors) - 1

    def add_everywhere() -> int:
        """Add a cursor for an expression with a value at every coordinate, and return its index."""
        cursors.append(nest.full_cursor(name))
        # in a loop over pieces by occupancy, it follows: it is present in every piece that the leader makes
        are_followers.append(leader is not None)
        names.append("")
        return len(cursors) - 1

    terms = compile_condition(plan.equation.expression, number_of, add_everywhere)
    if leader is not None and terms is not None:
        leader_number = next(
            number for number, tensor in enumerate(names) if tensor == leader and not are_followers[number]
        )
        terms, order = _move_to_front(terms, leader_number)  # ``PieceLoop`` takes the first cursor as leader
        return PieceLoop(
            depth, [cursors[n] for n in order], nest.state, terms, [are_followers[n] for n in order]
        )
    if terms is None:  # no tensor has a rank here: the body runs at every coordinate
        return Scan(depth, [nest.full_cursor(name)], nest.state)
    if len(terms) == 1:  # one cursor, and no intersection
        return Scan(depth, cursors, nest.state)
    first_tensor = nest.leaders.get(name)
    # a leader can skip the other tensors only if the body needs all of them
    if first_tensor in names and all(code >= 0 or code == BOTH for code in terms):
        order = _move_to_front(terms, names.index(first_tensor))[1]
        return LeaderFollower(depth, [cursors[n] for n in order], nest.state)
    if terms == [0, 1, BOTH]:  # a faster special case of ``Coiteration``
        return Intersection(depth, cursors, nest.state)
    return Coiteration(depth, cursors, nest.state, terms)


def _move_to_front(terms: Sequence[int], leader: int) -> tuple[list[int], list[int]]:
    """Return a condition with one cursor as number 0, and the old numbers of the cursors in the new order."""
    count = max(terms) + 1
    order = [leader, *(number for number in range(count) if number != leader)]
    return [order.index(code) if code >= 0 else code for code in terms], order


def _find_level(nest: Nest, levels: Sequence[InputLevel], depth: int, loop: str) -> InputLevel | None:
    """Return the rank of a tensor that takes part in a loop; None if there is no such rank."""
    for number, level in enumerate(levels):
        if level.loops and level.depth == depth:
            return level
        # a follower takes part in the loop over pieces, outside of its own loop, once its fiber is known
        are_followers = level.follows and nest.plan.base(level.name) == nest.plan.base(loop)
        if are_followers and level.depth > depth and (number == 0 or levels[number - 1].depth < depth):
            return level
    return None


def _build_body(nest: Nest) -> Body:
    """Return the body: the program of the expression on the values of the tensors' last ranks."""
    program = nest.program
    value_cursors = [_make_value_cursor(nest, number) for number in range(len(nest.operands))]
    return Body(
        value_cursors,
        program.constants,
        program.operations,
        program.lefts,
        program.rights,
        program.modes,
        program.counts,
        len(program.counters),
        nest.output[-1].fibers,
        _choose_reduction_opcode(nest),
    )


def _make_value_cursor(nest: Nest, number: int) -> Cursor:
    """Return the cursor of a tensor's last rank, or a cursor with the value of a scalar."""
    if nest.inputs[number]:
        return nest.inputs[number][-1].cursor
    values = nest.operands[number].tree.values
    # no loop moves this cursor, so its value is set once
    cursor = Cursor(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0), 0)
    cursor.present = len(values) > 0
    cursor.value = float(values[0]) if len(values) else nest.operands[number].empty
    return cursor


def _choose_reduction_opcode(nest: Nest) -> int:
    """Return the opcode that accumulates, or ``REPLACES``."""
    return OPCODES[nest.plan.einsum.operators["+"]] if reduces(nest.plan.equation) else REPLACES
