"""What a tiled product of tensors moves, by plain loops over all points: the judge of the meter.

A tensor is a dictionary of coordinates (a tuple) to values. Every leaf of the outer loops is enumerated, be
there tiles or not.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

Entries: TypeAlias = Mapping[tuple[int, ...], float]
Point: TypeAlias = Mapping[str, int]


def words(entries: Sequence[tuple[int, ...]]) -> int:
    """Words of the entries of a tile: its values, and the coordinates and segments of each level."""
    if not entries:
        return 0
    total, above = len(entries), 1
    for level in range(len(entries[0])):
        fibers = len({entry[: level + 1] for entry in entries})
        total += fibers + above + 1
        above = fibers
    return total


def moved(
    order: Sequence[str],
    inputs: Mapping[str, tuple[Sequence[str], Entries]],
    output: Sequence[str],
    extents: Point,
    shape: Point,
    *,
    streamed: bool = False,
) -> dict[str, object]:
    """By operand and for the output ``O``: fetches or visits, words, nonzeros; and iterations."""
    grid = [range(-(-extents[index] // shape[index])) for index in order]
    leaves = 0
    fetched: dict[str, dict[tuple[int, ...], list[tuple[int, ...]]]] = {name: {} for name in inputs}
    partials: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    deep = len(order) if streamed else 1 + max(map(order.index, output), default=-1)
    for place in product(*grid):
        point = dict(zip(order, place, strict=True))
        tiles = {name: _tile(point, *operand, shape) for name, operand in inputs.items()}
        if not all(tiles.values()):
            continue
        leaves += 1
        for name, (indices, _entries) in inputs.items():
            fetched[name][place[: 1 + max(map(order.index, indices))]] = tiles[name]
        found = set(_outputs(inputs, tiles, output, extents))
        if found:
            partials.setdefault(place[:deep], set()).update(found)
    counts: dict[str, object] = {name: _counts(list(each.values())) for name, each in fetched.items()}
    counts["O"] = _counts([sorted(each) for each in partials.values()])
    return {**counts, "iterations": leaves}


def _counts(tiles: Sequence[Sequence[tuple[int, ...]]]) -> tuple[int, int, int]:
    return len(tiles), sum(words(tile) for tile in tiles), sum(map(len, tiles))


def _tile(point: Point, indices: Sequence[str], entries: Entries, shape: Point) -> list[tuple[int, ...]]:
    """The entries of a tensor in the tile at a point of the outer loops."""
    wanted = tuple(point[index] for index in indices)
    sides = [shape[index] for index in indices]
    return [
        entry for entry in entries if tuple(x // side for x, side in zip(entry, sides, strict=True)) == wanted
    ]


def _outputs(
    inputs: Mapping[str, tuple[Sequence[str], Entries]],
    tiles: Mapping[str, Sequence[tuple[int, ...]]],
    output: Sequence[str],
    extents: Point,
) -> Iterator[tuple[int, ...]]:
    """The coordinates of the output that a leaf's tiles make, every choice of an entry of each tried."""
    for choice in product(*tiles.values()):
        bound: dict[str, int] = {}
        agree = all(
            bound.setdefault(index, x) == x
            for (indices, _entries), entry in zip(inputs.values(), choice, strict=True)
            for index, x in zip(indices, entry, strict=True)
        )
        if agree:
            yield tuple(bound[index] for index in output)
