"""What mergers do to bring a tensor into another order of ranks: two neighbours at a time change places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fiberscope.models.trace.sorted_heads import merge_steps, sort_steps
from fiberscope.workloads.fibertree import FiberTree

__all__ = ["exchanges", "swaps"]


def swaps(tree: FiberTree, final: Sequence[str], radix: int | None, finite_inputs: bool) -> int:
    """Steps of the mergers that bring a tree's ranks into another order.

    When two ranks change places, for every fiber of the upper one the fibers below it are merged. Orders that
    are more than one such exchange apart take one after the other, as few as there can be.

    Args:
        tree: in the order at first.
        final: names of its ranks in the order that is wanted.
        radix: lists merged at once; None for all.
        finite_inputs: an element takes one step; otherwise heads are kept sorted by insertion.
    """
    steps = 0
    for depth in exchanges(tree.names, final):
        segments, starts = tree.segments[depth], tree.segments[depth + 1]
        steps += (
            merge_steps(segments, starts, radix)
            if finite_inputs
            else sort_steps(segments, starts, tree.coordinates[depth + 1], radix)
        )
        names = list(tree.names)
        names[depth : depth + 2] = names[depth + 1], names[depth]
        tree = tree.swizzle(names) if tuple(names) != tuple(final) else tree
    return steps


def exchanges(initial: Sequence[str], final: Sequence[str]) -> Iterator[int]:
    """Depths at which a rank changes places with the one below it, in turn, from one order to the other."""
    names = list(initial)
    for depth, name in enumerate(final):
        place = names.index(name)
        yield from range(place - 1, depth - 1, -1)
        names.insert(depth, names.pop(place))
