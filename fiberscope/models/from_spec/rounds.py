"""A cascade that repeats as one that runs once: each Einsum once a round, the rounds of the trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from fiberscope.models.from_spec.stages import Stage
from fiberscope.models.trace.specification import Specification

__all__ = ["first_round", "first_stages", "round_begins", "unrolled"]

MARK = "@"  # between the name of an Einsum and the number of its round


def unrolled(specification: Specification, rounds: int) -> Specification:
    """A specification whose Einsums are those of all rounds: ``X@1`` is X of the first.

    Args:
        specification: as it was read; one without an iteration stays as it is.
        rounds: how often its cascade runs.
    """
    if specification.iteration is None:
        return specification
    einsums = tuple(
        replace(einsum, name=f"{einsum.name}{MARK}{number}")
        for number in range(1, rounds + 1)
        for einsum in specification.einsums
    )
    return replace(specification, einsums=einsums)


def first_round(specification: Specification) -> Specification:
    """The Einsums of the first round, under the names that they have in the cascade."""
    if specification.iteration is None:
        return specification
    einsums = [(einsum, *einsum.name.rpartition(MARK)) for einsum in specification.einsums]
    first = tuple(replace(einsum, name=name) for einsum, name, _mark, number in einsums if number == "1")
    return replace(specification, einsums=first)


def first_stages(stages: Iterable[Stage]) -> list[Stage]:
    """The stages of the first round, under the names that their Einsums have in the cascade; else all."""
    kept = []
    for stage in stages:
        names = [einsum.name.rpartition(MARK) for einsum in stage.einsums]
        if all(name and number == "1" for name, _mark, number in names):
            einsums = zip(stage.einsums, names, strict=True)
            kept.append(
                replace(stage, einsums=tuple(replace(einsum, name=name[0]) for einsum, name in einsums))
            )
    return kept


def round_begins(specification: Specification) -> frozenset[str]:
    """The Einsums with which rounds begin, by name, without the first of all."""
    return frozenset(_begins(specification)) if specification.iteration is not None else frozenset()


def _begins(specification: Specification) -> Iterator[str]:
    for before, einsum in pairwise(specification.einsums):
        if before.name.rpartition(MARK)[2] != einsum.name.rpartition(MARK)[2]:
            yield einsum.name
