"""Joins of nodes, made distinct by swaps that keep every degree and the joins between every two classes.

A join that repeats another, or joins a node with itself, swaps an end with another join that has an end of
the same class, near it if possible, so that both stand. Where classes are so dense that none is found, it
takes the place of another, which is then to be settled; and where that does not end, it goes to any free
place between its two classes, and some degrees are off by one.
"""

from __future__ import annotations

import random

import numpy as np

from fiberscope.workloads.canonical import Integers

__all__ = ["Joins"]

# How far away the partner of a swap may be: first near, then ever further, twice at each distance.
_REACHES = tuple(8 << doublings for doublings in range(12) for _ in range(2))
_ROUNDS = 20  # in which joins take others' places, before one goes to a free place


class _Neighbours:
    """The joins by the class of one of their ends, in the order in which they lie."""

    def __init__(self, kinds: Integers) -> None:
        self._order = np.argsort(kinds, kind="stable")
        self._place = np.empty_like(self._order)
        self._place[self._order] = np.arange(len(kinds))
        self._starts = np.searchsorted(kinds[self._order], np.arange(int(kinds.max(initial=0)) + 2))
        self._kinds = kinds

    def near(self, join: int, reach: int, chance: random.Random) -> int:
        """A join with an end of the same class, at most ``reach`` away among these."""
        place, kind = int(self._place[join]), self._kinds[join]
        first = max(place - reach, int(self._starts[kind]))
        last = min(place + reach + 1, int(self._starts[kind + 1]))
        return int(self._order[chance.randrange(first, last)])


class Joins:
    """Joins of nodes; ``repaired`` makes them distinct.

    Args:
        kinds: each node's class, sorted.
        ends: the nodes at either end, in the order in which they are joined.
        rng: chooses what to swap.
        both_ways: whether a join of x with y is also one of y with x.
    """

    def __init__(
        self, kinds: Integers, ends: tuple[Integers, Integers], rng: np.random.Generator, *, both_ways: bool
    ) -> None:
        self._kinds = kinds
        self._ends = ends
        self._both_ways = both_ways
        self._chance = random.Random(int(rng.integers(2**63)))
        self._neighbours = (_Neighbours(kinds[ends[0]]), _Neighbours(kinds[ends[1]]))
        keys = self._keys()
        stands = np.zeros(len(keys), dtype=np.bool_)
        stands[np.unique(keys, return_index=True)[1]] = True
        stands &= ends[0] != ends[1]
        self._taken = set(keys[stands].tolist())  # the places of the joins that stand
        self._pending = dict.fromkeys(np.flatnonzero(~stands).tolist())  # the other joins, in order

    def _keys(self) -> Integers:
        first, other = self._ends
        if self._both_ways:
            first, other = np.minimum(first, other), np.maximum(first, other)
        keys: Integers = first * len(self._kinds) + other
        return keys

    def _key(self, first: int, other: int) -> int:
        if self._both_ways and first > other:
            first, other = other, first
        return first * len(self._kinds) + other

    def repaired(self) -> tuple[Integers, Integers]:
        """The joins, all distinct and none of a node with itself."""
        for _ in range(_ROUNDS):
            for join in list(self._pending):
                if join in self._pending and not self._settle(join):
                    self._swap(join, len(self._kinds), displace=True)
        for join in list(self._pending):
            self._move(join)
        return self._ends

    def _settle(self, join: int) -> bool:
        return any(self._swap(join, reach, displace=False) for reach in _REACHES)

    def _swap(self, join: int, reach: int, *, displace: bool) -> bool:
        """Swap an end with a join at most ``reach`` away; whether this one stands now, and that one too.

        With ``displace``, the other may be left pending.
        """
        side = self._chance.randrange(2)
        partner = self._neighbours[side].near(join, reach, self._chance)
        mine, theirs = ([int(ends[which]) for ends in self._ends] for which in (join, partner))
        theirs_now = self._key(*theirs)
        mine[side], theirs[side] = theirs[side], mine[side]
        if partner == join or not self._is_free(*mine):
            return False
        stands = self._is_free(*theirs) and self._key(*mine) != self._key(*theirs)
        if not (stands or displace):
            return False
        if partner not in self._pending:
            self._taken.remove(theirs_now)
        self._ends[side][join], self._ends[side][partner] = mine[side], theirs[side]
        self._stand(join, mine)
        self._pending.pop(partner, None)
        if stands:
            self._stand(partner, theirs)
        else:
            self._pending[partner] = None
        return True

    def _is_free(self, first: int, other: int) -> bool:
        return first != other and self._key(first, other) not in self._taken

    def _stand(self, join: int, ends: list[int]) -> None:
        self._taken.add(self._key(*ends))
        self._pending.pop(join, None)

    def _move(self, join: int) -> None:
        """Move an edge to a free place between the same classes; other profiles are refused."""
        ranges = [self._range_of(int(ends[join])) for ends in self._ends]
        ends = [0, 0]
        while not self._is_free(*ends):
            ends = [self._chance.randrange(*nodes) for nodes in ranges]
        for side in (0, 1):
            self._ends[side][join] = ends[side]
        self._stand(join, ends)

    def _range_of(self, node: int) -> tuple[int, int]:
        """First node of a node's class, and the one after its last."""
        kind = self._kinds[node]
        first, last = np.searchsorted(self._kinds, [kind, kind + 1]).tolist()
        return first, last
