"""Loop nest of a stream: the index variables of its loops, outermost first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Nest: TypeAlias = tuple[str, ...]
Nests: TypeAlias = Mapping[tuple[str, str], Nest]  # by node and output


def describe_loops(nest: Nest) -> str:
    """Describe the loops of a stream, for messages."""
    return "loops " + ",".join(nest) if nest else "no loop"
