"""Random matrices with given degrees and given numbers of nonzeros between classes of nodes.

A nonzero is an edge between two nodes, and a *stub* is one end of an edge, before the ends are joined. The
nodes of a class lie on a line of length 1 in random order; a node's share of the line is proportional to its
nonzeros. Every node has one stub for each nonzero, near the node (``locality`` is the standard deviation). A
class divides its stubs among its partner classes evenly along the line, and two classes join their stubs in
order. A small locality creates neighbourhoods, as communities do. In A times A, more products then have the
same position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fiberscope.workloads.canonical import Integers, Values
from fiberscope.workloads.edge_swaps import EdgeRepair


@dataclass(frozen=True)
class Nodes:
    """Nodes sorted by class.

    Args:
        kinds: class of each node, in increasing order.
        class_nonzeros: at ``[a, b]``, the nonzeros in rows of class a and columns of class b.
        locality: standard deviation of the distance of a stub from its node, on a line of length 1.
    """

    kinds: Integers
    class_nonzeros: Integers
    locality: float


def draw_directed_edges(
    nodes: Nodes, rows: Integers, columns: Integers, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Draw distinct edges without loops, from a row to a column.

    Degrees and nonzeros between classes are kept, but see ``edge_swaps``: if swaps do not suffice in a dense
    class, some degrees are off by one.

    Args:
        nodes: the classes of the nodes.
        rows: for each node, the number of nonzeros in its row; by class, they sum to ``class_nonzeros``.
        columns: for each node, the number of nonzeros in its column, likewise.
        rng: source of random numbers.

    Returns:
        The row and the column of each edge.
    """
    positions = _draw_positions(nodes.kinds, rows + columns, rng)
    row, columns_class = _assign_stubs(nodes, rows, nodes.class_nonzeros, positions, rng)
    column, rows_class = _assign_stubs(nodes, columns, nodes.class_nonzeros.T, positions, rng)
    # Both lists are sorted by class of the row, then of the column, so that stubs at the same position
    # have the same pair of classes. The sort is stable: within a pair, stubs are joined in order of position.
    row = row[np.lexsort((columns_class, nodes.kinds[row]))]
    column = column[np.lexsort((nodes.kinds[column], rows_class))]
    return EdgeRepair(nodes.kinds, (row, column), rng, is_undirected=False).repair()


def draw_undirected_edges(
    nodes: Nodes, degrees: Integers, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Draw distinct edges without loops that have no direction.

    Degrees are kept as in ``draw_directed_edges``. Within a class, the number of nonzeros must be even.

    Args:
        nodes: the classes of the nodes.
        degrees: for each node, the number of its edges; by class, they sum to the rows of
            ``class_nonzeros``, which must be symmetric.
        rng: source of random numbers.

    Returns:
        The row and the column of each edge; an edge is there in both directions.
    """
    stubs, partners = _assign_stubs(
        nodes, degrees, nodes.class_nonzeros, _draw_positions(nodes.kinds, degrees, rng), rng
    )
    kinds = nodes.kinds[stubs]
    pair = np.minimum(kinds, partners) * len(nodes.class_nonzeros) + np.maximum(kinds, partners)
    order = np.argsort(pair, kind="stable")
    stubs, kinds, partners, pair = stubs[order], kinds[order], partners[order], pair[order]
    # The first end of an edge is in the lower class; within a class, every other stub is a first end. Both
    # ends stay in order of pair and position, so that the k-th first and the k-th second end are one edge.
    rank = np.arange(len(stubs)) - np.searchsorted(pair, pair)
    is_first_end = np.where(kinds == partners, rank % 2 == 0, kinds < partners)
    first, second = EdgeRepair(
        nodes.kinds, (stubs[is_first_end], stubs[~is_first_end]), rng, is_undirected=True
    ).repair()
    return np.concatenate([first, second]), np.concatenate([second, first])


def _draw_positions(kinds: Integers, degrees: Integers, rng: np.random.Generator) -> Values:
    """Return the position of each node on the line of its class."""
    # Nodes of a class follow one another in random order. Each covers as much of the line as its degree.
    order = np.lexsort((rng.random(len(kinds)), kinds))
    ends = np.cumsum(degrees[order])
    totals = np.bincount(kinds, weights=degrees)
    class_starts = np.cumsum(totals) - totals
    positions = np.empty(len(kinds))
    middles = ends - degrees[order] / 2 - class_starts[kinds[order]]
    # the maximum avoids 0 / 0 in a class without nonzeros
    positions[order] = middles / np.maximum(totals, 1)[kinds[order]]
    return positions


def _assign_stubs(
    nodes: Nodes, degrees: Integers, class_nonzeros: Integers, positions: Values, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Return the node of every stub, by class and position, and the partner class of the stub."""
    stubs = np.repeat(np.arange(len(degrees), dtype=np.int64), degrees)
    # a position beyond the ends of the line is harmless, because only the order counts
    stub_positions = positions[stubs] + nodes.locality * rng.standard_normal(len(stubs))
    stubs = stubs[np.lexsort((stub_positions, nodes.kinds[stubs]))]
    # The partners of all stubs of class 0, then of class 1: as ``stubs``, with as many of each class.
    counts = class_nonzeros.ravel()
    partners = np.repeat(np.tile(np.arange(len(class_nonzeros), dtype=np.int64), len(class_nonzeros)), counts)
    rank = np.arange(len(partners)) - np.repeat(np.cumsum(counts) - counts, counts)
    # The k-th of n stubs with one partner class is at (k + random) / n, which mixes partner classes evenly.
    partner_order = (rank + rng.random(len(partners))) / np.repeat(counts, counts)
    return stubs, partners[np.lexsort((partner_order, nodes.kinds[stubs]))]
