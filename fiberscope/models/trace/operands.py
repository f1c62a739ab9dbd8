"""Operands of a cascade: loading, the assignment to tensors, and the ranks of a matrix's rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fiberscope.base.errors import InputError
from fiberscope.base.operand_arguments import check_factors
from fiberscope.workloads import NamedTensor, Problem, Workload, draw, is_gemm, open_tensor
from fiberscope.workloads.canonical import CsrArray, digest
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.tensor import SparseTensor

Factor = Literal["left", "right"]
SIDES: tuple[tuple[str, Factor], ...] = (("A", "left"), ("B", "right"))
MATRIX = 2  # ranks


@dataclass(frozen=True)
class CascadeOperand:
    """An operand of a cascade.

    Args:
        name: the name of the tensor.
        workload: the elements of the tensor.
        factor: the factor of a product of matrices that the operand is. The rows of the left factor, and the
            columns of the right factor, are the rank that the product has, too. The rows of any other operand
            are the first declared rank. The ranks of a workload with ``ranks`` take precedence.
    """

    name: str
    workload: NamedTensor
    factor: Factor | None = None


def list_operand_names(factors: Sequence[object], by_name: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of the tensors with operands: A and B for factors, also if A stands for both.

    The arguments are those of ``load_operands``.

    Raises:
        InputError: operands both in order and by name, or more than two factors.
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
    """Load the operands, and return them by name.

    Args:
        factors: the factors A and B of a product; A alone stands for both.
        by_name: other tensors by name. Each operand is a value that ``open_tensor`` accepts.
        exact: refuse a surrogate.
        progress: called with loaded bytes and total bytes.
        ranks: ranks of the operands whose names have ranks, in the order of their dimensions.

    Raises:
        WorkloadError: an operand is not available.
    """
    if by_name:
        tensors = {
            name: open_tensor(tensor, name, exact=exact, progress=progress)
            for name, tensor in by_name.items()
        }
        return {name: _make_operand(name, tensor, ranks) for name, tensor in tensors.items()}
    loaded = [
        open_tensor(factor, name, exact=exact, progress=progress)
        for name, factor in _name_factors(factors).items()
    ]
    # a single factor is loaded once, and is A and B; without factors there are no operands
    first_and_last = [loaded[0], loaded[-1]] if loaded else []
    return {
        name: _make_operand(name, tensor, ranks, side)
        for (name, side), tensor in zip(SIDES, first_and_last, strict=False)
    }


def _make_operand(
    name: str, tensor: NamedTensor, ranks: Mapping[str, tuple[str, ...]], side: Factor | None = None
) -> CascadeOperand:
    return CascadeOperand(name, replace(tensor, ranks=ranks.get(name, ())), side)


def _name_factors(factors: Sequence[object]) -> dict[str, object]:
    """Return the factors by name; a factor that generates both operands stands for both."""
    if len(factors) == 1 and isinstance(factors[0], str) and is_gemm(factors[0]):
        factors = draw(factors[0])
    return dict(zip("AB", factors, strict=False))


def list_problem_inputs(problem: Problem) -> dict[str, CascadeOperand]:
    """Return the inputs of a cascade for a problem.

    Raises:
        WorkloadError: no cascade solves the problem.
    """
    return {
        name: CascadeOperand(name, _name_matrix(problem, name, matrix))
        for name, matrix in problem.matrices().items()
    }


def _name_matrix(problem: Problem, name: str, matrix: CsrArray) -> NamedTensor:
    """Return a matrix derived from a problem's operand; under the operand's name it keeps the source."""
    operand = next(iter(problem.operands.values()))
    if name in problem.operands and isinstance(operand, Workload):
        return open_tensor(replace(operand, matrix=matrix), name)
    matrix_name = f"{name} of {operand.name}"
    return open_tensor(Workload(matrix_name, "memory", matrix, digest(matrix), None, operand.origin), name)


def check_names(specification: str, inputs: Sequence[str], names: Iterable[str]) -> None:
    """Check that operands and inputs of a cascade agree.

    Args:
        specification: name of the specification, for messages.
        inputs: names of the tensors that the cascade reads.
        names: names of the tensors with operands.

    Raises:
        InputError: the cascade has no inputs, an operand is not an input, or an input has no operand.
    """
    if not inputs:
        raise InputError(f"{specification} reads no tensor, so there is nothing to count")
    for name in names:
        if name not in inputs:
            raise InputError(f"{specification} reads no tensor {name}; {suggest(name, inputs)}")
    for name in inputs:
        if name not in names:
            expected = " ".join(f"{name}=FILE" for name in inputs)
            raise InputError(f"{specification} reads tensor {name}, which is not given; give {expected}")


def as_factors(
    operands: Mapping[str, CascadeOperand], declared: Mapping[str, Sequence[str]], output: Sequence[str]
) -> dict[str, CascadeOperand]:
    """Return A and B as the factors of a product of two matrices, also if the user gave them by name.

    Other operands than two matrices A and B stay as they are. So do matrices that fit together only with the
    first declared rank as rows; then the function warns.

    Args:
        operands: all operands of a cascade.
        declared: the ranks of each tensor.
        output: the ranks of the result.
    """
    factors = {name: replace(operands[name], factor=side) for name, side in SIDES if name in operands}
    if factors.keys() != operands.keys() or any(len(declared[name]) != MATRIX for name in factors):
        return dict(operands)
    if any(len(factor.workload.tensor.shape) != MATRIX for factor in factors.values()):
        return dict(operands)
    # the declared order is used only if it alone fits; if neither fits, the convention of products holds
    if _has_agreeing_sizes(factors, declared, output) or not _has_agreeing_sizes(operands, declared, output):
        return factors
    for name, factor in factors.items():
        upper, lower = declared[name]
        if find_matrix_ranks(factor, (upper, lower), output) != (upper, lower):
            rows, columns = factor.workload.tensor.shape
            warnings.warn(
                f"{name} ({rows} x {columns}): as a factor of the product its rows would be rank {lower}, "
                f"which does not fit; they are taken as rank {upper}, the first that it is declared with",
                stacklevel=2,
            )
    return dict(operands)


def _has_agreeing_sizes(
    operands: Mapping[str, CascadeOperand], declared: Mapping[str, Sequence[str]], output: Sequence[str]
) -> bool:
    """Return whether all matrices agree on the size of each rank, as far as their shapes are known."""
    sizes: dict[str, int] = {}
    for name, operand in operands.items():
        if operand.workload.has_shape:
            ranks = find_matrix_ranks(operand, declared[name], output)
            for rank, size in zip(ranks, operand.workload.tensor.shape, strict=True):
                if sizes.setdefault(rank, size) != size:
                    return False
    return True


def find_matrix_ranks(
    operand: CascadeOperand, declared: Sequence[str], output: Sequence[str]
) -> tuple[str, str]:
    """Return the ranks of the rows and the columns of a matrix.

    The rows of a left factor, and the columns of a right factor, are the rank that the result has. If the
    result has both ranks or neither, or the operand is no factor, the rows are the upper declared rank.

    Args:
        operand: an operand with two dimensions.
        declared: the two declared ranks of its tensor.
        output: the ranks of the result.
    """
    if operand.workload.ranks:
        rows, columns = operand.workload.ranks
        return rows, columns
    upper, lower = declared
    row_in_output = {"left": True, "right": False, None: None}[operand.factor]
    in_output = [rank in output for rank in declared]
    # A[K, M] of Z[M, N] = A * B: the rows of the left factor are M, which is declared below K
    is_transposed = row_in_output is not None and in_output == [not row_in_output, row_in_output]
    return (lower, upper) if is_transposed else (upper, lower)


def add_ranks(
    operands: Mapping[str, CascadeOperand], declared: Mapping[str, Sequence[str]], output: Sequence[str]
) -> dict[str, CascadeOperand]:
    """Return operands that name the ranks of their dimensions; the arguments are those of ``as_factors``."""
    operands_with_ranks = {}
    for name, operand in operands.items():
        ranks = tuple(declared[name])
        if len(ranks) == MATRIX:
            ranks = find_matrix_ranks(operand, ranks, output)
        elif operand.workload.ranks:
            ranks = operand.workload.ranks
        operands_with_ranks[name] = replace(operand, workload=replace(operand.workload, ranks=ranks))
    return operands_with_ranks


def build_operand_trees(
    operands: Iterable[CascadeOperand],
    declared: Mapping[str, Sequence[str]],
    output: Sequence[str],
    sizes: Mapping[str, int],
) -> dict[str, FiberTree]:
    """Return operands as trees with the declared ranks; the rows of a matrix are the upper rank.

    Args:
        operands: the operands of a cascade.
        declared: the ranks of each tensor.
        output: the ranks of the product.
        sizes: declared sizes of ranks. The ranks of a file without a shape have the largest of their declared
            size, their sizes in other operands, and the extent of the file's coordinates.

    Raises:
        WorkloadError: an operand and its tensor have different numbers of ranks.
    """
    tensors, minima = {}, dict(sizes)
    for operand in operands:
        declared_ranks = declared[operand.name]
        tensor = operand.workload.of_order(len(declared_ranks), operand.name)
        ranks = (
            find_matrix_ranks(operand, declared_ranks, output)
            if len(declared_ranks) == MATRIX
            else tensor.ranks or tuple(declared_ranks)
        )
        tensors[operand.name] = tensor, ranks
        minima |= {
            rank: max(size, minima.get(rank, 0)) for rank, size in zip(ranks, tensor.shape, strict=True)
        }
    # a second pass: a later operand may determine the size of an earlier operand's rank
    return {name: _build_operand_tree(tensor, ranks, minima) for name, (tensor, ranks) in tensors.items()}


def _build_operand_tree(operand: NamedTensor, ranks: Sequence[str], minima: Mapping[str, int]) -> FiberTree:
    tensor = (
        operand.tensor if operand.has_shape else operand.tensor.at_least([minima[rank] for rank in ranks])
    )
    if not ranks:
        return FiberTree((), (), (), tensor.values)
    shape = dict(zip(ranks, tensor.shape, strict=True))
    return FiberTree.from_coo(shape, tensor.coordinates, tensor.values)


def convert_tree(tree: FiberTree, ranks: Sequence[str]) -> SparseTensor:
    """Return an unpartitioned tree as coordinates and values.

    Args:
        ranks: its ranks in the order of the result's dimensions; none for a scalar.
    """
    if not ranks:
        return SparseTensor((), (), tree.values)
    columns, values = tree.swizzle(ranks).to_coo()
    shape = [tree.ranks[tree.level(name)].shape for name in ranks]
    return SparseTensor.from_coordinates(shape, [columns[name] for name in ranks], values)
