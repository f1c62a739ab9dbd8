"""The tensors that a cascade is given: which file is which, and which of its ranks are the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fiberscope.base.errors import InputError
from fiberscope.base.operand_arguments import check_factors
from fiberscope.workloads import NamedTensor, Problem, Workload, draw, is_gemm, open_tensor
from fiberscope.workloads.canonical import CsrArray, digest
from fiberscope.workloads.errors import nearest
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.tensor import SparseTensor

__all__ = [
    "CascadeOperand",
    "as_factors",
    "check_names",
    "inputs_of",
    "load_operands",
    "matrix_ranks",
    "names_of",
    "tensor_of",
    "trees",
    "with_ranks",
]

Factor = Literal["left", "right"]
SIDES: tuple[tuple[str, Factor], ...] = (("A", "left"), ("B", "right"))
MATRIX = 2  # ranks


@dataclass(frozen=True)
class CascadeOperand:
    """An operand of a cascade.

    Args:
        name: the name of the tensor.
        workload: its entries.
        factor: which factor of a product of matrices it is. The rows of the left factor, and the columns of
            the right factor, are the rank that the product has too. The rows of any other operand are the
            first rank with which the tensor is declared. An operand with ``ranks`` has these in any case.
    """

    name: str
    workload: NamedTensor
    factor: Factor | None = None


def names_of(factors: Sequence[object], by_name: Mapping[str, object]) -> tuple[str, ...]:
    """The tensors that operands are given for; the arguments are those of ``load_operands``.

    Raises:
        InputError: operands given both ways, or more than two factors.
    """
    if factors and by_name:
        raise InputError("give operands in order or by name (A=a.mtx B=b.mtx), not both")
    check_factors(factors)
    return ("A", "B") if factors else tuple(by_name)


def load_operands(
    factors: Sequence[object],
    by_name: Mapping[str, object],
    exact: bool,
    progress: Callable[[int, int], None],
    ranks: Mapping[str, tuple[str, ...]],
) -> dict[str, CascadeOperand]:
    """The operands by name.

    Args:
        factors: the factors of a product, A and B; B is A again if it is not given.
        by_name: any tensors, as ``factors`` whatever ``open_tensor`` opens.
        exact: refuse a surrogate.
        progress: called with bytes had and bytes in all.
        ranks: ranks of the operands whose names have ranks, in the order of their dimensions.

    Raises:
        WorkloadError: one that cannot be had.
    """
    if by_name:
        tensors = {
            name: open_tensor(tensor, name, exact=exact, progress=progress)
            for name, tensor in by_name.items()
        }
        return {name: _operand(name, tensor, ranks) for name, tensor in tensors.items()}
    opened = [
        open_tensor(factor, name, exact=exact, progress=progress)
        for name, factor in _factors(factors).items()
    ]
    both = [opened[0], opened[-1]] if opened else []
    return {
        name: _operand(name, tensor, ranks, side) for (name, side), tensor in zip(SIDES, both, strict=False)
    }


def _operand(
    name: str, tensor: NamedTensor, ranks: Mapping[str, tuple[str, ...]], side: Factor | None = None
) -> CascadeOperand:
    return CascadeOperand(name, replace(tensor, ranks=ranks.get(name, ())), side)


def _factors(factors: Sequence[object]) -> dict[str, object]:
    """Return the factors by name; a factor that generates both operands stands for both."""
    if len(factors) == 1 and isinstance(factors[0], str) and is_gemm(factors[0]):
        factors = draw(factors[0])
    return dict(zip("AB", factors, strict=False))


def inputs_of(problem: Problem) -> dict[str, CascadeOperand]:
    """Return the inputs of a cascade for a problem.

    Raises:
        WorkloadError: no cascade is known for it.
    """
    return {
        name: CascadeOperand(name, _named_matrix(problem, name, matrix))
        for name, matrix in problem.matrices().items()
    }


def _named_matrix(problem: Problem, name: str, matrix: CsrArray) -> NamedTensor:
    """A matrix that is made of the operand; one of the same name is told of as the operand was given."""
    operand = next(iter(problem.operands.values()))
    if name in problem.operands and isinstance(operand, Workload):
        return open_tensor(replace(operand, matrix=matrix), name)
    called = f"{name} of {operand.name}"
    return open_tensor(Workload(called, "memory", matrix, digest(matrix), None, operand.origin), name)


def check_names(specification: str, inputs: Sequence[str], names: Iterable[str]) -> None:
    """Refuse operands that a cascade does not read, operands that are missing, and a cascade that reads none.

    Raises:
        InputError: naming one.
    """
    if not inputs:
        raise InputError(f"{specification} reads no tensor, so there is nothing to count")
    for name in names:
        if name not in inputs:
            raise InputError(f"{specification} reads no tensor {name}; {nearest(name, inputs)}")
    for name in inputs:
        if name not in names:
            expected = " ".join(f"{name}=FILE" for name in inputs)
            raise InputError(f"{specification} reads tensor {name}, which is not given; give {expected}")


def as_factors(
    operands: Mapping[str, CascadeOperand], declared: Mapping[str, Sequence[str]], output: Sequence[str]
) -> dict[str, CascadeOperand]:
    """Return A and B as the factors of a product of two matrices, also if they are given by name.

    Matrices that fit together only with the first declared rank as rows stay as they are, with a warning.

    Args:
        operands: all of a cascade.
        declared: the ranks of each tensor.
        output: those of the result.
    """
    factors = {name: replace(operands[name], factor=side) for name, side in SIDES if name in operands}
    if factors.keys() != operands.keys() or any(len(declared[name]) != MATRIX for name in factors):
        return dict(operands)
    if any(len(factor.workload.tensor.shape) != MATRIX for factor in factors.values()):
        return dict(operands)
    if _fit(factors, declared, output) or not _fit(operands, declared, output):
        return factors
    for name, factor in factors.items():
        first, second = declared[name]
        if matrix_ranks(factor, (first, second), output) != (first, second):
            rows, columns = factor.workload.tensor.shape
            warnings.warn(
                f"{name} ({rows} x {columns}): as a factor of the product its rows would be rank {second}, "
                f"which does not fit; they are taken as rank {first}, the first that it is declared with",
                stacklevel=2,
            )
    return dict(operands)


def _fit(
    operands: Mapping[str, CascadeOperand], declared: Mapping[str, Sequence[str]], output: Sequence[str]
) -> bool:
    """Return whether all matrices agree on the size of each rank, as far as their shapes are known."""
    sizes: dict[str, int] = {}
    for name, operand in operands.items():
        if operand.workload.sized:
            ranks = matrix_ranks(operand, declared[name], output)
            for rank, size in zip(ranks, operand.workload.tensor.shape, strict=True):
                if sizes.setdefault(rank, size) != size:
                    return False
    return True


def matrix_ranks(operand: CascadeOperand, declared: Sequence[str], output: Sequence[str]) -> tuple[str, str]:
    """The ranks that the rows and the columns of an operand of two ranks are."""
    if operand.workload.ranks:
        first, second = operand.workload.ranks
        return first, second
    first, second = declared
    wants_kept_first = {"left": True, "right": False, None: None}[operand.factor]
    kept = [rank in output for rank in declared]
    turned = wants_kept_first is not None and kept == [not wants_kept_first, wants_kept_first]
    return (second, first) if turned else (first, second)


def with_ranks(
    operands: Mapping[str, CascadeOperand], declared: Mapping[str, Sequence[str]], output: Sequence[str]
) -> dict[str, CascadeOperand]:
    """Return operands that name the ranks of their dimensions; the arguments are those of ``as_factors``."""
    named = {}
    for name, operand in operands.items():
        own = tuple(declared[name])
        ranks = matrix_ranks(operand, own, output) if len(own) == MATRIX else operand.workload.ranks or own
        named[name] = replace(operand, workload=replace(operand.workload, ranks=ranks))
    return named


def trees(
    operands: Iterable[CascadeOperand],
    declared: Mapping[str, Sequence[str]],
    output: Sequence[str],
    sizes: Mapping[str, int],
) -> dict[str, FiberTree]:
    """Operands as trees with the ranks that their tensors are declared with, rows of a matrix the upper one.

    Args:
        operands: as given.
        declared: the ranks of each tensor.
        output: those of the product, if they are factors of one.
        sizes: of ranks, where they are declared; a file that does not tell its shape is as large as these,
            and as the others.

    Raises:
        WorkloadError: an operand does not have as many ranks as its tensor.
    """
    fibertrees, least = {}, dict(sizes)
    for operand in operands:
        own = declared[operand.name]
        tensor = operand.workload.of_order(len(own), operand.name)
        ranks = matrix_ranks(operand, own, output) if len(own) == 2 else tensor.ranks or tuple(own)
        fibertrees[operand.name] = tensor, ranks
        least |= {rank: max(size, least.get(rank, 0)) for rank, size in zip(ranks, tensor.shape, strict=True)}
    return {name: _tree(tensor, ranks, least) for name, (tensor, ranks) in fibertrees.items()}


def _tree(operand: NamedTensor, ranks: Sequence[str], least: Mapping[str, int]) -> FiberTree:
    tensor = operand.tensor if operand.sized else operand.tensor.at_least([least[rank] for rank in ranks])
    if not ranks:
        return FiberTree((), (), (), tensor.values)
    shape = dict(zip(ranks, tensor.shape, strict=True))
    return FiberTree.from_coo(shape, tensor.coordinates, tensor.values)


def tensor_of(tree: FiberTree, ranks: Sequence[str]) -> SparseTensor:
    """A tree that is not partitioned as coordinates and values, its ranks in this order."""
    if not ranks:
        return SparseTensor((), (), tree.values)
    columns, values = tree.swizzle(ranks).to_coo()
    shape = [tree.ranks[tree.level(name)].shape for name in ranks]
    return SparseTensor.from_coordinates(shape, [columns[name] for name in ranks], values)
