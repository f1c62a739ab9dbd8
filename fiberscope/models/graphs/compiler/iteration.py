"""Where a term can be other than 0 along a variable: its iteration expression, from its operators.

A product is at most where both factors are (intersect), an addition where any operand is (union). What lacks
the variable is everywhere the same: as a factor it says nothing, as a summand it is everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fiberscope.models.graphs.compiler.terms import Operand, Summed, Term

__all__ = ["Every", "Iteration", "Join", "Scan", "is_full", "iteration_of", "united", "with_missing"]


@dataclass(frozen=True)
class Scan:
    """The coordinates of an operand."""

    operand: Operand


@dataclass(frozen=True)
class Every:
    """All coordinates."""


@dataclass(frozen=True)
class Join:
    """The coordinates that all parts have, or any."""

    kind: Literal["intersect", "union"]
    parts: tuple[Iteration, ...]


Iteration: TypeAlias = Scan | Every | Join


def iteration_of(term: Term, variable: str) -> Iteration | None:
    """Where a term can be other than 0 along a variable; None if it lacks it."""
    if isinstance(term, Operand):
        return Scan(term) if term.has(variable) else None
    if isinstance(term, Summed):
        return iteration_of(term.term, variable)
    parts = [iteration_of(one, variable) for one in term.terms]
    if not term.adds:
        present = [part for part in parts if part is not None]
        return _joined("intersect", present) if present else None
    return united([*parts, None] if term.constant is not None else parts)


def united(parts: Sequence[Iteration | None]) -> Iteration | None:
    """The union of parts, of which one that lacks the variable is everywhere; None if all lack it."""
    present = [part for part in parts if part is not None]
    if not present:
        return None
    return _joined("union", present if len(present) == len(parts) else [*present, Every()])


def _joined(kind: Literal["intersect", "union"], parts: Sequence[Iteration]) -> Iteration:
    """One joiner for all parts that are joined alike."""
    flat: list[Iteration] = []
    for part in parts:
        flat += part.parts if isinstance(part, Join) and part.kind == kind else [part]
    once = [
        part for place, part in enumerate(flat) if not isinstance(part, Every) or part not in flat[:place]
    ]
    return once[0] if len(once) == 1 else Join(kind, tuple(once))


def is_full(iteration: Iteration, variable: str) -> bool:
    """Whether it is sure to have all coordinates."""
    if isinstance(iteration, Scan):
        return iteration.operand.certain and iteration.operand.is_dense(variable)
    if isinstance(iteration, Every):
        return True
    return (any if iteration.kind == "union" else all)(is_full(part, variable) for part in iteration.parts)


def with_missing(iteration: Iteration, variable: str) -> Iterator[Operand]:
    """The operands that a union may lack: they get N as a reference."""
    if not isinstance(iteration, Join):
        return
    for part in iteration.parts:
        if iteration.kind == "union" and not is_full(part, variable):
            yield from _operands(part)
        else:
            yield from with_missing(part, variable)


def _operands(iteration: Iteration) -> Iterator[Operand]:
    if isinstance(iteration, Scan):
        yield iteration.operand
    elif isinstance(iteration, Join):
        for part in iteration.parts:
            yield from _operands(part)
