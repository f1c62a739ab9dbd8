"""Expected streams: the number of tokens, and their distribution over the coordinates of the loops.

The points of a stream are taken as if its loops' variables, and different tensors, were independent of each
other, given how many points lie at each coordinate of each. Of one tensor, walked along as it is stored, the
counts are exact up to matrices; what they cannot know is whether the rows of two tensors look alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fiberscope.hw.streams.bits import words_of
from fiberscope.workloads.canonical import Values

__all__ = [
    "ROOT",
    "ExpectedStream",
    "Spread",
    "bit_words",
    "by_bit",
    "count_distinct",
    "intersect_streams",
    "ratio",
    "references_in_union",
    "scale_counts",
    "unite_streams",
    "with_missing",
    "without_empty",
]

Spread = Mapping[str, Values]
BUCKETS = 64  # of counts, when points are thrown into the cells of a matrix


@dataclass(frozen=True)
class ExpectedStream:
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
    parent: ExpectedStream | None = None
    filled: float = 0.0
    filled_spread: Spread = field(default_factory=dict)
    missing: float = 0.0
    whole: ExpectedStream | None = None

    @property
    def points(self) -> ExpectedStream:
        """Return the number of points, with those of N."""
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
        """Return the number of tokens without done."""
        return self.count + self.missing + self.stops


ROOT = ExpectedStream(1.0, {})


def ratio(numbers: Values, others: Values) -> Values:
    """Quotients; 0 where there is nothing."""
    return np.divide(numbers, others, out=np.zeros_like(numbers, dtype=np.float64), where=others > 0)


def scale_counts(spread: Spread, count: float) -> Spread:
    """A spread of other counts, alike."""
    return {
        name: counts * (count / total if (total := counts.sum()) else 0.0) for name, counts in spread.items()
    }


def intersect_streams(ways: Sequence[ExpectedStream], variable: str) -> ExpectedStream:
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
    return thin_stream(few, count, scale_counts({**spread, variable: product}, count), prefix)


def unite_streams(ways: Sequence[ExpectedStream], variable: str) -> ExpectedStream:
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
    spread = scale_counts({**where, variable: together}, count)
    return ExpectedStream(count, spread, prefix, filled, scale_counts(prefix.spread, filled))


def prefix_of(ways: Sequence[ExpectedStream]) -> ExpectedStream:
    """The points whose fibers are joined."""
    parent = ways[0].parent
    assert parent is not None
    return parent.points


def thin_stream(
    before: ExpectedStream, count: float, spread: Spread, parent: ExpectedStream | None
) -> ExpectedStream:
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
    return ExpectedStream(count, spread, parent, filled, scale_counts(where, filled))


def count_distinct(points: ExpectedStream, names: Sequence[str]) -> float:
    """Return the expected number of different coordinates, or tuples of them, of the points of a stream.

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
        shares, sizes = bucket_counts(throws.spread[name] / throws.count)
        hits, cells = np.outer(hits, shares).ravel(), np.outer(cells, sizes).ravel()
    chances, sizes = bucket_counts(points.spread[inner] / throws.count)
    missed = (1 - np.minimum(1, chances))[None, :] ** (hits * throws.count)[:, None]
    return float((np.outer(cells, sizes) * (1 - missed)).sum())


def bucket_counts(counts: Values) -> tuple[Values, Values]:
    """Counts that are alike together: the mean of each bucket, and how many are in it."""
    some = np.sort(counts[counts > 0])
    edges = np.geomspace(some[0], some[-1] * (1 + 1e-9), BUCKETS) if len(some) else np.zeros(0)
    groups = np.searchsorted(edges, some, side="right")
    sizes = np.bincount(groups, minlength=1).astype(np.float64)
    return ratio(np.bincount(groups, weights=some, minlength=1).astype(np.float64), sizes), sizes


def with_missing(references: ExpectedStream, points: ExpectedStream) -> ExpectedStream:
    """References that go along with these points: as many of them are N as were before."""
    if not references.missing:
        return points
    count = points.count * references.count / (references.count + references.missing)
    return _add_references(points, count, scale_counts(points.spread, count))


def references_in_union(references: ExpectedStream, points: ExpectedStream) -> ExpectedStream:
    """The references of one operand of a union: N where others alone have the coordinate."""
    return _add_references(points, min(references.count, points.count), references.spread)


def _add_references(points: ExpectedStream, count: float, spread: Spread) -> ExpectedStream:
    """Add this number of references to the coordinates of these points, and N to the others."""
    missing = points.count - count
    return ExpectedStream(count, spread, points.parent, points.filled, points.filled_spread, missing, points)


def without_empty(inner: ExpectedStream) -> ExpectedStream:
    """The points above a stream whose fibers have any."""
    above = inner.parent.points if inner.parent else ROOT
    if above.parent is None:
        return ExpectedStream(min(1.0, inner.filled), {})
    return thin_stream(above, inner.filled, inner.filled_spread, above.parent)


def bit_words(fibers: ExpectedStream, size: int) -> ExpectedStream:
    """The words of so many bits for each of these fibers."""
    count = fibers.count * words_of(size)
    return ExpectedStream(count, scale_counts(fibers.spread, count), fibers, fibers.count, fibers.spread)


def by_bit(output: ExpectedStream, words: ExpectedStream, variable: str) -> float:
    """Cycles for all bits of words, of which those without any take one too, if bits are spread evenly."""
    size = len(output.spread[variable])
    wide = size / words_of(size)
    full = min(1.0, output.count / (words.count * wide)) if words.count * wide else 0.0
    return output.tokens + words.count * float((1 - full) ** wide)
