"""Reference of an Einsum, without its mapping: point by point on arrays, or by joining nonzeros.

Both know only the equation and the tensors' elements, none of the loops, trees and fibers.
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
    accesses,
)
from fiberscope.workloads.expressions.points import keys_of
from fiberscope.workloads.fibertree import FiberTree

__all__ = ["FUNCTIONS", "Arithmetic", "Computation", "Floats", "accumulates", "point_by_point", "reduced"]

Floats: TypeAlias = "npt.NDArray[np.float64]"
Mask: TypeAlias = "npt.NDArray[np.bool_]"
Binary: TypeAlias = Callable[[Floats, Floats], Floats]

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
    """An Einsum and what it is worked out of.

    Args:
        specification: whose declarations, symbols and functions count.
        einsum: one of its equations.
        tensors: inputs by name, with the ranks of their declarations.
        shapes: the shapes of the Einsum's ranks.
    """

    specification: Specification
    einsum: Einsum
    tensors: Mapping[str, FiberTree]
    shapes: Mapping[str, int]

    @property
    def equation(self) -> Equation:
        """Return the equation that is computed."""
        return self.einsum.computed

    @property
    def declared(self) -> Sequence[str]:
        """The ranks of the output's declaration."""
        return self.specification.tensors[self.einsum.output].ranks

    @property
    def empty(self) -> float:
        """The value of what is not computed."""
        return self.specification.tensors[self.einsum.output].empty

    @property
    def sizes(self) -> list[int]:
        """The shapes of these ranks."""
        return [
            self._size(rank, index)
            for rank, index in zip(self.declared, self.equation.output.indices, strict=True)
        ]

    def _size(self, rank: str, index: Index) -> int:
        if index.rank is not None:
            return self.shapes[index.rank]
        reach = sum(max(0, factor * (self.shapes[name] - 1)) for name, factor in index.terms)
        return self.specification.shapes.get(rank, index.constant + reach + 1)


@dataclass(frozen=True)
class Arithmetic:
    """An expression on arrays of values and of whether there are any.

    Args:
        specification: whose functions count.
        operators: what its operators compute, by names of functions.
        scalars: the scalars by name.
        empty: the value of what is not computed.
        tensor: the values of a tensor, and where it has elements.
    """

    specification: Specification
    operators: Mapping[str, str]
    scalars: Mapping[str, float | Floats]
    empty: float
    tensor: Callable[[Access], tuple[Floats, Mask]]

    def value(self, expression: Expression) -> tuple[Floats, Mask]:
        """Values at all points, and where they are there."""
        if isinstance(expression, Access):
            return self.tensor(expression)
        if isinstance(expression, Number | Scalar):
            number = expression.value if isinstance(expression, Number) else self.scalars[expression.name]
            return np.array(number, np.float64), np.array(True)
        assert isinstance(expression, Operation | Take | Call)  # an Einsum has nothing else
        operands = [self.value(operand) for operand in expression.operands]
        present = [there for _, there in operands]
        if isinstance(expression, Take):
            return self._kept(operands[expression.selected][0], reduce(and_, present))
        if isinstance(expression, Call):
            result = self.function(expression.function, [values for values, _ in operands])
            return self._kept(result, reduce(or_, present))
        return self._operation(expression, operands)

    def _operation(self, expression: Operation, operands: list[tuple[Floats, Mask]]) -> tuple[Floats, Mask]:
        result, there = operands[0]
        if len(operands) == 1:
            return self._kept(-result, there)
        for values, present in operands[1:]:
            combined = self.function(self.operators[expression.operator], [result, values])
            there = there & present if expression.operator == "*" else there | present
            result, there = self._kept(combined, there)
        return result, there

    def _kept(self, values: Floats, there: Mask) -> tuple[Floats, Mask]:
        return np.where(there, values, self.empty), there

    def function(self, name: str, arguments: list[Floats]) -> Floats:
        """A function by its name, built-in or the specification's own, whose operators are the usual ones."""
        if name in FUNCTIONS:
            with np.errstate(all="ignore"):
                return FUNCTIONS[name](arguments[0], arguments[-1])
        own = self.specification.functions[name]
        scalars = {**self.scalars, **dict(zip(own.arguments, arguments, strict=True))}
        return replace(self, operators=OPERATORS, scalars=scalars).value(own.body)[0]


def point_by_point(work: Computation) -> tuple[dict[str, Integers], Floats]:
    """The output of an Einsum, from all points of its iteration space: coordinates by rank, and values."""
    einsum, specification = work.einsum, work.specification
    full = tuple(work.shapes[rank] for rank in einsum.ranks)
    grid = dict(zip(einsum.ranks, np.ogrid[tuple(map(slice, full))], strict=True))

    def tensor(access: Access) -> tuple[Floats, Mask]:
        declared = specification.tensors[access.tensor]
        return _gathered(access, declared.ranks, work.tensors[access.tensor], grid, declared.empty)

    arithmetic = Arithmetic(specification, einsum.operators, specification.symbols, work.empty, tensor)
    values, there = arithmetic.value(work.equation.expression)
    indices = [np.broadcast_to(_index(index, grid), full) for index in work.equation.output.indices]
    chosen = np.broadcast_to(there, full).copy()
    for index, size in zip(indices, work.sizes, strict=True):
        chosen &= (index >= 0) & (index < size)
    coordinates = {rank: index[chosen] for rank, index in zip(work.declared, indices, strict=True)}
    return coordinates, np.broadcast_to(values, full)[chosen]


def _index(index: Index, grid: Mapping[str, Integers]) -> Integers:
    total = np.array(index.constant, np.int64)
    for rank, factor in index.terms:
        total = total + factor * grid[rank]
    return total


def _gathered(
    access: Access, declared: Sequence[str], tree: FiberTree, grid: Mapping[str, Integers], empty: float
) -> tuple[Floats, Mask]:
    """A tensor's values at all points, and where it has elements."""
    shapes = {rank.name: rank.shape for rank in tree.ranks}
    coordinates, values = tree.to_coo()
    keys = keys_of([coordinates[rank] for rank in declared], [shapes[rank] for rank in declared], len(values))
    order = np.argsort(keys)
    inside: Mask = np.array(True)
    key = np.array(0, np.int64)
    for index, rank in zip(access.indices, declared, strict=True):
        coordinate = _index(index, grid)
        inside = inside & (coordinate >= 0) & (coordinate < shapes[rank])
        key = key * shapes[rank] + np.clip(coordinate, 0, shapes[rank] - 1)
    if len(values) == 0:
        return np.full(key.shape, empty), np.zeros(key.shape, bool)
    places = np.minimum(np.searchsorted(keys, key, sorter=order), len(keys) - 1)
    there = inside & (keys[order[places]] == key)
    return np.where(there, values[order[places]].astype(np.float64), empty), there


def reduced(einsum: Einsum, keys: Integers, values: Floats) -> tuple[Integers, Floats, Floats]:
    """Points brought together by key: the keys in order, the values, and the sizes of what was added up."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, np.int64)
    if len(first) == len(keys) or not accumulates(einsum):
        return keys[first], values[first], np.abs(values[first])
    name = einsum.operators["+"]
    sizes = np.add.reduceat(np.abs(values), first) if name == "add" else np.abs(values[first])
    function = FUNCTIONS[name]
    if isinstance(function, np.ufunc):
        return keys[first], function.reduceat(values, first), sizes
    pieces = np.split(values, first[1:])
    return keys[first], np.array([_folded(function, piece) for piece in pieces]), sizes


def _folded(function: Binary, values: Floats) -> float:
    result = values[:1]
    for place in range(1, len(values)):
        result = function(result, values[place : place + 1])
    return float(result[0])


def accumulates(einsum: Einsum) -> bool:
    """Return whether points of one output are combined; a take that repeats the same copy is not."""
    expression = einsum.computed.expression
    if isinstance(expression, Take):
        expression = expression.operands[expression.selected]
    read = {rank for access in accesses(expression) for rank in access.ranks}
    return bool(read - {index.rank for index in einsum.computed.output.indices})
