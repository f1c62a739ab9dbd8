"""Problem: the dimensions of a loop nest, and the indices of each tensor.

Source: Timeloop's problem shapes (Parashar et al., ISPASS 2019, Section IV).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from fiberscope.models.analytic.arrays import Booleans, Integers
from fiberscope.models.analytic.density import Density


@dataclass(frozen=True)
class Rank:
    """One index of a tensor: a sum of dimensions with integer coefficients, as ``2 P + R``."""

    terms: tuple[tuple[int, int], ...]  # coefficient and index of the dimension


@dataclass(frozen=True)
class Tensor:
    """A tensor of the problem.

    Args:
        ranks: its indices, in order.
        output: whether it is written, and read again for accumulation.
    """

    name: str
    ranks: tuple[Rank, ...]
    output: bool = False


@dataclass(frozen=True)
class Problem:
    """A loop nest and its tensors. Loops and tensors are referred to by their indices in these tuples.

    Args:
        name: name of the problem.
        dimensions: names of the loops.
        bounds: number of iterations of each loop.
        tensors: operands and outputs.
        densities: the density model of each tensor.
    """

    name: str
    dimensions: tuple[str, ...]
    bounds: tuple[int, ...]
    tensors: tuple[Tensor, ...]
    densities: tuple[Density, ...]

    @cached_property
    def touches(self) -> Booleans:
        """Return whether a dimension indexes a tensor: tensors x dimensions."""
        touches = np.zeros((len(self.tensors), len(self.dimensions)), np.bool_)
        for number, tensor in enumerate(self.tensors):
            for rank in tensor.ranks:
                for _coefficient, dimension in rank.terms:
                    touches[number, dimension] = True
        return touches

    @cached_property
    def coefficients(self) -> list[Integers]:
        """Return for each tensor the step in each rank for a step of each dimension: ranks x dimensions."""
        tables = []
        for tensor in self.tensors:
            table = np.zeros(
                (max(len(tensor.ranks), 1), len(self.dimensions)), np.int64
            )  # a scalar has one rank
            for row, rank in enumerate(tensor.ranks):
                for coefficient, dimension in rank.terms:
                    table[row, dimension] += coefficient
            tables.append(table)
        return tables

    @property
    def operations(self) -> int:
        """Return the number of computes: the points of the nest."""
        return prod(self.bounds)

    @property
    def operands(self) -> tuple[int, ...]:
        """Return the indices of the tensors that are only read."""
        return tuple(number for number, tensor in enumerate(self.tensors) if not tensor.output)

    def shape(self, tensor: int) -> tuple[int, ...]:
        """Return the extents of a tensor; a scalar has a single rank of extent 1."""
        return tuple(int(extent) for extent in self.extents(tensor, np.array(self.bounds)))

    def extents(self, tensor: int, box: Integers) -> Sequence[Integers]:
        """Return the extents of the tile of a box of loops: for ``a i + b j``, a (I - 1) + b (J - 1) + 1.

        A scalar has a single rank of extent 1.

        Args:
            tensor: its index.
            box: the bounds by dimension, the last axis.
        """
        table = self.coefficients[tensor]
        return list(np.moveaxis((box - 1) @ table.T + 1, -1, 0))

    def size(self, tensor: int, box: Integers) -> Integers:
        """Return the number of elements in the tile of a box; 1 for a scalar.

        Args:
            tensor, box: the arguments of ``extents``.
        """
        return np.asarray(((box - 1) @ self.coefficients[tensor].T + 1).prod(axis=-1))
