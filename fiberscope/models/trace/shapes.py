"""How large the ranks of an Einsum are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fiberscope.errors import InputError
from fiberscope.models.trace.plan import uses_of
from fiberscope.models.trace.specification import Einsum, Specification
from fiberscope.workloads.expressions.expression import Equation, Index, accesses
from fiberscope.workloads.fibertree import FiberTree

__all__ = ["rank_shapes"]


def rank_shapes(
    specification: Specification, einsum: Einsum, tensors: Mapping[str, FiberTree]
) -> dict[str, int]:
    """The shape of each rank of an Einsum by name: of its tensors, declared, or such that indices fit.

    Raises:
        InputError: if tensors differ about one, or nothing says how large one is.
    """
    equation = einsum.equation
    assert isinstance(equation, Equation)
    shapes: dict[str, int] = {}
    given_by: dict[str, str] = {}
    affine: list[tuple[Index, int]] = []
    for access in accesses(equation.expression):
        sizes = {rank.name: rank.shape for rank in tensors[access.tensor].ranks}
        for index, declared in zip(access.indices, specification.tensors[access.tensor].ranks, strict=True):
            if index.rank is None:
                affine.append((index, sizes[declared]))
                continue
            rank = index.rank
            if shapes.setdefault(rank, sizes[declared]) != sizes[declared]:
                raise InputError(
                    f"{einsum.name}: {rank} is {shapes[rank]} in {given_by[rank]}, "
                    f"but {sizes[declared]} in {access.tensor}"
                )
            given_by.setdefault(rank, access.tensor)
    _complete(specification, einsum, shapes, affine)
    return shapes | _of_the_output(specification, equation, shapes)


def _complete(
    specification: Specification,
    einsum: Einsum,
    shapes: dict[str, int],
    affine: Iterable[tuple[Index, int]],
) -> None:
    for rank in einsum.ranks:
        if rank not in shapes and rank in specification.shapes:
            shapes[rank] = specification.shapes[rank]
    for index, size in affine:
        _fit(index, size, shapes)
    for rank in einsum.ranks:
        if rank not in shapes:
            raise InputError(f"{einsum.name}: nothing says how large {rank} is; give it under `shape`")


def _fit(index: Index, size: int, shapes: dict[str, int]) -> None:
    """The one unknown rank of an index is as large as lets every other reach its end."""
    unknown = [rank for rank in index.ranks if rank not in shapes]
    if len(unknown) != 1:
        return
    factors = dict(index.terms)
    if factors[unknown[0]] < 0:
        return
    rest = index.constant + sum(
        max(0, factor * (shapes[rank] - 1)) for rank, factor in index.terms if rank != unknown[0]
    )
    shapes[unknown[0]] = max(0, (size - 1 - rest) // factors[unknown[0]] + 1)


def _of_the_output(
    specification: Specification, equation: Equation, shapes: Mapping[str, int]
) -> dict[str, int]:
    """Shapes of the output's ranks whose index is not a plain one, by ``NAME of the output``."""
    found = {}
    for use in uses_of(equation.output, specification.tensors[equation.output.tensor].ranks):
        if not use.plain:
            reach = sum(max(0, factor * (shapes[rank] - 1)) for rank, factor in use.index.terms)
            size = specification.shapes.get(use.declared, use.index.constant + reach + 1)
            found[f"{use.name} of the output"] = size
    return found
