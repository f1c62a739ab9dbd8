"""Orders of loops: which go through every tensor as it is stored, and which one is the default.

A loop nest goes through an operand level by level, and a sum that is one term among others ends before the
other terms are met, so that its loops are inside all of theirs. These are steps from one variable to another;
the legal orders take all of them. The result may be stored otherwise: what collects it sorts it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.compiler.notation import TensorPath
from fiberscope.models.graphs.compiler.sums import variables_of
from fiberscope.workloads.expressions.expression import Call, Expression, Sum

__all__ = ["Orders"]


@dataclass(frozen=True)
class _Step:
    """One loop outside another, for a tensor's sake, or without one for that of a sum."""

    outer: str
    inner: str
    path: TensorPath | None = None


class Orders:
    """The orders of an expression's loops.

    Args:
        result: how it is stored.
        operands: the paths of the expression's accesses.
        expression: with its sums.
    """

    def __init__(self, result: TensorPath, operands: Sequence[TensorPath], expression: Expression) -> None:
        self._result, self._operands = list(_along(result)), operands
        self._stored = [step for path in operands for step in _along(path)]
        within = expression.operand if isinstance(expression, Sum) else expression
        self._sums = list(_around_sums(within, variables_of(within)))
        self.variables = tuple(dict.fromkeys(v for path in (result, *operands) for v in path.variables))

    def default(self) -> tuple[str, ...]:
        """The order that the formats ask for; the result's is followed if that can be.

        Raises:
            InputError: the operands allow no order.
        """
        stored, legal = self._stored, [*self._stored, *self._sums]
        for steps in ([*self._result, *stored], [*self._result, *legal], legal):
            order = _forest_order(self.variables, steps)
            if order is not None and not _against(order, legal):
                return order
        if _levels(self.variables, legal) is not None:
            return next(self.legal())
        raise InputError(self._cyclic())

    def legal(self) -> Iterator[tuple[str, ...]]:
        """Return all legal orders."""
        return _completed((), _before(self.variables, [*self._stored, *self._sums]))

    def check(self, order: Sequence[str]) -> None:
        """Refuse an order that is not of these variables, or none of the legal ones.

        Raises:
            InputError: it is not; with the reason and a legal order.
        """
        named = f"order {','.join(order)}"
        for number, variable in enumerate(order):
            if variable not in self.variables:
                every = ",".join(self.variables) or "none"
                raise InputError(f"{named}: the expression has no {variable}; it has {every}")
            if variable in order[:number]:
                raise InputError(f"{named}: {variable} stands there twice; leave one out")
        missing = [variable for variable in self.variables if variable not in order]
        if missing:
            raise InputError(f"{named}: {','.join(missing)} is missing; take {self._instead()}")
        against = _against(order, [*self._sums, *self._stored])
        if against:
            remedies = self._remedies(against, order)
            if not remedies or _levels(self.variables, [*self._stored, *self._sums]) is not None:
                remedies.append(f"take the order {self._instead()}")
            raise InputError(f"{named}: {_reason(against[0])}; {', or '.join(remedies)}")

    def _instead(self) -> str:
        return ",".join(self.default())

    def _cyclic(self) -> str:
        """Names the first sum or tensor that goes against those before it, and what would do."""
        kept = list[_Step]()
        stored_alone = _levels(self.variables, self._stored) is not None
        every = [*self._stored, *self._sums] if stored_alone else [*self._sums, *self._stored]
        for step in every:
            if _levels(self.variables, [*kept, step]) is not None:
                kept.append(step)
        order = _forest_order(self.variables, kept)
        assert order is not None  # what is kept has no cycle
        against = _against(order, every)
        reasons = "; ".join([_reason(against[0]), *self._remedies(against, order)])
        loops = ",".join(order)
        return f"no order of the loops will do: against {loops}, {reasons}, in the order {loops}"

    def _remedies(self, against: Sequence[_Step], order: Sequence[str]) -> list[str]:
        """Return single changes that make an order legal: a cascade, or tensors stored in this order."""
        tensors = {step.path.tensor for step in against if step.path}
        if not tensors:
            return ["--factor makes it a statement of its own"]
        stored = [_restored(path, order) for path in self._operands if path.tensor in tensors]
        alike = len(set(stored)) == len(tensors)  # one read in two ways can be stored in one only
        if not alike or against[0].path is None:
            return []
        return [f"store {'them' if len(tensors) > 1 else 'it'} as {','.join(dict.fromkeys(stored))}"]


def _along(path: TensorPath) -> Iterator[_Step]:
    return (_Step(outer, inner, path) for outer, inner in pairwise(path.variables))


def _around_sums(expression: Expression, outside: Sequence[str]) -> Iterator[_Step]:
    """Return the constraints that all loops around a sum precede its own loops."""
    if isinstance(expression, Sum):
        yield from (_Step(outer, inner) for inner in expression.variables for outer in outside)
        yield from _around_sums(expression.operand, [*outside, *expression.variables])
    elif isinstance(expression, Call):
        for operand in expression.operands:
            yield from _around_sums(operand, outside)


def _before(variables: Iterable[str], steps: Iterable[_Step]) -> dict[str, dict[str, None]]:
    """Return the variables that come one step before each variable."""
    before: dict[str, dict[str, None]] = {variable: {} for variable in variables}
    for step in steps:
        before[step.inner][step.outer] = None
    return before


def _against(order: Sequence[str], steps: Iterable[_Step]) -> list[_Step]:
    return [step for step in steps if order.index(step.outer) > order.index(step.inner)]


def _levels(variables: Sequence[str], steps: Sequence[_Step]) -> dict[str, int] | None:
    """Return the length of the longest path to each variable; None if there is a cycle."""
    before, levels = _before(variables, steps), dict[str, int]()
    while len(levels) < len(before):
        ready = [v for v in before if v not in levels and all(other in levels for other in before[v])]
        if not ready:
            return None
        levels |= {v: 1 + max((levels[other] for other in before[v]), default=-1) for v in ready}
    return levels


def _forest_order(variables: Sequence[str], steps: Sequence[_Step]) -> tuple[str, ...] | None:
    """An order that takes all steps; None if there is a cycle.

    Each variable hangs below the deepest of those before it, and the order goes through that forest by
    levels. Source: the public compiler of the Sparse Abstract Machine (github.com/weiya711/sam).
    """
    levels, before = _levels(variables, steps), _before(variables, steps)
    if levels is None:
        return None
    parents: dict[str, str] = {}
    deepest_first = sorted(before, key=levels.__getitem__, reverse=True)
    for variable in deepest_first:
        if before[variable]:
            parent = min(before[variable], key=deepest_first.index)
            parents[variable] = parent
            before[parent].update(dict.fromkeys(other for other in before[variable] if other != parent))
    order = sorted(variable for variable in before if variable not in parents)
    for variable in order:  # which grows
        order += [child for child in before if parents.get(child) == variable]
    return tuple(order)


def _completed(order: tuple[str, ...], before: Mapping[str, Collection[str]]) -> Iterator[tuple[str, ...]]:
    if len(order) == len(before):
        yield order
    for variable, others in before.items():
        if variable not in order and all(other in order for other in others):
            yield from _completed((*order, variable), before)


def _reason(step: _Step) -> str:
    """Why an order will not do."""
    if step.path is None:
        return f"the sum over {step.inner} is one term among others, which {step.outer} goes around"
    return f"{step.path.access} is stored {step.outer} before {step.inner}"


def _restored(path: TensorPath, order: Sequence[str]) -> str:
    """The format of a tensor whose levels follow an order."""
    by_variable = {variable: dimension for dimension, variable in enumerate(path.access.variables)}
    levels = sorted(by_variable, key=list(order).index)
    letters = "".join(path.letter(variable) for variable in levels)
    return f"{path.tensor}:{letters}:{''.join(str(by_variable[variable]) for variable in levels)}"
