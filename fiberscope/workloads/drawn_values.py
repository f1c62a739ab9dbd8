"""Random values of generated matrices and tensors: uniform, small integers, bfloat16, or all 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

import numpy as np

from fiberscope.workloads.canonical import Values

ValueKind: TypeAlias = Literal["uniform", "integer", "bf16", "ones"]
LARGEST_INTEGER: Final = 4


def draw_uniform(rng: np.random.Generator, count: int) -> Values:
    """Return ``count`` values, uniform in (0.5, 1.5)."""
    return 0.5 + np.maximum(rng.random(count), np.finfo(float).eps)


def _draw_integers(rng: np.random.Generator, count: int) -> Values:
    """Return integers of 1 to ``LARGEST_INTEGER`` and either sign, whose sums are exact in any order."""
    size = rng.integers(1, LARGEST_INTEGER, count, endpoint=True)
    return np.where(rng.random(count) < 0.5, -size, size).astype(float)


def _draw_bf16(rng: np.random.Generator, count: int) -> Values:
    """Return values between 0.5 and 1.5, truncated to the upper 16 bits of an FP32."""
    singles = (0.5 + rng.random(count)).astype(np.float32)
    return (singles.view(np.uint32) & 0xFFFF0000).view(np.float32).astype(float)


def _draw_ones(_rng: np.random.Generator, count: int) -> Values:
    return np.ones(count)


DRAWS: Mapping[ValueKind, Callable[[np.random.Generator, int], Values]] = {
    "uniform": draw_uniform,
    "integer": _draw_integers,
    "bf16": _draw_bf16,
    "ones": _draw_ones,
}
