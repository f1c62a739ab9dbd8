"""Evaluate expressions on sparse tensors by joins of coordinates, independently of streams and blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.workloads.canonical import Integers, Values
from fiberscope.workloads.expressions.expression import Access, Call, Expression, Number, Split, Sum
from fiberscope.workloads.expressions.functions import Function
from fiberscope.workloads.expressions.points import Points
from fiberscope.workloads.tensor import SparseTensor

MAX_POINTS = 2**27  # largest number of points of one join, which bounds its memory


def evaluate(
    expression: Expression, tensors: Mapping[str, SparseTensor | Points], sizes: Mapping[str, int]
) -> Points:
    """Evaluate an expression.

    A quotient with a divisor of 0, or without a stored divisor, is 0.

    Args:
        tensors: tensors by name; the columns of ``Points`` are in the order of dimensions.
        sizes: sizes of the index variables.

    Returns:
        The points of the result, explicit zeros included, with a column for each free index variable.

    Raises:
        InputError: a join has more than ``MAX_POINTS`` points, or the space of an intermediate result has
            at least 2**63 points.
    """
    if isinstance(expression, Access):
        return _select_columns(expression.variables, tensors[expression.tensor])
    if isinstance(expression, Number):
        return Points.from_columns({}, np.array([expression.value]))
    if isinstance(expression, Split):
        return _split(expression, tensors)
    if isinstance(expression, Sum):
        inner = evaluate(expression.operand, tensors, sizes)
        return _sum_points(inner, [v for v in inner.columns if v not in expression.variables], sizes)
    assert isinstance(expression, Call)
    operands = [evaluate(operand, tensors, sizes) for operand in expression.operands]
    return _apply_operation(expression, operands, sizes)


def _select_columns(variables: Sequence[str], tensor: SparseTensor | Points) -> Points:
    if isinstance(tensor, Points):
        return Points(dict(zip(variables, tensor.columns.values(), strict=True)), tensor.values, tensor.sizes)
    columns = dict(zip(variables, tensor.coordinates, strict=True))
    return Points.from_columns(columns, tensor.values)


def _split(expression: Split, tensors: Mapping[str, SparseTensor | Points]) -> Points:
    """Split the coordinates of a vector; the chunk's variable ends in 1, the offset's in 0."""
    points = _select_columns(expression.operand.variables, tensors[expression.operand.tensor])
    ((variable, column),) = points.columns.items()
    outer, inner = np.divmod(column, expression.factor)
    return Points({f"{variable}1": outer, f"{variable}0": inner}, points.values, points.sizes)


def _apply_operation(expression: Call, operands: list[Points], sizes: Mapping[str, int]) -> Points:
    """Apply a function of one or two operands to the points where it is evaluated."""
    function = expression.meaning
    if len(operands) == 1:
        # after a function, the value counts as a single term: its magnitude is its scale for rounding errors
        values = function.apply(operands[0].values)
        return Points(operands[0].columns, values, np.abs(values))
    left, right = operands
    if function.of_both:
        return _join(left, right, sizes, _divide_values if function.divides else function.apply)
    if not function.adds:
        return _apply(function, left, right, sizes)
    if function.name == "sub":
        # the scale of rounding errors has no sign, so only the values are negated
        right = Points(right.columns, -right.values, right.sizes)
    return _add(left, right, sizes)


def _divide_values(values: Values, divisors: Values) -> Values:
    """Divide values; a division by 0, or by a missing value, gives 0."""
    return np.divide(values, divisors, out=np.zeros_like(values), where=divisors != 0)


def _join(
    left: Points, right: Points, sizes: Mapping[str, int], function: Callable[[Values, Values], Values]
) -> Points:
    """Apply a function to the points that agree in all shared variables; other points are 0."""
    _check_space([variable for variable in left.columns if variable in right.columns], sizes)
    return left.join(right, sizes, function, _check_point_count)


def _add(left: Points, right: Points, sizes: Mapping[str, int]) -> Points:
    """Add points; a term without a variable is repeated for all of its coordinates."""
    variables = list(dict.fromkeys([*left.columns, *right.columns]))
    terms = [_broadcast(side, variables, sizes) for side in (left, right)]
    return _sum_points(Points.concatenate(terms), variables, sizes)


def _apply(function: Function, left: Points, right: Points, sizes: Mapping[str, int]) -> Points:
    """Apply a function at each point that either operand has; an operand without the point counts as 0.

    A scalar adds no points of its own: its streams and registers have it where the other operand is.
    """
    if not any(not operand.columns and len(operand) for operand in (left, right)):
        # both sides get the points of both, in the same order, so that their arrays match by position
        left, right = _add(left, _build_zeros_at(right), sizes), _add(_build_zeros_at(left), right, sizes)
    values = function.apply(*np.broadcast_arrays(left.values, right.values))
    return Points(left.columns or right.columns, values, np.maximum(left.sizes, right.sizes))


def _build_zeros_at(points: Points) -> Points:
    """Return the value 0 at each of these points."""
    zeros = np.zeros_like(points.values)
    return Points(points.columns, zeros, zeros)


def _broadcast(points: Points, variables: list[str], sizes: Mapping[str, int]) -> Points:
    """Repeat points for all coordinates of each variable that they lack."""
    for variable in variables:
        if variable not in points.columns:
            coordinates = np.arange(sizes[variable])
            ones = np.ones(len(coordinates))
            # without a shared variable, the join is the product of both sets of points
            points = _join(points, Points({variable: coordinates}, ones, ones), sizes, np.multiply)
    return points


def _sum_points(points: Points, variables: Sequence[str], sizes: Mapping[str, int]) -> Points:
    """Sum the points that agree in these variables, sorted by the variables."""
    _check_space(variables, sizes)
    return points.sum_equal(variables, sizes)


def number_points(points: Points, variables: Sequence[str], sizes: Mapping[str, int]) -> Integers:
    """Return a number for each point; numbers compare as the points do, sorted by ``variables``.

    Raises:
        InputError: the numbers exceed 63 bits.
    """
    _check_space(variables, sizes)
    return points.keys(variables, sizes)


def _check_space(variables: Sequence[str], sizes: Mapping[str, int]) -> None:
    if math.prod(sizes[variable] for variable in variables) >= 2**63:
        raise InputError(f"{' x '.join(variables)} has more points than 63 bits number")


def _check_point_count(points: int) -> None:
    if points > MAX_POINTS:
        raise InputError(f"{points:,} products to verify; at most {MAX_POINTS:,} are worked out")
