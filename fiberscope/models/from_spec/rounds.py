"""Unroll a cascade that repeats: one copy of each Einsum for each round of the trace.

A round is one pass through all Einsums of the cascade. The trace model (``fiberscope.models.trace``) runs
first and determines the number of rounds, so the machine is built for exactly these rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from fiberscope.models.from_spec.stages import Stage
from fiberscope.models.trace.specification import Specification

MARK = "@"  # separates the name of an Einsum from the number of its round


def unrolled(specification: Specification, rounds: int) -> Specification:
    """Return a specification with the Einsums of all rounds: ``X@1`` is X in the first round.

    Args:
        specification: a specification; without an iteration it is returned unchanged.
        rounds: number of rounds that the trace ran.
    """
    if specification.iteration is None:
        return specification
    einsums = tuple(
        replace(einsum, name=f"{einsum.name}{MARK}{number}")
        for number in range(1, rounds + 1)
        for einsum in specification.einsums
    )
    return replace(specification, einsums=einsums)


def select_first_round(specification: Specification) -> Specification:
    """Return a specification with the Einsums of the first round, under their names in the cascade."""
    if specification.iteration is None:
        return specification
    einsums = [(einsum, *einsum.name.rpartition(MARK)) for einsum in specification.einsums]
    first = tuple(replace(einsum, name=name) for einsum, name, _mark, number in einsums if number == "1")
    return replace(specification, einsums=first)


def select_first_stages(stages: Iterable[Stage]) -> list[Stage]:
    """Return the stages of the first round, with the names that their Einsums have in the cascade.

    The result is empty if the cascade does not repeat: names without a round are no first round.
    """
    first_round = []
    for stage in stages:
        names = [einsum.name.rpartition(MARK) for einsum in stage.einsums]
        if all(name and number == "1" for name, _mark, number in names):
            einsums = zip(stage.einsums, names, strict=True)
            first_round.append(
                replace(stage, einsums=tuple(replace(einsum, name=name[0]) for einsum, name in einsums))
            )
    return first_round


def round_begins(specification: Specification) -> frozenset[str]:
    """Return the name of the first Einsum of each round but the first round."""
    return (
        frozenset(_find_initial_tensors(specification))
        if specification.iteration is not None
        else frozenset()
    )


def _find_initial_tensors(specification: Specification) -> Iterator[str]:
    for previous, einsum in pairwise(specification.einsums):
        if previous.name.rpartition(MARK)[2] != einsum.name.rpartition(MARK)[2]:
            yield einsum.name
