"""Seeded matrices of many structures, each times its transpose: what predictions are judged on."""

from collections.abc import Iterator

import numpy as np

from fiberscope.workloads.tensor import SparseTensor

SIDES = (2048, 4096)


def cases(sides: tuple[int, ...] = SIDES) -> Iterator[tuple[str, SparseTensor]]:
    """Each matrix with a name that says what it is."""
    for side in sides:
        for half in (1, 3, 16, 64):
            yield f"band {half}, {side}", banded(side, half)
        for block in (6, 32, 128):
            yield f"blocks {block}, {side}", blocks(side, block)
        for points in (5, 9):
            yield f"grid of {points} points, {side}", grid(side, points)
        for exponent in (0.4, 0.7, 1.0):
            yield f"power {exponent}, {side}", power_law(side, exponent)
        for density in (0.0005, 0.005, 0.02):
            yield f"uniform {density}, {side}", uniform(side, density)
        yield f"arrow, {side}", arrow(side)


def banded(side: int, half: int) -> SparseTensor:
    """All within a distance of the diagonal."""
    offsets = np.arange(-half, half + 1)
    return _of(side, np.repeat(np.arange(side), len(offsets)), np.add.outer(np.arange(side), offsets).ravel())


def blocks(side: int, block: int) -> SparseTensor:
    """Full blocks along the diagonal."""
    rows = np.repeat(np.arange(side), block)
    return _of(side, rows, rows // block * block + np.tile(np.arange(block), side))


def grid(side: int, points: int) -> SparseTensor:
    """The neighbours of each point of a grid of two dimensions."""
    width = int(np.sqrt(side))
    reach = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if points == 9 or not (x and y)]
    across, down = np.arange(side) % width, np.arange(side) // width
    inside = [(across + x >= 0) & (across + x < width) for _y, x in reach]
    rows = [np.flatnonzero(kept) for kept in inside]
    columns = [(down[row] + y) * width + across[row] + x for row, (y, x) in zip(rows, reach, strict=True)]
    return _of(side, np.concatenate(rows), np.concatenate(columns))


def power_law(side: int, exponent: float) -> SparseTensor:
    """Both ends of edges drawn by rank to a power, hubs first."""
    generator = np.random.default_rng(1)
    chance = np.arange(1, side + 1) ** -exponent
    ends = generator.choice(side, (2, 8 * side), p=chance / chance.sum())
    return _of(side, ends[0], ends[1])


def uniform(side: int, density: float, seed: int = 2) -> SparseTensor:
    """Every place alike."""
    found = np.random.default_rng(seed).integers(0, side * side, round(density * side * side))
    return _of(side, found // side, found % side)


def arrow(side: int) -> SparseTensor:
    """The first row, the first column and the diagonal."""
    every, none = np.arange(side), np.zeros(side, np.int64)
    return _of(side, np.concatenate([every, none, every]), np.concatenate([none, every, every]))


def _of(side: int, rows: np.ndarray, columns: np.ndarray) -> SparseTensor:
    """With ones at those places that are inside, each once."""
    inside = (columns >= 0) & (columns < side)
    places = np.unique(rows[inside] * side + columns[inside])
    return SparseTensor((side, side), (places // side, places % side), np.ones(len(places)))
