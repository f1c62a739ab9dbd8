"""Construction of a loop nest: the loops of an Einsum, the cursors of its inputs, the ranks of its output."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.models.trace.body import Body
from fiberscope.models.trace.codes import BOTH, OPCODES
from fiberscope.models.trace.coiteration import Coiteration, Pieces
from fiberscope.models.trace.cursor import Cursor, NestState
from fiberscope.models.trace.levels import (
    InputLevel,
    OutputLevel,
    everywhere,
    levels_of,
    output_levels,
    set_index,
    window_of,
)
from fiberscope.models.trace.nest import Intersection, LeaderFollower, Loop, Place, Scan
from fiberscope.models.trace.output import OutputRank
from fiberscope.models.trace.plan import BEFORE, LoopPlan, uses_of
from fiberscope.models.trace.prepare import Operand
from fiberscope.models.trace.program import compile_expression, condition
from fiberscope.models.trace.specification import Specification
from fiberscope.workloads.expressions.expression import Access, Index, Take, accesses

REPLACES = -1  # in place of an opcode: an update replaces the value of the output


class Nest:
    """A loop nest, ready for one run.

    Attributes: ``inputs`` has the levels of each operand, ``output`` the levels of the output.

    Args:
        plan: loops and partitions of the Einsum.
        operands: prepared operands in the order of the equation.
        specification: the specification of the Einsum.
    """

    def __init__(self, plan: LoopPlan, operands: Sequence[Operand], specification: Specification) -> None:
        self.plan = plan
        self.operands = operands
        self.inputs = [levels_of(plan, operand) for operand in operands]
        tensor = specification.tensors[plan.einsum.output]
        self.output = output_levels(plan, uses_of(plan.equation.output, tensor.ranks), tensor.empty)
        self.program = compile_expression(
            plan.equation.expression, plan.einsum.operators, specification.functions, specification.symbols
        )
        self.state = NestState(len(plan.loops), sum(len(flat.ranks) for flat in plan.flattened.values()))
        self.cursors = [level.cursor for levels in self.inputs for level in levels]
        self.leaders = {unit.rank: unit.leader for unit in plan.einsum.bindings.intersectors if unit.leader}
        self.loops = [_loop(self, depth) for depth in range(len(plan.loops))]
        self.body = _body(self)
        for outer, inner in itertools.pairwise(self.loops):
            outer.inner = inner
        if self.loops:
            self.loops[-1].body = self.body

    def run(self) -> None:
        """Run the loops once; attach all recorders before, see ``evaluate.attach``.

        The levels of ``output`` then hold the output, and ``body`` and ``loops`` the counts.
        """
        for cursor in self.cursors:
            cursor.attach(self.state)
        for output in self.output:
            output.growing.attach(self.state)
        for levels in self.inputs:
            for level in levels:
                if level.depth == BEFORE:
                    level.cursor.look_up(level.cursor.index())
        self._run_below([level for level in self.output if level.depth == BEFORE])

    def _run_below(self, fixed: Sequence[OutputLevel]) -> None:
        """Open the ranks of the output with a constant coordinate, run the loops, and close these ranks."""
        fiber = 0
        for level in fixed:
            level.growing.begin(fiber)
            level.growing.open(level.index.constant)
            fiber = level.growing.child
        if self.loops:
            self.loops[0].run()
        else:
            self.body.run()
        for level in reversed(fixed):
            level.growing.close()
            level.growing.finish()

    def mark_bodies(self) -> None:
        """Have the loop of the output's last rank record the iterations in which the rank is computed."""
        depth = self.output[-1].depth
        if depth != BEFORE:
            self.loops[depth].marks_body = True

    def place(self, index: Index) -> Cursor:
        """Return a cursor without elements that computes the coordinate of an index."""
        cursor = Cursor(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0), 0)
        set_index(self.plan, cursor, index, None)
        self.cursors.append(cursor)
        return cursor

    def everywhere(self, loop: str) -> Cursor:
        """Return a cursor that is present at every coordinate of a loop."""
        cursor = everywhere(self.plan, loop)
        self.cursors.append(cursor)
        return cursor


def _loop(nest: Nest, depth: int) -> Loop:
    """Return the loop at a depth, with its look-ups, its ranks of the output, and its pieces."""
    loop = _make_loop(nest, depth)
    loop.intersects = isinstance(loop, LeaderFollower | Intersection | Coiteration)
    plan, name = nest.plan, nest.plan.loops[depth]
    for levels in nest.inputs:
        loop.lookups += [level.cursor for level in levels if level.depth == depth and not level.loops]
    above: OutputRank | None = None
    for level in nest.output:
        if level.depth == depth and level.loops:
            loop.output, loop.above = level.growing, above
        elif level.depth == depth:
            loop.output_places.append(Place(level.growing, nest.place(level.index), above))
        above = level.growing
    for flatten in plan.flattened.values():
        if plan.lowest(flatten.name) == name:
            loop.parts = [plan.shape(rank) for rank in flatten.ranks[1:]]
            loop.part_places = [plan.locate(rank).place for rank in flatten.ranks]
    loop.outer_piece = window_of(plan, name)
    if plan.leader(name) is None:
        loop.piece = plan.piece(name)
    return loop


def _make_loop(nest: Nest, depth: int) -> Loop:
    """Return the loop class that the presence condition of the tensors needs, with its cursors."""
    plan, name = nest.plan, nest.plan.loops[depth]
    leader = plan.leader(name)
    cursors: list[Cursor] = []
    follows: list[bool] = []
    names: list[str] = []
    numbers = iter(range(len(nest.operands)))

    def number_of(access: Access) -> int | None:
        """Return the index of the cursor of the next tensor; None if the tensor has no rank in the loop."""
        number = next(numbers)
        level = _level(nest, nest.inputs[number], depth, name)
        if level is None:
            return None
        cursors.append(level.cursor)
        follows.append(level.follows and level.name != name)
        names.append(access.tensor)
        return len(cursors) - 1

    def add_everywhere() -> int:
        cursors.append(nest.everywhere(name))

        follows.append(leader is not None)
        names.append("")
        return len(cursors) - 1

    terms = condition(plan.equation.expression, number_of, add_everywhere)
    if leader is not None and terms is not None:
        first = next(
            number for number, tensor in enumerate(names) if tensor == leader and not follows[number]
        )
        terms, order = _move_to_front(terms, first)
        return Pieces(depth, [cursors[n] for n in order], nest.state, terms, [follows[n] for n in order])
    if terms is None:
        return Scan(depth, [nest.everywhere(name)], nest.state)
    if len(terms) == 1:
        return Scan(depth, cursors, nest.state)
    first_tensor = nest.leaders.get(name)
    if first_tensor in names and all(code >= 0 or code == BOTH for code in terms):
        order = _move_to_front(terms, names.index(first_tensor))[1]
        return LeaderFollower(depth, [cursors[n] for n in order], nest.state)
    if terms == [0, 1, BOTH]:
        return Intersection(depth, cursors, nest.state)
    return Coiteration(depth, cursors, nest.state, terms)


def _move_to_front(terms: Sequence[int], first: int) -> tuple[list[int], list[int]]:
    """Move one cursor of a condition to the front; return the condition and the order of the cursors."""
    count = max(terms) + 1
    order = [first, *(number for number in range(count) if number != first)]
    return [order.index(code) if code >= 0 else code for code in terms], order


def _level(nest: Nest, levels: Sequence[InputLevel], depth: int, loop: str) -> InputLevel | None:
    """Return the rank of a tensor that takes part in a loop; None if there is no such rank."""
    for number, level in enumerate(levels):
        if level.loops and level.depth == depth:
            return level
        follows = level.follows and nest.plan.base(level.name) == nest.plan.base(loop)
        if follows and level.depth > depth and (number == 0 or levels[number - 1].depth < depth):
            return level
    return None


def _body(nest: Nest) -> Body:
    program = nest.program
    leaves = [_leaf(nest, number) for number in range(len(nest.operands))]
    return Body(
        leaves,
        program.constants,
        program.operations,
        program.lefts,
        program.rights,
        program.modes,
        program.counts,
        len(program.counters),
        nest.output[-1].growing,
        _reduction(nest),
    )


def _leaf(nest: Nest, number: int) -> Cursor:
    """Return the cursor of a tensor's last rank, or a cursor with the value of a scalar."""
    if nest.inputs[number]:
        return nest.inputs[number][-1].cursor
    values = nest.operands[number].tree.values
    cursor = Cursor(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(0), 0)
    cursor.present = len(values) > 0
    cursor.value = float(values[0]) if len(values) else nest.operands[number].empty
    return cursor


def _reduction(nest: Nest) -> int:
    """Return the opcode that accumulates, or ``REPLACES``.

    Raises:
        InputError: the specification's function for ``+`` is not built in.
    """
    equation = nest.plan.equation
    output_ranks = {index.rank for index in equation.output.indices}
    reduced = {rank for access in accesses(equation.expression) for rank in access.ranks} - output_ranks
    if isinstance(equation.expression, Take):
        selected = equation.expression.operands[equation.expression.selected]
        reduced &= {rank for access in accesses(selected) for rank in access.ranks}
    if not reduced:
        return REPLACES
    name = nest.plan.einsum.operators["+"]
    if name not in OPCODES:
        raise InputError(f"{name} cannot reduce: + must be one of {', '.join(OPCODES)}")
    return OPCODES[name]
