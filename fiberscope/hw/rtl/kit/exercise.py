"""What a module in a component's place has done in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Exercise"]


@dataclass(frozen=True)
class Exercise:
    """What happened at the streams of a module, by their labels.

    Args:
        tokens: those that moved.
        stalls: how many times it began to wait there, as its accounting has it: for a token at an input, for
            space at an output.
        parted: the cycle in which it first moved other tokens than the component beside it, with these; None
            where it did not, or none runs beside it.
    """

    tokens: Mapping[str, int]
    stalls: Mapping[str, int]
    parted: str | None = None
