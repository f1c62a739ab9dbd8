"""The tensors that a cascade is given: which file is which, and which of its ranks are the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from fiberscope.errors import InputError
from fiberscope.words import check_factors
from fiberscope.workloads import Operand, Problem, Workload, draw, from_scipy, is_gemm
from fiberscope.workloads import load as load_workload
from fiberscope.workloads.canonical import CsrArray, digest
from fiberscope.workloads.errors import nearest
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.tensor import SparseTensor

__all__ = ["Given", "check_names", "inputs_of", "loaded", "matrix_ranks", "names_of", "tensor_of", "tree"]

Factor = Literal["left", "right"]


@dataclass(frozen=True)
class Given:
    """An operand of a cascade.

    Args:
        name: of the tensor.
        workload: its matrix.
        factor: which one of a product of matrices it is. The rows of the left one, and the columns of the
            right one, are the rank that the product has too. Of any other operand the rows are the first rank
            that the tensor is declared with.
    """

    name: str
    workload: Operand
    factor: Factor | None = None


def names_of(factors: Sequence[object], by_name: Mapping[str, object]) -> tuple[str, ...]:
    """The tensors that operands are given for; the arguments are those of ``loaded``.

    Raises:
        InputError: operands given both ways, or more than two factors.
    """
    if factors and by_name:
        raise InputError("give operands in order or by name (A=a.mtx B=b.mtx), not both")
    check_factors(factors)
    return ("A", "B") if factors else tuple(by_name)


def loaded(
    factors: Sequence[object],
    by_name: Mapping[str, object],
    exact: bool,
    progress: Callable[[int, int], None],
) -> dict[str, Given]:
    """The operands by name.

    Args:
        factors: of a product, A and B; B is A again if it is not given.
        by_name: any tensors, as ``factors`` a path, a known name, a workload or a scipy matrix.
        exact: refuse a surrogate.
        progress: called with bytes had and bytes in all.

    Raises:
        WorkloadError: one that cannot be had.
    """
    if by_name:
        return {name: Given(name, _workload(name, one, exact, progress)) for name, one in by_name.items()}
    found = _factors(factors, exact, progress)
    sides: tuple[tuple[str, Factor], ...] = (("A", "left"), ("B", "right"))
    both = [found[0], found[-1]] if found else []
    return {name: Given(name, one, side) for (name, side), one in zip(sides, both, strict=False)}


def _factors(
    factors: Sequence[object], exact: bool, progress: Callable[[int, int], None]
) -> Sequence[Operand]:
    if len(factors) == 1 and isinstance(factors[0], str) and is_gemm(factors[0]):
        return draw(factors[0])
    return [_workload(name, one, exact, progress) for name, one in zip("AB", factors, strict=False)]


def inputs_of(problem: Problem) -> dict[str, Given]:
    """What a cascade for a problem reads.

    Raises:
        WorkloadError: no cascade is known for it.
    """
    return {name: Given(name, _made(problem, name, matrix)) for name, matrix in problem.matrices().items()}


def _made(problem: Problem, name: str, matrix: CsrArray) -> Workload:
    """A matrix that is made of the operand; one of the same name is told of as the operand was given."""
    operand = next(iter(problem.operands.values()))
    if name in problem.operands and isinstance(operand, Workload):
        return replace(operand, matrix=matrix)
    return Workload(f"{name} of {operand.name}", "memory", matrix, digest(matrix), None, operand.origin)


def _workload(name: str, given: object, exact: bool, progress: Callable[[int, int], None]) -> Workload:
    if isinstance(given, Workload):
        return given
    if isinstance(given, str | Path):
        return load_workload(given, exact=exact, progress=progress)
    return from_scipy(given, name=name)


def check_names(specification: str, inputs: Sequence[str], given: Iterable[str]) -> None:
    """Refuse operands that a cascade does not read, and operands that are missing.

    Raises:
        InputError: naming one.
    """
    for name in given:
        if name not in inputs:
            raise InputError(f"{specification} reads no tensor {name}; {nearest(name, inputs)}")
    for name in inputs:
        if name not in given:
            wanted = " ".join(f"{one}=FILE" for one in inputs)
            raise InputError(f"{specification} reads tensor {name}, which is not given; give {wanted}")


def matrix_ranks(given: Given, declared: Sequence[str], output: Sequence[str]) -> tuple[str, str]:
    """The ranks that the rows and the columns of an operand of two ranks are."""
    first, second = declared
    wants_kept_first = {"left": True, "right": False, None: None}[given.factor]
    kept = [rank in output for rank in declared]
    turned = wants_kept_first is not None and kept == [not wants_kept_first, wants_kept_first]
    return (second, first) if turned else (first, second)


def tree(given: Given, declared: Sequence[str], output: Sequence[str]) -> FiberTree:
    """An operand as a tree with the ranks that its tensor is declared with, its rows the upper one.

    Args:
        given: the operand.
        declared: its ranks.
        output: those of the product, if it is a factor of one.

    Raises:
        InputError: a matrix does not have as many ranks.
    """
    matrix = given.workload.matrix
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    if not declared:
        return _scalar(given.name, matrix)
    if len(declared) == 1:
        return _vector(given.name, declared[0], matrix, rows)
    if len(declared) != 2:
        raise InputError(f"{given.name} has {len(declared)} ranks; a file of a matrix has 2")
    ranks = matrix_ranks(given, declared, output)
    shape = dict(zip(ranks, map(int, matrix.shape), strict=True))
    return FiberTree.from_coo(shape, [rows, matrix.indices], matrix.data)


def _scalar(name: str, matrix: CsrArray) -> FiberTree:
    """A file with one row and one column, as a tensor without ranks."""
    if matrix.shape != (1, 1):
        size = " x ".join(map(str, matrix.shape))
        raise InputError(f"{name} has no rank; it should be a file with one row and one column, not {size}")
    return FiberTree((), (), (), matrix.data)


def _vector(
    name: str, rank: str, matrix: CsrArray, rows: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> FiberTree:
    """A file with one column or one row, as a tensor of one rank."""
    if 1 not in matrix.shape:
        size = " x ".join(map(str, matrix.shape))
        raise InputError(f"{name} has one rank; it should be a file with one column or one row, not {size}")
    coordinates = rows if matrix.shape[1] == 1 else matrix.indices
    return FiberTree.from_coo({rank: max(map(int, matrix.shape))}, [coordinates], matrix.data)


def tensor_of(tree: FiberTree, ranks: Sequence[str]) -> SparseTensor:
    """A tree that is not partitioned as coordinates and values, its ranks in this order."""
    if not ranks:
        return SparseTensor((), (), tree.values)
    columns, values = tree.swizzle(ranks).to_coo()
    shape = [tree.ranks[tree.level(name)].shape for name in ranks]
    return SparseTensor.from_coordinates(shape, [columns[name] for name in ranks], values)
