"""What is expected of a stream: how many tokens, and how they spread over the coordinates of its loops.

The points of a stream are taken as if its loops' variables, and different tensors, were independent of each
other, given how many points lie at each coordinate of each. Of one tensor, walked along as it is stored, the
counts are exact up to matrices; what they cannot know is whether the rows of two tensors look alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fiberscope.hw.streams.bits import words_of
from fiberscope.workloads.canonical import Values

if TYPE_CHECKING:
    from fiberscope.models.graphs.cost.estimate import Walk
    from fiberscope.models.graphs.netlist import Node

__all__ = [
    "ROOT",
    "Expected",
    "Spread",
    "by_bit",
    "distinct",
    "intersected",
    "ratio",
    "references_in_union",
    "scaled",
    "scanned",
    "united",
    "whole",
    "with_missing",
    "without_empty",
    "words",
]

Spread = Mapping[str, Values]
BUCKETS = 64  # of counts, when points are thrown into the cells of a matrix


@dataclass(frozen=True)
class Expected:
    """A stream.

    Args:
        count: its coordinates, references or values.
        spread: of each loop's variable how many of them lie at each coordinate.
        parent: the stream of the loops but the last, whose points its fibers belong to; of a root none.
        filled: how many of its fibers have points.
        filled_spread: where these fibers lie, as ``spread``.
        missing: its N, which stand beside ``count``.
        whole: where there are N, the points with these.
    """

    count: float
    spread: Spread
    parent: Expected | None = None
    filled: float = 0.0
    filled_spread: Spread = field(default_factory=dict)
    missing: float = 0.0
    whole: Expected | None = None

    @property
    def points(self) -> Expected:
        """All its points, those of N too."""
        return self.whole or self

    @property
    def stops(self) -> float:
        """One for each fiber, also for those of lists without any."""
        if self.parent is None:
            return 0.0
        above = self.parent.points
        return above.count + above.bare_stops

    @property
    def bare_stops(self) -> float:
        """Stops of fibers without points."""
        return 0.0 if self.parent is None else max(0.0, self.stops - self.points.filled)

    @property
    def tokens(self) -> float:
        """All tokens but done."""
        return self.count + self.missing + self.stops


ROOT = Expected(1.0, {})


def ratio(numbers: Values, others: Values) -> Values:
    """Quotients; 0 where there is nothing."""
    return np.divide(numbers, others, out=np.zeros_like(numbers, dtype=np.float64), where=others > 0)


def scaled(spread: Spread, count: float) -> Spread:
    """A spread of other counts, alike."""
    return {
        name: counts * (count / total if (total := counts.sum()) else 0.0) for name, counts in spread.items()
    }


def intersected(ways: Sequence[Expected], variable: str) -> Expected:
    """The coordinates that all streams have."""
    prefix = prefix_of(ways)
    among = prefix.count or 1.0
    product = among * np.prod([way.spread[variable] / among for way in ways], axis=0)
    count = float(product.sum())
    spread: dict[str, Values] = {}
    for name, whole in prefix.spread.items():
        common = whole * np.prod([ratio(way.spread[name], whole) for way in ways], axis=0)
        even = among * math.prod(way.count / among for way in ways)
        count *= float(common.sum()) / even if even else 0.0
        spread[name] = common
    count = min(count, *(way.count for way in ways))
    few = min(ways, key=lambda way: way.count)
    return thinned(few, count, scaled({**spread, variable: product}, count), prefix)


def united(ways: Sequence[Expected], variable: str) -> Expected:
    """The coordinates that any of the streams has."""
    prefix = prefix_of(ways)
    among = prefix.count or 1.0
    together = among * (
        1 - np.prod([1 - np.minimum(1, way.spread[variable] / among) for way in ways], axis=0)
    )
    count = max(float(together.sum()), *(way.count for way in ways))
    size = len(together) or 1
    where = {
        name: whole
        * (1 - np.prod([1 - np.minimum(1, ratio(w.spread[name], whole * size)) for w in ways], axis=0))
        for name, whole in prefix.spread.items()
    }
    fills = [way.filled / among for way in ways]
    every = all(way.filled >= way.parent.count * (1 - 1e-9) for way in ways if way.parent is not None)
    filled = prefix.count if every else prefix.count * (1 - float(np.prod([1 - min(1, f) for f in fills])))
    spread = scaled({**where, variable: together}, count)
    return Expected(count, spread, prefix, filled, scaled(prefix.spread, filled))


def prefix_of(ways: Sequence[Expected]) -> Expected:
    """The points whose fibers are joined."""
    parent = ways[0].parent
    assert parent is not None
    return parent.points


def thinned(before: Expected, count: float, spread: Spread, parent: Expected | None) -> Expected:
    """A stream of which so many points are left; which fibers have any follows from how full they were."""
    filled, where = before.filled, dict(before.filled_spread)
    for name, fibers in before.filled_spread.items():
        each = ratio(before.spread[name], fibers)
        left = np.minimum(1, ratio(spread[name], before.spread[name]))
        where[name] = fibers * (1 - (1 - left) ** each)
        filled = min(filled, float(where[name].sum()))
    if not where and before.filled:
        left_of_all = min(1.0, count / before.count) if before.count else 0.0
        filled = before.filled * (1 - (1 - left_of_all) ** (before.count / before.filled))
    filled = min(filled, count)
    return Expected(count, spread, parent, filled, scaled(where, filled))


def distinct(points: Expected, names: Sequence[str]) -> float:
    """How many different coordinates, or tuples of them, the points of a stream have.

    No fiber has a coordinate of its own loop twice: each hits one as often as there are fibers. Over other
    loops the points may lie anywhere.
    """
    last = list(points.spread)[-1]
    above = points.parent.points if points.parent and last in names else None
    throws = points if above is None else above
    inner = names[-1] if above is None else last
    if not throws.count:
        return 0.0
    hits, cells = np.ones(1), np.ones(1)
    for name in (name for name in names if name != inner):
        shares, sizes = bucketed(throws.spread[name] / throws.count)
        hits, cells = np.outer(hits, shares).ravel(), np.outer(cells, sizes).ravel()
    chances, sizes = bucketed(points.spread[inner] / throws.count)
    missed = (1 - np.minimum(1, chances))[None, :] ** (hits * throws.count)[:, None]
    return float((np.outer(cells, sizes) * (1 - missed)).sum())


def bucketed(counts: Values) -> tuple[Values, Values]:
    """Counts that are alike together: the mean of each bucket, and how many are in it."""
    some = np.sort(counts[counts > 0])
    edges = np.geomspace(some[0], some[-1] * (1 + 1e-9), BUCKETS) if len(some) else np.zeros(0)
    groups = np.searchsorted(edges, some, side="right")
    sizes = np.bincount(groups, minlength=1).astype(np.float64)
    return ratio(np.bincount(groups, weights=some, minlength=1).astype(np.float64), sizes), sizes


def with_missing(references: Expected, points: Expected) -> Expected:
    """References that go along with these points: as many of them are N as were before."""
    if not references.missing:
        return points
    count = points.count * references.count / (references.count + references.missing)
    return _beside(points, count, scaled(points.spread, count))


def references_in_union(references: Expected, points: Expected) -> Expected:
    """The references of one operand of a union: N where others alone have the coordinate."""
    return _beside(points, min(references.count, points.count), references.spread)


def _beside(points: Expected, count: float, spread: Spread) -> Expected:
    """So many references beside the coordinates of these points, and N for the others."""
    missing = points.count - count
    return Expected(count, spread, points.parent, points.filled, points.filled_spread, missing, points)


def without_empty(inner: Expected) -> Expected:
    """The points above a stream whose fibers have any."""
    above = inner.parent.points if inner.parent else ROOT
    if above.parent is None:
        return Expected(min(1.0, inner.filled), {})
    return thinned(above, inner.filled, inner.filled_spread, above.parent)


def whole(walk: Walk, node: Node, references: Expected) -> Expected:
    """All coordinates for each of these references."""
    size = walk.statistics[node["tensor"]].level(int(node["mode"])).size
    spread = {name: where * size for name, where in references.spread.items()}
    spread[node["index"]] = np.full(size, references.count)
    return Expected(references.count * size, spread, references, references.count, references.spread)


def scanned(walk: Walk, node: Node, references: Expected) -> Expected:
    """The fibers of these references, by how full they are at the coordinates of outer loops."""
    tensor, dimension = walk.statistics[node["tensor"]], int(node["mode"])
    level, above = tensor.level(dimension), tensor.above(dimension)
    mean = level.elements / above.elements if above and above.elements else level.elements
    fill, spread = 1.0, {}
    for name, where in references.spread.items():
        fuller = _fuller(walk, node, name, where)
        spread[name] = where * fuller
        fill *= float(spread[name].sum() / where.sum()) if where.sum() else 0.0
    count = references.count * mean * fill
    own = level.spread[dimension] / (level.elements or 1.0)
    spread = {**scaled(spread, count), node["index"]: own * count}
    whole = level.fibers / above.elements if above and above.elements else float(level.elements > 0)
    filled = references.count * whole
    reached = {name: where * (spread[name] > 0) for name, where in references.spread.items()}
    return Expected(count, spread, references, filled, scaled(reached, filled))


def _fuller(walk: Walk, node: Node, name: str, where: np.ndarray) -> np.ndarray:
    """How many times as full as the mean the fibers at each coordinate of a loop around them are."""
    tensor, dimension = walk.statistics[node["tensor"]], int(node["mode"])
    level, above = tensor.level(dimension), tensor.above(dimension)
    other = _dimension_of(walk, node, name)
    if above is None or other is None or other not in above.spread or not level.elements:
        return np.ones_like(where)
    mean = level.elements / above.elements
    return ratio(level.spread[other], above.spread[other]) / mean


def _dimension_of(walk: Walk, node: Node, variable: str) -> int | None:
    """The dimension that a tensor has this variable for, on the way to a scanner of it."""
    output = walk.graph.feeding(node, "ref")
    while output is not None:
        source = walk.graph.nodes[output.source]
        is_inner = source.primitive.positions == output.output and source["tensor"] == node["tensor"]
        if is_inner and source["index"] == variable:
            return int(source["mode"])
        inner = output.output if output.output.startswith("ref[") else "ref"
        inner = "base" if output.output == "located" else inner
        output = walk.graph.feeding(source, inner)
    return None


def words(fibers: Expected, size: int) -> Expected:
    """The words of so many bits for each of these fibers."""
    count = fibers.count * words_of(size)
    return Expected(count, scaled(fibers.spread, count), fibers, fibers.count, fibers.spread)


def by_bit(output: Expected, words: Expected, variable: str) -> float:
    """Cycles for all bits of words, of which those without any take one too, if bits are spread evenly."""
    size = len(output.spread[variable])
    wide = size / words_of(size)
    full = min(1.0, output.count / (words.count * wide)) if words.count * wide else 0.0
    return output.tokens + words.count * float((1 - full) ** wide)
