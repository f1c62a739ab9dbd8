"""Legal orders of loops, and the default order.

A loop nest traverses an operand level by level. The loops of a sum that is one of several terms lie inside
the loops of all terms. Both are constraints between two variables, which a legal order meets. The result may
be stored in another order, since an accumulator sorts it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.compiler.notation import TensorPath
from fiberscope.models.graphs.compiler.sums import list_free_variables
from fiberscope.workloads.expressions.expression import Call, Expression, Sum


@dataclass(frozen=True)
class _Step:
    """Constraint that one loop encloses another.

    Args:
        outer, inner: variables of the two loops.
        path: levels of the tensor that imposes the constraint; None if a sum imposes it.
    """

    outer: str
    inner: str
    path: TensorPath | None = None


class Orders:
    """The orders of an expression's loops.

    Args:
        result: path of the result.
        operands: paths of the accesses in the expression.
        expression: the right side, with explicit sums.
    """

    def __init__(self, result: TensorPath, operands: Sequence[TensorPath], expression: Expression) -> None:
        self._result, self._operands = list(_list_storage_order(result)), operands
        self._storage_steps = [step for path in operands for step in _list_storage_order(path)]
        operand = expression.operand if isinstance(expression, Sum) else expression
        self._sums = list(_sum_steps(operand, list_free_variables(operand)))
        self.variables = tuple(dict.fromkeys(v for path in (result, *operands) for v in path.variables))

    def default(self) -> tuple[str, ...]:
        """Return the default order, which follows the formats, and that of the result if possible.

        Raises:
            InputError: no order is legal.
        """
        stored, legal = self._storage_steps, [*self._storage_steps, *self._sums]
        # orders that also follow the levels of the result come first: they can save an accumulator
        for steps in ([*self._result, *stored], [*self._result, *legal], legal):
            order = _find_forest_order(self.variables, steps)
            if order is not None and not _list_violations(order, legal):
                return order
        if _count_levels(self.variables, legal) is not None:
            return next(self.iterate_legal())
        raise InputError(self._describe_conflict())

    def iterate_legal(self) -> Iterator[tuple[str, ...]]:
        """Yield all legal orders; their number can grow as the factorial of the number of loops."""
        return _iterate_completions(
            (), _find_predecessors(self.variables, [*self._storage_steps, *self._sums])
        )

    def check(self, order: Sequence[str]) -> None:
        """Refuse an order with wrong variables, or an illegal order.

        Raises:
            InputError: the order lacks a variable, has a wrong one or is illegal; with a remedy.
        """
        message = f"order {','.join(order)}"
        for number, variable in enumerate(order):
            if variable not in self.variables:
                variables = ",".join(self.variables) or "none"
                raise InputError(f"{message}: the expression has no {variable}; it has {variables}")
            if variable in order[:number]:
                raise InputError(f"{message}: {variable} occurs twice; remove one")
        missing = [variable for variable in self.variables if variable not in order]
        if missing:
            raise InputError(f"{message}: {','.join(missing)} is missing; take {self._describe_default()}")
        violations = _list_violations(order, [*self._sums, *self._storage_steps])
        if violations:
            remedies = self._list_remedies(violations, order)
            if not remedies or _count_levels(self.variables, [*self._storage_steps, *self._sums]) is not None:
                remedies.append(f"take the order {self._describe_default()}")
            raise InputError(f"{message}: {_describe_reason(violations[0])}; {', or '.join(remedies)}")

    def _describe_default(self) -> str:
        return ",".join(self.default())

    def _describe_conflict(self) -> str:
        """Return the message for an expression without a legal order: the first conflict, and remedies."""
        # the constraints listed first are kept, so that the message blames a later constraint
        consistent = list[_Step]()
        storage_is_acyclic = _count_levels(self.variables, self._storage_steps) is not None
        constraints = (
            [*self._storage_steps, *self._sums] if storage_is_acyclic else [*self._sums, *self._storage_steps]
        )
        for step in constraints:
            if _count_levels(self.variables, [*consistent, step]) is not None:
                consistent.append(step)
        order = _find_forest_order(self.variables, consistent)
        assert order is not None
        violations = _list_violations(order, constraints)
        reasons = "; ".join([_describe_reason(violations[0]), *self._list_remedies(violations, order)])
        loops = ",".join(order)
        return f"no order of the loops will do: against {loops}, {reasons}, in the order {loops}"

    def _list_remedies(self, violations: Sequence[_Step], order: Sequence[str]) -> list[str]:
        """Return single changes that make an order legal: a cascade, or tensors stored in this order."""
        tensors = {step.path.tensor for step in violations if step.path}
        if not tensors:
            return ["--factor makes it a statement of its own"]
        reordered = [_reorder_format(path, order) for path in self._operands if path.tensor in tensors]
        is_consistent = len(set(reordered)) == len(tensors)  # a tensor with two accesses has a single format
        if not is_consistent or violations[0].path is None:
            return []
        return [f"store {'them' if len(tensors) > 1 else 'it'} as {','.join(dict.fromkeys(reordered))}"]


def _list_storage_order(path: TensorPath) -> Iterator[_Step]:
    return (_Step(outer, inner, path) for outer, inner in pairwise(path.variables))


def _sum_steps(expression: Expression, outside: Sequence[str]) -> Iterator[_Step]:
    """Yield the constraints that all loops around a sum enclose its own loops."""
    if isinstance(expression, Sum):
        yield from (_Step(outer, inner) for inner in expression.variables for outer in outside)
        yield from _sum_steps(expression.operand, [*outside, *expression.variables])
    elif isinstance(expression, Call):
        for operand in expression.operands:
            yield from _sum_steps(operand, outside)


def _find_predecessors(variables: Iterable[str], steps: Iterable[_Step]) -> dict[str, dict[str, None]]:
    """Return the variables that directly precede each variable."""
    predecessors: dict[str, dict[str, None]] = {variable: {} for variable in variables}
    for step in steps:
        predecessors[step.inner][step.outer] = None
    return predecessors


def _list_violations(order: Sequence[str], steps: Iterable[_Step]) -> list[_Step]:
    return [step for step in steps if order.index(step.outer) > order.index(step.inner)]


def _count_levels(variables: Sequence[str], steps: Sequence[_Step]) -> dict[str, int] | None:
    """Return the length of the longest path to each variable; None for cyclic constraints."""
    predecessors, levels = _find_predecessors(variables, steps), dict[str, int]()
    while len(levels) < len(predecessors):
        next_variables = [
            v
            for v in predecessors
            if v not in levels and all(earlier in levels for earlier in predecessors[v])
        ]
        if not next_variables:
            return None
        levels |= {
            v: 1 + max((levels[earlier] for earlier in predecessors[v]), default=-1) for v in next_variables
        }
    return levels


def _find_forest_order(variables: Sequence[str], steps: Sequence[_Step]) -> tuple[str, ...] | None:
    """Return an order that meets all constraints; None for cyclic constraints.

    The parent of a variable is the deepest of its predecessors; the order traverses this forest by levels.
    Source: the public compiler of the Sparse Abstract Machine (github.com/weiya711/sam).
    """
    levels, predecessors = _count_levels(variables, steps), _find_predecessors(variables, steps)
    if levels is None:
        return None
    parents: dict[str, str] = {}
    # the other predecessors of a variable become predecessors of its parent, so that one path has them all
    deepest_first = sorted(predecessors, key=levels.__getitem__, reverse=True)
    for variable in deepest_first:
        if predecessors[variable]:
            # a parent has a smaller level, and so comes later in this loop, with all of its predecessors
            parent = min(predecessors[variable], key=deepest_first.index)
            parents[variable] = parent
            predecessors[parent].update(
                dict.fromkeys(earlier for earlier in predecessors[variable] if earlier != parent)
            )
    order = sorted(variable for variable in predecessors if variable not in parents)
    for variable in order:  # the list grows in the loop
        order += [child for child in predecessors if parents.get(child) == variable]
    return tuple(order)


def _iterate_completions(
    order: tuple[str, ...], predecessors: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, ...]]:
    """Yield all legal orders that begin with this order; none for cyclic constraints."""
    if len(order) == len(predecessors):
        yield order
    for variable, required in predecessors.items():
        if variable not in order and all(earlier in order for earlier in required):
            yield from _iterate_completions((*order, variable), predecessors)


def _describe_reason(step: _Step) -> str:
    """Return the reason for an illegal order."""
    if step.path is None:
        return f"the sum over {step.inner} is one of several terms, all inside the loop {step.outer}"
    return f"{step.path.access} is stored {step.outer} before {step.inner}"


def _reorder_format(path: TensorPath, order: Sequence[str]) -> str:
    """Return the format of a tensor whose levels follow an order of loops."""
    by_variable = {variable: dimension for dimension, variable in enumerate(path.access.variables)}
    levels = sorted(by_variable, key=list(order).index)
    letters = "".join(path.find_level_letter(variable) for variable in levels)
    return f"{path.tensor}:{letters}:{''.join(str(by_variable[variable]) for variable in levels)}"
