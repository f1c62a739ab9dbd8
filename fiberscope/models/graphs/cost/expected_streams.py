"""Expected streams: the number of tokens, and their distribution over the coordinates of the loops.

The model knows the number of points at each coordinate of each loop. It assumes that different loops and
different tensors are independent of each other. The counts of a single tensor in its storage order are exact
up to matrices; correlations between the rows of two tensors are unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from fiberscope.hw.streams.bits import words_of
from fiberscope.workloads.canonical import Values

Spread = Mapping[str, Values]  # number of points at each coordinate, by index variable of a loop
BUCKETS = 64  # groups of similar counts in ``count_distinct``


@dataclass(frozen=True)
class ExpectedStream:
    """Expected tokens of a stream.

    Args:
        count: number of coordinates, references or values.
        spread: number of points at each coordinate, by index variable of a loop.
        parent: stream of the enclosing loops, with a point for each fiber of this stream; None at a root.
        filled: number of fibers that are not empty.
        filled_spread: the distribution of these fibers, as ``spread``.
        missing: number of N tokens, in addition to ``count``.
        with_missing: the stream with the points of N tokens; None without N tokens.
    """

    count: float
    spread: Spread
    parent: ExpectedStream | None = None
    filled: float = 0.0
    filled_spread: Spread = field(default_factory=dict)
    missing: float = 0.0
    with_missing: ExpectedStream | None = None

    @property
    def points(self) -> ExpectedStream:
        """Return the stream including the points of N tokens."""
        return self.with_missing or self

    @property
    def stops(self) -> float:
        """Return the number of stop tokens: one per fiber, and one per empty list of fibers."""
        if self.parent is None:
            return 0.0
        outer = self.parent.points
        return outer.count + outer.bare_stops

    @property
    def bare_stops(self) -> float:
        """Return the number of stop tokens of empty fibers."""
        return 0.0 if self.parent is None else max(0.0, self.stops - self.points.filled)

    @property
    def tokens(self) -> float:
        """Return the number of tokens without done tokens."""
        return self.count + self.missing + self.stops


ROOT = ExpectedStream(1.0, {})
ExpectedStreams: TypeAlias = Mapping[str, ExpectedStream]  # by port


def divide_or_zero(numbers: Values, others: Values) -> Values:
    """Return the quotients by element; 0 where the divisor is not positive."""
    return np.divide(numbers, others, out=np.zeros_like(numbers, dtype=np.float64), where=others > 0)


def scale_counts(spread: Spread, count: float) -> Spread:
    """Scale a distribution to a total count.

    Args:
        spread: number of points at each coordinate, by index variable.
        count: new sum of the counts of each variable; a variable without points keeps 0.
    """
    return {
        name: counts * (count / total if (total := counts.sum()) else 0.0) for name, counts in spread.items()
    }


def intersect_streams(streams: Sequence[ExpectedStream], variable: str) -> ExpectedStream:
    """Return the expected coordinates that all streams have.

    The streams are taken as independent, within each coordinate of an outer loop.

    Args:
        streams: coordinate streams with the same enclosing loops.
        variable: index variable of the joined loop.
    """
    prefix = outer_points(streams)
    fibers = prefix.count or 1.0
    product = fibers * np.prod([stream.spread[variable] / fibers for stream in streams], axis=0)
    count = float(product.sum())
    spread: dict[str, Values] = {}
    for name, points in prefix.spread.items():
        common = points * np.prod([divide_or_zero(stream.spread[name], points) for stream in streams], axis=0)
        even = fibers * math.prod(stream.count / fibers for stream in streams)
        # correct the count by how much the streams agree in this outer loop, relative to even distributions
        count *= float(common.sum()) / even if even else 0.0
        spread[name] = common
    # the intersection is not larger than any stream, and its fibers are those of the smallest stream, thinned
    count = min(count, *(stream.count for stream in streams))
    smallest = min(streams, key=lambda stream: stream.count)
    return thin_stream(smallest, count, scale_counts({**spread, variable: product}, count), prefix)


def unite_streams(streams: Sequence[ExpectedStream], variable: str) -> ExpectedStream:
    """Return the expected coordinates that any stream has, with the assumption of ``intersect_streams``.

    Args:
        streams, variable: the arguments of ``intersect_streams``.
    """
    prefix = outer_points(streams)
    fibers = prefix.count or 1.0
    # a coordinate is missing only if all streams lack it
    union = fibers * (
        1 - np.prod([1 - np.minimum(1, stream.spread[variable] / fibers) for stream in streams], axis=0)
    )
    count = max(float(union.sum()), *(stream.count for stream in streams))
    # a point of an outer loop has at most ``size`` coordinates
    size = len(union) or 1
    outer_spread = {
        name: points
        * (
            1
            - np.prod(
                [1 - np.minimum(1, divide_or_zero(stream.spread[name], points * size)) for stream in streams],
                axis=0,
            )
        )
        for name, points in prefix.spread.items()
    }
    filled_shares = [stream.filled / fibers for stream in streams]
    # the factor allows for rounding errors of the counts
    all_filled = all(
        stream.filled >= stream.parent.count * (1 - 1e-9) for stream in streams if stream.parent is not None
    )
    filled = (
        prefix.count
        if all_filled
        else prefix.count * (1 - float(np.prod([1 - min(1, share) for share in filled_shares])))
    )
    spread = scale_counts({**outer_spread, variable: union}, count)
    return ExpectedStream(count, spread, prefix, filled, scale_counts(prefix.spread, filled))


def outer_points(streams: Sequence[ExpectedStream]) -> ExpectedStream:
    """Return the points of the enclosing loops, whose fibers are joined."""
    parent = streams[0].parent
    assert parent is not None
    return parent.points


def thin_stream(
    stream: ExpectedStream, count: float, spread: Spread, parent: ExpectedStream | None
) -> ExpectedStream:
    """Return a stream with fewer points; fibers with few points become empty more often.

    The points that remain are taken as independent draws. A fiber of n points, of which a share s remains, is
    not empty with probability 1 - (1 - s)^n.

    Args:
        stream: the stream with all points.
        count: number of points that remain.
        spread: their distribution.
        parent: stream of the enclosing loops.
    """
    filled, fiber_spread = stream.filled, dict(stream.filled_spread)
    for name, fibers in stream.filled_spread.items():
        mean = divide_or_zero(stream.spread[name], fibers)
        share = np.minimum(1, divide_or_zero(spread[name], stream.spread[name]))
        fiber_spread[name] = fibers * (1 - (1 - share) ** mean)
        filled = min(filled, float(fiber_spread[name].sum()))
    # the outermost loop has no loops around it, hence no distribution of fibers: use the mean fiber
    if not fiber_spread and stream.filled:
        mean_share = min(1.0, count / stream.count) if stream.count else 0.0
        filled = stream.filled * (1 - (1 - mean_share) ** (stream.count / stream.filled))
    filled = min(filled, count)
    return ExpectedStream(count, spread, parent, filled, scale_counts(fiber_spread, filled))


def count_distinct(points: ExpectedStream, names: Sequence[str]) -> float:
    """Return the expected number of distinct coordinates, or tuples of coordinates, of a stream's points.

    A fiber has each coordinate of the innermost loop at most once, so each fiber is a draw without
    repetition. Over other loops, the points are independent draws.

    Args:
        points: a stream inside at least one loop.
        names: index variables of the tuples, at least one, in the order of the loops.
    """
    innermost = list(points.spread)[-1]
    outer = points.parent.points if points.parent and innermost in names else None
    draws = points if outer is None else outer
    inner = names[-1] if outer is None else innermost
    if not draws.count:
        return 0.0
    shares_of_tuple, cells = np.ones(1), np.ones(1)
    for name in (name for name in names if name != inner):
        shares, sizes = bucket_counts(draws.spread[name] / draws.count)
        shares_of_tuple, cells = np.outer(shares_of_tuple, shares).ravel(), np.outer(cells, sizes).ravel()
    probabilities, sizes = bucket_counts(points.spread[inner] / draws.count)
    # a tuple is missed if none of the draws with its outer coordinates has its inner coordinate
    missed = (1 - np.minimum(1, probabilities))[None, :] ** (shares_of_tuple * draws.count)[:, None]
    return float((np.outer(cells, sizes) * (1 - missed)).sum())


def bucket_counts(counts: Values) -> tuple[Values, Values]:
    """Group similar counts; return the mean and the size of each group."""
    positive = np.sort(counts[counts > 0])
    # the factor puts the largest count into the last group, not beyond its edge
    edges = np.geomspace(positive[0], positive[-1] * (1 + 1e-9), BUCKETS) if len(positive) else np.zeros(0)
    groups = np.searchsorted(edges, positive, side="right")
    sizes = np.bincount(groups, minlength=1).astype(np.float64)
    return divide_or_zero(np.bincount(groups, weights=positive, minlength=1).astype(np.float64), sizes), sizes


def references_at(references: ExpectedStream, points: ExpectedStream) -> ExpectedStream:
    """Return references for these points, with the same share of N tokens as before."""
    if not references.missing:
        return points
    count = points.count * references.count / (references.count + references.missing)
    return _add_references(points, count, scale_counts(points.spread, count))


def find_union_references(references: ExpectedStream, points: ExpectedStream) -> ExpectedStream:
    """Return the references of an operand of a unioner; N where only other operands have the coordinate."""
    return _add_references(points, min(references.count, points.count), references.spread)


def _add_references(points: ExpectedStream, count: float, spread: Spread) -> ExpectedStream:
    """Add this number of references to the points, and N tokens to all other points."""
    missing = points.count - count
    return ExpectedStream(count, spread, points.parent, points.filled, points.filled_spread, missing, points)


def outer_of_nonempty(inner: ExpectedStream) -> ExpectedStream:
    """Return the points of the enclosing loops without those of empty fibers."""
    outer = inner.parent.points if inner.parent else ROOT
    if outer.parent is None:
        return ExpectedStream(min(1.0, inner.filled), {})
    return thin_stream(outer, inner.filled, inner.filled_spread, outer.parent)


def bit_words(fibers: ExpectedStream, size: int) -> ExpectedStream:
    """Return the words of bit vectors.

    Args:
        fibers: stream with a point for each fiber, whose bit vector is complete.
        size: bits of a fiber: the number of coordinates of its level.
    """
    count = fibers.count * words_of(size)
    return ExpectedStream(count, scale_counts(fibers.spread, count), fibers, fibers.count, fibers.spread)


def expansion_cycles(output: ExpectedStream, words: ExpectedStream, variable: str) -> float:
    """Return the cycles to expand words to coordinates: one for each token, and one for each word of 0.

    Args:
        output: the coordinates that leave.
        words: the words that arrive; their ones are taken as uniformly distributed.
        variable: index variable of the coordinates.
    """
    size = len(output.spread[variable])
    bits_per_word = size / words_of(size)
    bits = words.count * bits_per_word
    ones_share = min(1.0, output.count / bits) if bits else 0.0
    return output.tokens + words.count * float((1 - ones_share) ** bits_per_word)
