"""Evaluates expressions on sparse tensors by joining coordinates: nothing here knows of streams or blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.workloads.canonical import Integers, Values
from fiberscope.workloads.expressions.expression import Access, Call, Expression, Number, Split, Sum
from fiberscope.workloads.expressions.points import Points
from fiberscope.workloads.tensor import SparseTensor

__all__ = ["evaluate", "keys_of"]

MOST_POINTS = 2**27  # of an intermediate


def evaluate(
    expression: Expression, tensors: Mapping[str, SparseTensor | Points], sizes: Mapping[str, int]
) -> Points:
    """Evaluate an expression.

    Args:
        expression: any.
        tensors: the tensors by name; of points the columns stand in the order of dimensions.
        sizes: the sizes of each variable.

    Raises:
        InputError: it needs too many points.
    """
    if isinstance(expression, Access):
        return _accessed(expression.variables, tensors[expression.tensor])
    if isinstance(expression, Number):
        return Points.from_columns({}, np.array([expression.value]))
    if isinstance(expression, Split):
        return _split(expression, tensors)
    if isinstance(expression, Sum):
        inner = evaluate(expression.operand, tensors, sizes)
        return _summed(inner, [v for v in inner.columns if v not in expression.variables], sizes)
    assert isinstance(expression, Call)  # a graph has nothing else
    operands = [evaluate(operand, tensors, sizes) for operand in expression.operands]
    return _operation(expression, operands, sizes)


def _accessed(variables: Sequence[str], tensor: SparseTensor | Points) -> Points:
    if isinstance(tensor, Points):
        return Points(dict(zip(variables, tensor.columns.values(), strict=True)), tensor.values, tensor.sizes)
    columns = dict(zip(variables, tensor.coordinates, strict=True))
    return Points.from_columns(columns, tensor.values)


def _split(expression: Split, tensors: Mapping[str, SparseTensor | Points]) -> Points:
    whole = _accessed(expression.operand.variables, tensors[expression.operand.tensor])
    ((variable, column),) = whole.columns.items()
    outer, inner = np.divmod(column, expression.factor)
    return Points({f"{variable}1": outer, f"{variable}0": inner}, whole.values, whole.sizes)


def _operation(expression: Call, operands: list[Points], sizes: Mapping[str, int]) -> Points:
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


def _quotients(values: Values, other: Values) -> Values:
    """Divide values; a division by 0, or by a missing value, gives 0."""
    return np.divide(values, other, out=np.zeros_like(values), where=other != 0)


def _joined(
    left: Points, right: Points, sizes: Mapping[str, int], function: Callable[[Values, Values], Values]
) -> Points:
    """A function of the points that agree on the variables that both have; 0 where either has none."""
    _check_numbers([variable for variable in left.columns if variable in right.columns], sizes)
    return left.joined(right, sizes, function, _check_room)


def _added(left: Points, right: Points, sizes: Mapping[str, int]) -> Points:
    """Points of either; one that lacks a variable is the same for all of its coordinates."""
    variables = list(dict.fromkeys([*left.columns, *right.columns]))
    both = [_broadcast(part, variables, sizes) for part in (left, right)]
    return _summed(Points.together(both), variables, sizes)


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
    _check_numbers(variables, sizes)
    return points.summed(variables, sizes)


def keys_of(points: Points, variables: Sequence[str], sizes: Mapping[str, int]) -> Integers:
    """One number for each point, in the order of these variables.

    Raises:
        InputError: 63 bits do not number them.
    """
    _check_numbers(variables, sizes)
    return points.keys(variables, sizes)


def _check_numbers(variables: Sequence[str], sizes: Mapping[str, int]) -> None:
    if math.prod(sizes[variable] for variable in variables) >= 2**63:
        raise InputError(f"{' x '.join(variables)} has more points than 63 bits number")


def _check_room(points: int) -> None:
    if points > MOST_POINTS:
        raise InputError(f"{points:,} products to verify; at most {MOST_POINTS:,} are worked out")
