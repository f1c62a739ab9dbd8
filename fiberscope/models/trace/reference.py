"""Reference evaluation of an Einsum without its mapping: point by point on dense arrays.

The evaluation uses only the equation and the elements of the tensors, and no loops, trees or fibers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.models.trace.specification import OPERATORS, Einsum, Specification
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.expressions.expression import (
    Access,
    Call,
    Equation,
    Expression,
    Index,
    Number,
    Operation,
    Scalar,
    Take,
    reduces,
)
from fiberscope.workloads.expressions.points import number_points
from fiberscope.workloads.fibertree import FiberTree

Floats: TypeAlias = "npt.NDArray[np.float64]"
Mask: TypeAlias = "npt.NDArray[np.bool_]"
Binary: TypeAlias = Callable[[Floats, Floats], Floats]

# All take two arguments, so that a function of one argument gets the argument twice, see ``Arithmetic``.
FUNCTIONS: Mapping[str, Binary] = {
    "mul": np.multiply,
    "add": np.add,
    "sub": np.subtract,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
    "or": lambda x, y: ((x != 0) | (y != 0)).astype(np.float64),
    "and": lambda x, y: ((x != 0) & (y != 0)).astype(np.float64),
    "first": lambda x, y: x,
    "second": lambda x, y: y,
    "differs": lambda x, y: (x != y).astype(np.float64),
    "less": lambda x, y: (x < y).astype(np.float64),
    "abs": lambda x, y: np.abs(x),
    "neg": lambda x, y: -x,
    "sqrt": lambda x, y: np.sqrt(x),
}


@dataclass(frozen=True)
class Computation:
    """An Einsum with its inputs.

    Args:
        specification: declarations, symbols and functions.
        einsum: an Einsum of the specification.
        tensors: inputs by name, with the ranks of their declarations.
        shapes: the shapes of the Einsum's ranks.
    """

    specification: Specification
    einsum: Einsum
    tensors: Mapping[str, FiberTree]
    shapes: Mapping[str, int]

    @property
    def equation(self) -> Equation:
        """Return the equation of the Einsum."""
        return self.einsum.computed

    @property
    def declared(self) -> Sequence[str]:
        """Return the declared ranks of the output."""
        return self.specification.tensors[self.einsum.output].ranks

    @property
    def empty(self) -> float:
        """Return the value that the output does not store."""
        return self.specification.tensors[self.einsum.output].empty

    @property
    def sizes(self) -> list[int]:
        """Return the shapes of the output's declared ranks."""
        return [
            self._size(rank, index)
            for rank, index in zip(self.declared, self.equation.output.indices, strict=True)
        ]

    def _size(self, rank: str, index: Index) -> int:
        if index.rank is not None:
            return self.shapes[index.rank]
        # the largest value of an affine index: terms with a negative factor are then 0
        reach = sum(max(0, factor * (self.shapes[name] - 1)) for name, factor in index.terms)
        return self.specification.shapes.get(rank, index.constant + reach + 1)


@dataclass(frozen=True)
class Arithmetic:
    """Evaluation of an expression on arrays of values, with masks of their presence.

    Args:
        specification: functions of the specification.
        operators: names of the functions of the operators.
        scalars: the scalars by name.
        empty: the value of an absent result.
        tensor: returns the values and the presence mask of a tensor.
    """

    specification: Specification
    operators: Mapping[str, str]
    scalars: Mapping[str, float | Floats]
    empty: float
    tensor: Callable[[Access], tuple[Floats, Mask]]

    def value(self, expression: Expression) -> tuple[Floats, Mask]:
        """Return the values of an expression at all points, and the mask of their presence."""
        if isinstance(expression, Access):
            return self.tensor(expression)
        if isinstance(expression, Number | Scalar):
            number = expression.value if isinstance(expression, Number) else self.scalars[expression.name]
            return np.array(number, np.float64), np.array(True)
        assert isinstance(expression, Operation | Take | Call)
        operands = [self.value(operand) for operand in expression.operands]
        present = [present for _, present in operands]
        if isinstance(expression, Take):
            return self._mask_absent(operands[expression.selected][0], reduce(and_, present))
        if isinstance(expression, Call):
            result = self.apply_function(expression.function, [values for values, _ in operands])
            return self._mask_absent(result, reduce(or_, present))
        return self._apply_operation(expression, operands)

    def _apply_operation(
        self, expression: Operation, operands: list[tuple[Floats, Mask]]
    ) -> tuple[Floats, Mask]:
        result, mask = operands[0]
        if len(operands) == 1:
            return self._mask_absent(-result, mask)
        for values, present in operands[1:]:
            combined = self.apply_function(self.operators[expression.operator], [result, values])
            # a product needs both operands; a sum or a difference uses the empty value of an absent operand
            mask = mask & present if expression.operator == "*" else mask | present
            result, mask = self._mask_absent(combined, mask)
        return result, mask

    def _mask_absent(self, values: Floats, mask: Mask) -> tuple[Floats, Mask]:
        return np.where(mask, values, self.empty), mask

    def apply_function(self, name: str, arguments: list[Floats]) -> Floats:
        """Return the result of a function.

        In the body of a function of the specification, operators have their default meaning.

        Args:
            name: a key of ``FUNCTIONS``, or a function of the specification.
            arguments: values of the arguments; their shapes can be broadcast.
        """
        if name in FUNCTIONS:
            with np.errstate(all="ignore"):  # a division by zero gives an infinity or NaN, as in the nest
                return FUNCTIONS[name](arguments[0], arguments[-1])
        definition = self.specification.functions[name]
        scalars = {**self.scalars, **dict(zip(definition.arguments, arguments, strict=True))}
        return replace(self, operators=OPERATORS, scalars=scalars).value(definition.body)[0]


def point_by_point(work: Computation) -> tuple[dict[str, Integers], Floats]:
    """Evaluate an Einsum at all points of its iteration space.

    Args:
        work: the Einsum and its inputs; arrays with an element for each point must fit the host's memory.

    Returns:
        The coordinates of the output by declared rank, and the values. Points at which the expression is
        absent, or outside the output, are left out; several points may have the same coordinates.
    """
    einsum, specification = work.einsum, work.specification
    full = tuple(work.shapes[rank] for rank in einsum.ranks)
    # an array along one axis for each rank; arrays of several ranks broadcast to all points
    grid = dict(zip(einsum.ranks, np.ogrid[tuple(map(slice, full))], strict=True))

    def tensor(access: Access) -> tuple[Floats, Mask]:
        declared = specification.tensors[access.tensor]
        return _gather(access, declared.ranks, work.tensors[access.tensor], grid, declared.empty)

    arithmetic = Arithmetic(specification, einsum.operators, specification.symbols, work.empty, tensor)
    values, mask = arithmetic.value(work.equation.expression)
    indices = [np.broadcast_to(_index(index, grid), full) for index in work.equation.output.indices]
    inside = np.broadcast_to(mask, full).copy()
    # an affine index of the output may lie outside of a declared shape
    for index, size in zip(indices, work.sizes, strict=True):
        inside &= (index >= 0) & (index < size)
    coordinates = {rank: index[inside] for rank, index in zip(work.declared, indices, strict=True)}
    return coordinates, np.broadcast_to(values, full)[inside]


def _index(index: Index, grid: Mapping[str, Integers]) -> Integers:
    total = np.array(index.constant, np.int64)
    for rank, factor in index.terms:
        total = total + factor * grid[rank]
    return total


def _gather(
    access: Access, declared: Sequence[str], tree: FiberTree, grid: Mapping[str, Integers], empty: float
) -> tuple[Floats, Mask]:
    """Return a tensor's values at all points, and the mask of their presence."""
    shapes = {rank.name: rank.shape for rank in tree.ranks}
    coordinates, values = tree.to_coo()
    keys = number_points(
        [coordinates[rank] for rank in declared], [shapes[rank] for rank in declared], len(values)
    )
    order = np.argsort(keys)
    inside: Mask = np.array(True)
    key = np.array(0, np.int64)
    for index, rank in zip(access.indices, declared, strict=True):
        coordinate = _index(index, grid)  # an affine index may lie outside of the tensor
        inside = inside & (coordinate >= 0) & (coordinate < shapes[rank])
        # clipped to keep the key in range; ``inside`` masks the element that it then names
        key = key * shapes[rank] + np.clip(coordinate, 0, shapes[rank] - 1)
    if len(values) == 0:
        return np.full(key.shape, empty), np.zeros(key.shape, bool)
    # a key above all others is compared with the last key, from which it differs
    indices = np.minimum(np.searchsorted(keys, key, sorter=order), len(keys) - 1)
    present = inside & (keys[order[indices]] == key)
    return np.where(present, values[order[indices]].astype(np.float64), empty), present


def reduce_points(einsum: Einsum, keys: Integers, values: Floats) -> tuple[Integers, Floats, Floats]:
    """Reduce points with equal keys.

    Args:
        einsum: the Einsum, whose function for ``+`` reduces the values. Without a reduction in the Einsum,
            the first value of each key is taken.
        keys: key of the output's coordinates at each point.
        values: value at each point.

    Returns:
        The sorted distinct keys, the reduced values, and their magnitudes: for sums the sums of absolute
        values, else the absolute value of the first point of each key.
    """
    order = np.argsort(keys, kind="stable")  # stable: without a reduction, the first point counts
    keys, values = keys[order], values[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, np.int64)
    # also without points, for which ``reduceat`` fails
    if len(first) == len(keys) or not has_reduction(einsum):
        return keys[first], values[first], np.abs(values[first])
    name = einsum.operators["+"]
    sizes = np.add.reduceat(np.abs(values), first) if name == "add" else np.abs(values[first])
    function = FUNCTIONS[name]
    if isinstance(function, np.ufunc):
        return keys[first], function.reduceat(values, first), sizes
    pieces = np.split(values, first[1:])
    return keys[first], np.array([_fold(function, piece) for piece in pieces]), sizes


def _fold(function: Binary, values: Floats) -> float:
    """Reduce values from the first to the last, for functions that are no ufunc and lack ``reduceat``."""
    result = values[:1]
    for index in range(1, len(values)):
        result = function(result, values[index : index + 1])
    return float(result[0])


def has_reduction(einsum: Einsum) -> bool:
    """Return whether several points of the iteration space are reduced to one output."""
    return reduces(einsum.computed)
