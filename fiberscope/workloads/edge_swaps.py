"""Edges of nodes, made distinct by swaps that keep all degrees and the edges between any two classes.

A duplicate edge or a loop swaps an endpoint with another edge that has an endpoint of the same class, near it
if possible, so that both edges are valid. If no partner exists in a dense class, the edge displaces another
edge, which must then be repaired. If repairs do not end, the edge moves to a free position between its two
classes; some degrees are then off by one.
"""

from __future__ import annotations

import random

import numpy as np

from fiberscope.workloads.canonical import Integers

# Maximum distances of the partner of a swap, in order: increasing, each tried twice.
_MAX_DISTANCES = tuple(8 << doublings for doublings in range(12) for _ in range(2))
_ROUNDS = 20  # of displacement, before an edge moves to a free position


class _Neighbours:
    """The edges in order of the class of one endpoint. Swaps and moves keep the class, and so the order."""

    def __init__(self, kinds: Integers) -> None:
        self._order = np.argsort(kinds, kind="stable")
        self._positions = np.empty_like(self._order)
        self._positions[self._order] = np.arange(len(kinds))
        self._starts = np.searchsorted(kinds[self._order], np.arange(int(kinds.max(initial=0)) + 2))
        self._kinds = kinds

    def draw_neighbour(self, edge: int, distance: int, random_source: random.Random) -> int:
        """Return a random edge with an endpoint of the same class, at most ``distance`` positions away.

        The result may be ``edge`` itself.
        """
        position, kind = int(self._positions[edge]), self._kinds[edge]
        start = max(position - distance, int(self._starts[kind]))
        end = min(position + distance + 1, int(self._starts[kind + 1]))
        return int(self._order[random_source.randrange(start, end)])


class EdgeRepair:
    """Edges of nodes; ``repair`` makes them distinct.

    Args:
        kinds: class of each node, sorted.
        ends: the nodes at both ends of each edge; ``repair`` changes these arrays in place.
        rng: chooses swaps.
        is_undirected: whether an edge from x to y is the same as an edge from y to x.
    """

    def __init__(
        self,
        kinds: Integers,
        ends: tuple[Integers, Integers],
        rng: np.random.Generator,
        *,
        is_undirected: bool,
    ) -> None:
        self._kinds = kinds
        self._ends = ends
        self._is_undirected = is_undirected
        self._random = random.Random(int(rng.integers(2**63)))
        self._neighbours = (_Neighbours(kinds[ends[0]]), _Neighbours(kinds[ends[1]]))
        keys = self._compute_keys()
        is_valid = np.zeros(len(keys), dtype=np.bool_)
        # The first of equal edges is valid; the others are repaired
        is_valid[np.unique(keys, return_index=True)[1]] = True
        is_valid &= ends[0] != ends[1]
        self._occupied = set(keys[is_valid].tolist())  # keys of the valid edges
        self._pending = dict.fromkeys(np.flatnonzero(~is_valid).tolist())  # the other edges, in order

    def _compute_keys(self) -> Integers:
        first, second = self._ends
        if self._is_undirected:
            first, second = np.minimum(first, second), np.maximum(first, second)
        keys: Integers = first * len(self._kinds) + second
        return keys

    def _compute_key(self, first: int, second: int) -> int:
        if self._is_undirected and first > second:
            first, second = second, first
        return first * len(self._kinds) + second

    def repair(self) -> tuple[Integers, Integers]:
        """Make all edges distinct, and none a loop, by swaps of endpoints; return both ends.

        After ``_ROUNDS`` rounds of swaps, the edges that remain move to free positions.
        The classes of the endpoints must have a free position for each of these edges; else it never ends.
        """
        for _ in range(_ROUNDS):
            for edge in list(self._pending):
                if edge in self._pending and not self._swap_nearby(edge):
                    self._swap(edge, len(self._kinds), displace=True)
        for edge in list(self._pending):
            self._move(edge)
        return self._ends

    def _swap_nearby(self, edge: int) -> bool:
        return any(self._swap(edge, distance, displace=False) for distance in _MAX_DISTANCES)

    def _swap(self, edge: int, distance: int, *, displace: bool) -> bool:
        """Swap an endpoint with an edge at most ``distance`` away; return whether the swap was made.

        ``edge`` is then valid. The other edge is valid too, except with ``displace``: then it may be pending.
        """
        side = self._random.randrange(2)
        partner = self._neighbours[side].draw_neighbour(edge, distance, self._random)
        new_ends, partner_ends = ([int(ends[edge]) for ends in self._ends] for edge in (edge, partner))
        partner_key = self._compute_key(*partner_ends)
        new_ends[side], partner_ends[side] = partner_ends[side], new_ends[side]
        if partner == edge or not self._is_free(*new_ends):
            return False
        is_valid = self._is_free(*partner_ends) and self._compute_key(*new_ends) != self._compute_key(
            *partner_ends
        )
        if not (is_valid or displace):
            return False
        if partner not in self._pending:
            self._occupied.remove(partner_key)
        self._ends[side][edge], self._ends[side][partner] = new_ends[side], partner_ends[side]
        self._accept(edge, new_ends)
        self._pending.pop(partner, None)
        if is_valid:
            self._accept(partner, partner_ends)
        else:
            self._pending[partner] = None
        return True

    def _is_free(self, first: int, second: int) -> bool:
        return first != second and self._compute_key(first, second) not in self._occupied

    def _accept(self, edge: int, ends: list[int]) -> None:
        self._occupied.add(self._compute_key(*ends))
        self._pending.pop(edge, None)

    def _move(self, edge: int) -> None:
        """Move an edge to a free position between the same classes."""
        ranges = [self._find_class_range(int(ends[edge])) for ends in self._ends]
        ends = [0, 0]  # a loop, hence not free
        while not self._is_free(*ends):
            ends = [self._random.randrange(*nodes) for nodes in ranges]
        for side in (0, 1):
            self._ends[side][edge] = ends[side]
        self._accept(edge, ends)

    def _find_class_range(self, node: int) -> tuple[int, int]:
        """Return the first node of a node's class, and the first node after the class."""
        kind = self._kinds[node]
        first, end = np.searchsorted(self._kinds, [kind, kind + 1]).tolist()
        return first, end
