"""Renamed tensors as copies: the Einsum ``Y = Z`` becomes a stage that scans Z and writes Y."""

from __future__ import annotations

from dataclasses import replace

from fiberscope.models.trace.specification import Einsum, Specification
from fiberscope.workloads.expressions.expression import Access, Alias, Equation

__all__ = ["with_copies"]


def with_copies(specification: Specification) -> Specification:
    """Return a specification in which each Einsum that renames a tensor copies it in its stored order."""
    einsums = tuple(
        _copy(specification, einsum, einsum.equation) if isinstance(einsum.equation, Alias) else einsum
        for einsum in specification.einsums
    )
    return replace(specification, einsums=einsums)


def _copy(specification: Specification, einsum: Einsum, alias: Alias) -> Einsum:
    output = specification.tensors[alias.output]
    equation = Equation(
        Access.at(output.name, output.ranks), Access.at(alias.source, output.ranks), alias.text
    )
    return replace(einsum, equation=equation, ranks=output.ranks, loop_order=output.rank_order)
