"""Evaluates expressions on sparse tensors by joining coordinates: nothing here knows of streams or blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.errors import InputError
from fiberscope.models.graphs.expression import Access, Constant, Expression, Operation, Split, Sum
from fiberscope.workloads.canonical import Integers, Values
from fiberscope.workloads.tensor import SparseTensor

__all__ = ["Points", "evaluate"]

MOST_POINTS = 2**27  # of an intermediate


@dataclass(frozen=True)
class Points:
    """Values by point.

    Args:
        columns: of each variable, one coordinate a point; no point stands there twice.
        values: one a point.
        sizes: of each what was added up, without signs: rounding is measured by it.
    """

    columns: dict[str, Integers]
    values: Values
    sizes: Values

    def __len__(self) -> int:
        """How many there are."""
        return len(self.values)

    def at(self, places: Integers) -> Points:
        """Those at these places."""
        columns = {variable: column[places] for variable, column in self.columns.items()}
        return Points(columns, self.values[places], self.sizes[places])


def evaluate(
    expression: Expression, tensors: Mapping[str, SparseTensor | Points], sizes: Mapping[str, int]
) -> Points:
    """What an expression gives.

    Args:
        expression: any.
        tensors: by name; of points the columns stand in the order of dimensions.
        sizes: of each variable.

    Raises:
        InputError: it needs too many points.
    """
    if isinstance(expression, Access):
        return _accessed(expression.variables, tensors[expression.tensor])
    if isinstance(expression, Constant):
        return Points({}, np.array([expression.value]), np.array([abs(expression.value)]))
    if isinstance(expression, Split):
        return _split(expression, tensors)
    if isinstance(expression, Sum):
        inner = evaluate(expression.operand, tensors, sizes)
        return _summed(inner, [v for v in inner.columns if v not in expression.variables], sizes)
    operands = [evaluate(operand, tensors, sizes) for operand in expression.operands]
    return _operation(expression, operands, sizes)


def _accessed(variables: Sequence[str], tensor: SparseTensor | Points) -> Points:
    if isinstance(tensor, Points):
        return Points(dict(zip(variables, tensor.columns.values(), strict=True)), tensor.values, tensor.sizes)
    columns = dict(zip(variables, tensor.coordinates, strict=True))
    return Points(columns, tensor.values, np.abs(tensor.values))


def _split(expression: Split, tensors: Mapping[str, SparseTensor | Points]) -> Points:
    whole = _accessed(expression.operand.variables, tensors[expression.operand.tensor])
    ((variable, column),) = whole.columns.items()
    outer, inner = np.divmod(column, expression.factor)
    return Points({f"{variable}1": outer, f"{variable}0": inner}, whole.values, whole.sizes)


def _operation(expression: Operation, operands: list[Points], sizes: Mapping[str, int]) -> Points:
    function = expression.meaning
    if len(operands) == 1:
        values = function.apply(operands[0].values)
        return Points(operands[0].columns, values, np.abs(values))
    left, right = operands
    if function.of_both:
        return _joined(left, right, sizes, _quotients if function.divides else function.apply)
    if not function.adds:
        return _larger(left, right, sizes)
    if function.name == "sub":
        right = Points(right.columns, -right.values, right.sizes)
    return _added(left, right, sizes)


def _quotients(one: Values, other: Values) -> Values:
    """What is divided by 0 is 0, as by what is not there."""
    return np.divide(one, other, out=np.zeros_like(one), where=other != 0)


def _joined(
    left: Points, right: Points, sizes: Mapping[str, int], function: Callable[[Values, Values], Values]
) -> Points:
    """All pairs that agree on the variables that both have."""
    common = [variable for variable in left.columns if variable in right.columns]
    keys, others = keys_of(left, common, sizes), keys_of(right, common, sizes)
    order = np.argsort(others, kind="stable")
    first, last = (np.searchsorted(others[order], keys, side=side) for side in ("left", "right"))
    counts = last - first
    _check_room(int(counts.sum()))
    owners = np.repeat(np.arange(len(keys)), counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    a, b = left.at(owners), right.at(order[np.repeat(first, counts) + within])
    with np.errstate(all="ignore"):
        values, joined = function(a.values, b.values), function(a.sizes, b.sizes)
    return Points({**b.columns, **a.columns}, values, np.abs(joined))


def _added(left: Points, right: Points, sizes: Mapping[str, int]) -> Points:
    """Points of either; one that lacks a variable is the same for all of its coordinates."""
    variables = list(dict.fromkeys([*left.columns, *right.columns]))
    both = [_broadcast(one, variables, sizes) for one in (left, right)]
    columns = {v: np.concatenate([one.columns[v] for one in both]) for v in variables}
    together = Points(
        columns,
        np.concatenate([one.values for one in both]),
        np.concatenate([one.sizes for one in both]),
    )
    return _summed(together, variables, sizes)


def _larger(left: Points, right: Points, sizes: Mapping[str, int]) -> Points:
    """The larger of both, where either has a point; a constant is there where the other one is."""
    if not right.columns and len(right) == 1:
        values = np.maximum(left.values, right.values[0])
        return Points(left.columns, values, np.abs(values))
    difference = _added(left, Points(right.columns, -right.values, right.sizes), sizes)
    positive = Points(difference.columns, np.maximum(difference.values, 0), difference.sizes)
    return _added(positive, right, sizes)


def _broadcast(points: Points, variables: list[str], sizes: Mapping[str, int]) -> Points:
    for variable in variables:
        if variable not in points.columns:
            every = np.arange(sizes[variable])
            ones = np.ones(len(every))
            points = _joined(points, Points({variable: every}, ones, ones), sizes, np.multiply)
    return points


def _summed(points: Points, variables: Sequence[str], sizes: Mapping[str, int]) -> Points:
    """Points brought together that agree on these variables, in their order."""
    keys = keys_of(points, variables, sizes)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0)[: len(keys)])
    if not len(starts):
        return Points({v: points.columns[v] for v in variables}, points.values, points.sizes)
    values = np.add.reduceat(points.values[order], starts)
    weights = np.add.reduceat(points.sizes[order], starts)
    kept = order[starts]
    return Points({v: points.columns[v][kept] for v in variables}, values, weights)


def keys_of(points: Points, variables: Sequence[str], sizes: Mapping[str, int]) -> Integers:
    """One number for each point, in the order of these variables.

    Raises:
        InputError: 63 bits do not number them.
    """
    if math.prod(sizes[variable] for variable in variables) >= 2**63:
        raise InputError(f"{' x '.join(variables)} has more points than 63 bits number")
    keys = np.zeros(len(points), np.int64)
    for variable in variables:
        keys = keys * sizes[variable] + points.columns[variable]
    return keys


def _check_room(points: int) -> None:
    if points > MOST_POINTS:
        raise InputError(f"{points:,} products to verify; at most {MOST_POINTS:,} are worked out")
