"""Swiftiles: the side of squares that overflow seldom, guessed from a sample of tiles.

Source: Tailors (Xue et al., MICRO 2023), Section 5: tiles of the size that would fit were the nonzeros spread
evenly are sampled, and their size is scaled once so that the wanted quantile of occupancy fills the buffer.
The share that is sampled is our choice.
"""

from __future__ import annotations

import math

import numpy as np

from fiberscope.models.tiles.baselines.squares import OVERFLOWING, Square, Squares

__all__ = ["swiftiles"]

SHARE = 0.1  # of the tiles that are sampled
LEAST = 32  # of these, however few tiles there are


def swiftiles(squares: Squares, least: int, *, overflowing: float = OVERFLOWING, seed: int = 0) -> Square:
    """Squares by one scaling; whether they keep the share that may overflow is not looked at.

    Args:
        squares: those of the kernel.
        least: side, at the least.
        overflowing: share of tiles that may exceed the buffer.
        seed: of the sample.
    """
    most = max(least, *squares.extents.values())
    side = min(most, max(least, _spread_evenly(squares)))
    held = np.concatenate(squares.held(side))
    many = min(len(held), max(LEAST, math.ceil(SHARE * len(held))))
    sample = np.random.default_rng(seed).choice(held, many, replace=False)
    quantile = float(np.quantile(sample, 1 - overflowing)) if many else 1.0
    ranks = max(len(squares.kernel.indices[name]) for name in squares.kernel.inputs)
    scaled = min(most, max(least, math.floor(side * (squares.capacity / quantile) ** (1 / ranks))))
    return squares.of(squares.held(scaled), scaled)


def _spread_evenly(squares: Squares) -> int:
    """The side whose tiles would just fit, were a tensor's nonzeros spread evenly, two words each."""
    sides: list[float] = [
        (squares.capacity / 2 * math.prod(tensor.shape) / max(1, tensor.nonzeros)) ** (1 / tensor.order)
        for tensor in squares.tensors.values()
    ]
    return math.floor(min(sides))
