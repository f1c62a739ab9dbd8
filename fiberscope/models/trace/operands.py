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
    "Given",
    "check_names",
    "inputs_of",
    "loaded",
    "matrix_ranks",
    "names_of",
    "tensor_of",
    "trees",
    "warn_of_turned",
]

Factor = Literal["left", "right"]
SIDES: tuple[tuple[str, Factor], ...] = (("A", "left"), ("B", "right"))
MATRIX = 2  # ranks


@dataclass(frozen=True)
class Given:
    """An operand of a cascade.

    Args:
        name: of the tensor.
        workload: its entries.
        factor: which one of a product of matrices it is. The rows of the left one, and the columns of the
            right one, are the rank that the product has too. Of any other operand the rows are the first rank
            that the tensor is declared with.
    """

    name: str
    workload: NamedTensor
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
        by_name: any tensors, as ``factors`` whatever ``open_tensor`` opens.
        exact: refuse a surrogate.
        progress: called with bytes had and bytes in all.

    Raises:
        WorkloadError: one that cannot be had.
    """
    if by_name:
        tensors = {
            name: open_tensor(tensor, name, exact=exact, progress=progress)
            for name, tensor in by_name.items()
        }
        return {name: Given(name, tensor) for name, tensor in tensors.items()}
    opened = [
        open_tensor(factor, name, exact=exact, progress=progress)
        for name, factor in _factors(factors).items()
    ]
    both = [opened[0], opened[-1]] if opened else []
    return {name: Given(name, tensor, side) for (name, side), tensor in zip(SIDES, both, strict=False)}


def _factors(factors: Sequence[object]) -> dict[str, object]:
    """By name; one that draws both stands for both."""
    if len(factors) == 1 and isinstance(factors[0], str) and is_gemm(factors[0]):
        factors = draw(factors[0])
    return dict(zip("AB", factors, strict=False))


def inputs_of(problem: Problem) -> dict[str, Given]:
    """Return the inputs of a cascade for a problem.

    Raises:
        WorkloadError: no cascade is known for it.
    """
    return {
        name: Given(name, _named_matrix(problem, name, matrix)) for name, matrix in problem.matrices().items()
    }


def _named_matrix(problem: Problem, name: str, matrix: CsrArray) -> NamedTensor:
    """A matrix that is made of the operand; one of the same name is told of as the operand was given."""
    operand = next(iter(problem.operands.values()))
    if name in problem.operands and isinstance(operand, Workload):
        return open_tensor(replace(operand, matrix=matrix), name)
    called = f"{name} of {operand.name}"
    return open_tensor(Workload(called, "memory", matrix, digest(matrix), None, operand.origin), name)


def check_names(specification: str, inputs: Sequence[str], names: Iterable[str]) -> None:
    """Refuse operands that a cascade does not read, and operands that are missing.

    Raises:
        InputError: naming one.
    """
    for name in names:
        if name not in inputs:
            raise InputError(f"{specification} reads no tensor {name}; {nearest(name, inputs)}")
    for name in inputs:
        if name not in names:
            wanted = " ".join(f"{name}=FILE" for name in inputs)
            raise InputError(f"{specification} reads tensor {name}, which is not given; give {wanted}")


def warn_of_turned(
    operands: Mapping[str, Given], declared: Mapping[str, Sequence[str]], output: Sequence[str]
) -> None:
    """Warn of a square A or B by name whose rows are another rank than a factor's: it runs all the same."""
    for name, side in SIDES:
        operand, ranks = operands.get(name), tuple(declared.get(name, ()))
        if (
            operand is None
            or operand.factor
            or len(ranks) != MATRIX
            or len(operand.workload.tensor.shape) != MATRIX
        ):
            continue
        rows, columns = operand.workload.tensor.shape
        if rows == columns and matrix_ranks(replace(operand, factor=side), ranks, output) != ranks:
            warnings.warn(
                f"{name}: by name its rows are rank {ranks[0]}, the first that it is declared with; "
                f"as a factor of the product, given in order, they are rank {ranks[1]}",
                stacklevel=2,
            )


def matrix_ranks(operand: Given, declared: Sequence[str], output: Sequence[str]) -> tuple[str, str]:
    """The ranks that the rows and the columns of an operand of two ranks are."""
    first, second = declared
    wants_kept_first = {"left": True, "right": False, None: None}[operand.factor]
    kept = [rank in output for rank in declared]
    turned = wants_kept_first is not None and kept == [not wants_kept_first, wants_kept_first]
    return (second, first) if turned else (first, second)


def trees(
    operands: Iterable[Given],
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
        ranks = matrix_ranks(operand, own, output) if len(own) == 2 else tuple(own)
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
