"""The functions that every specification knows, by which operators can be redefined."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["BUILT_IN", "BuiltIn"]


@dataclass(frozen=True)
class BuiltIn:
    """A function of numbers.

    Args:
        arguments: how many it takes.
        neutral: the value that changes nothing when it reduces; None where it has none, and cannot reduce.
        meaning: in a few words.
    """

    arguments: int
    neutral: float | None
    meaning: str


BUILT_IN: Mapping[str, BuiltIn] = {
    "mul": BuiltIn(2, 1.0, "x * y"),
    "add": BuiltIn(2, 0.0, "x + y"),
    "sub": BuiltIn(2, None, "x - y"),
    "div": BuiltIn(2, None, "x / y"),
    "min": BuiltIn(2, math.inf, "the smaller"),
    "max": BuiltIn(2, -math.inf, "the larger"),
    "or": BuiltIn(2, 0.0, "1 where either is not 0, else 0"),
    "and": BuiltIn(2, 1.0, "1 where both are not 0, else 0"),
    "first": BuiltIn(2, None, "x"),
    "second": BuiltIn(2, None, "y"),
    "differs": BuiltIn(2, None, "1 where x and y differ, else 0"),
    "less": BuiltIn(2, None, "1 where x < y, else 0"),
    "abs": BuiltIn(1, None, "x without its sign"),
    "neg": BuiltIn(1, None, "-x"),
    "sqrt": BuiltIn(1, None, "the square root of x"),
}
