"""The loops that a stream is nested in, by their index variables, outermost first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

__all__ = ["Nest", "Nests", "describe_loops"]

Nest: TypeAlias = tuple[str, ...]
Nests: TypeAlias = Mapping[tuple[str, str], Nest]  # by node and output


def describe_loops(nest: Nest) -> str:
    """Return the loops of a stream in words, for messages."""
    return "loops " + ",".join(nest) if nest else "no loop"
