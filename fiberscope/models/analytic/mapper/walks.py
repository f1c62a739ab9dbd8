"""The ways through a mapspace that need no results: all of it, in order, or at random.

Each gives chunks of mappings in an order that depends on nothing but its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, islice, product
from typing import Final

import numpy as np

from fiberscope.models.analytic.loops import Mappings
from fiberscope.models.analytic.mapper.space import Space, Whole

__all__ = ["CHUNK", "ORDERS", "WALKS"]

CHUNK = 512  # mappings that are evaluated together
FIRST = 32  # of each choice of what is kept, before others are drawn
ORDERS = 16  # of the loops of one cut that a pruned walk looks at, as Timeloop does

Walk = Callable[[Space, int], Iterator[Mappings]]


def exhaustive(space: Space, _seed: int) -> Iterator[Mappings]:
    """Every mapping once."""
    return _in_order(space, None)


def linear_pruned(space: Space, _seed: int) -> Iterator[Mappings]:
    """Every cut of the dimensions, with the first orders of its loops."""
    return _in_order(space, ORDERS)


def random_pruned(space: Space, seed: int) -> Iterator[Mappings]:
    """Mappings drawn with equal chance, without end; a chunk keeps the same tensors at the same levels.

    A few of each choice of what is kept come first, so that a short walk meets them all.
    """
    for number in count():
        random = np.random.default_rng((seed, number))
        first = number < len(space.keeps)
        places, orders, keeps = space.draw(random, FIRST if first else CHUNK)
        yield space.mappings(places, orders, number if first else int(keeps[0]))


def _in_order(space: Space, most: int | None) -> Iterator[Mappings]:
    for keep in range(len(space.keeps)):
        mappings = _cuts_and_orders(space, most)
        while chunk := list(islice(mappings, CHUNK)):
            places, orders = (np.stack(part) for part in zip(*chunk, strict=True))
            yield space.mappings(places, orders, keep)


def _cuts_and_orders(space: Space, most: int | None) -> Iterator[tuple[Whole, Whole]]:
    for place in product(*(range(len(cuts)) for cuts in space.cuts)):
        cut = np.stack([cuts[at] for cuts, at in zip(space.cuts, place, strict=True)], axis=1)
        for order in space.orders(cut[: space.levels], most):
            yield np.array(place, np.int64), order


WALKS: Final[dict[str, Walk]] = {
    "exhaustive": exhaustive,
    "linear_pruned": linear_pruned,
    "random_pruned": random_pruned,
}
