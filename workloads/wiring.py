"""Graphs with given degrees: stubs are lined up, joined, and repeats are swapped away.

Every row has as many stubs as nonzeros wanted, every column too. Each node has a place on a line, each stub
lies near its node's place (`locality` is the deviation, the line being 1 long), and stubs are joined in the
order they lie. A small locality makes neighbourhoods, as communities do, and so more collisions in A times A;
a large one makes the configuration model. Joins that repeat one another, or join a node with itself where
that is not wanted, swap an end with a join nearby until none is left: the degrees stay exact.
"""

from __future__ import annotations

import numpy as np

from workloads.canonical import Integers, Values

__all__ = ["directed", "undirected"]

_MOST_ROUNDS = 5_000
_NEAREST = 64  # the least distance, in joins, over which ends are swapped
_WIDEN_EVERY = 20  # rounds after which that distance grows by its first value


def directed(
    rows: Integers, cols: Integers, locality: float, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Distinct (row, column) joins with exactly these counts a row and a column (equal sums).

    `rows` and `cols` have one count a node, the same nodes in both where the matrix is square.
    """
    places = rng.random(max(len(rows), len(cols)))
    row = _stubs(rows, places, locality, rng)
    col = _stubs(cols, places, locality, rng)
    return _repaired(row, col, len(cols), locality, rng, loops=True)


def undirected(degrees: Integers, locality: float, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Both directions of distinct joins between different nodes, with exactly these degrees (an even sum)."""
    stubs = _stubs(degrees, rng.random(len(degrees)), locality, rng)
    one, other = _repaired(stubs[0::2].copy(), stubs[1::2].copy(), len(degrees), locality, rng, loops=False)
    return np.concatenate([one, other]), np.concatenate([other, one])


def _stubs(counts: Integers, places: Values, locality: float, rng: np.random.Generator) -> Integers:
    nodes = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    where = places[nodes] + locality * rng.standard_normal(len(nodes))
    return nodes[np.argsort(where, kind="stable")]


def _repaired(
    one: Integers, other: Integers, width: int, locality: float, rng: np.random.Generator, loops: bool
) -> tuple[Integers, Integers]:
    count = len(one)
    reach = int(min(count, max(_NEAREST, count * locality)))
    for attempt in range(_MOST_ROUNDS):
        bad = _repeats(one, other, width, loops)
        if not len(bad):
            return one, other
        far = reach * (1 + attempt // _WIDEN_EVERY)
        partners = (bad + rng.integers(-far, far + 1, len(bad))) % count
        for left, right in zip(bad.tolist(), partners.tolist(), strict=True):
            other[left], other[right] = other[right], other[left]
    raise RuntimeError(f"{len(bad)} repeats are left after {_MOST_ROUNDS} rounds: no such graph was found")


def _repeats(one: Integers, other: Integers, width: int, loops: bool) -> Integers:
    """The joins that repeat an earlier one; without `loops`, direction does not count and loops are bad."""
    keys = one * width + other if loops else np.minimum(one, other) * width + np.maximum(one, other)
    order = np.argsort(keys, kind="stable")
    bad = np.zeros(len(keys), dtype=np.bool_)
    bad[order[1:]] = keys[order[1:]] == keys[order[:-1]]
    if not loops:
        bad |= one == other
    return np.flatnonzero(bad)
