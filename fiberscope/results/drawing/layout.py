"""Layered layout of a drawing: boxes from top to bottom, long lines in lanes beside the boxes.

The method is layered drawing by K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of
Hierarchical System Structures", IEEE Transactions on Systems, Man, and Cybernetics 11(2), 1981. Long lines
run in straight lanes instead of bending in every layer, because hardware is read along its wires.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fiberscope.results.drawing.graph import Bundle, Graph

WIDTH, HEIGHT = 170, 40  # size of a box in pixels, the unit of all lengths here
BESIDE, BETWEEN, TRACK, LANE = 26, 28, 9, 14  # distances of boxes, layers, lines in a gap, lanes
ROUND = 5  # radius of rounded corners
SWEEPS = 8  # iterations of the ordering, which converges earlier

Place = tuple[float, float]
_Turn = tuple[float, float]  # positions of a line above and below a gap


@dataclass
class Line:
    """A bundle as a rectilinear path from its upper box to its lower box."""

    bundle: Bundle
    points: list[Place] = field(default_factory=list)


@dataclass(frozen=True)
class Layout:
    """The centre of each box, the lines, and the left, right and bottom edges; the top is 0."""

    boxes: Mapping[str, Place]
    lines: tuple[Line, ...]
    extent: tuple[float, float, float]


def arrange(graph: Graph) -> Layout:
    """Compute the layout of a graph."""
    layer = _layers(graph)
    bundles = [_downward(bundle, layer) for bundle in graph.bundles if bundle.upper != bundle.lower]
    rows = _order_boxes(layer, bundles)
    across = {name: _centre(rank, len(row)) for row in rows for rank, name in enumerate(row)}
    lanes = _lanes(bundles, layer, max(abs(x) for x in across.values()) + WIDTH / 2)
    ends = _line_ends(bundles, across, lanes)
    return _place_lines(bundles, layer, rows, across, lanes, ends)


def _layers(graph: Graph) -> dict[str, int]:
    """Return the layer of each box: below all its producers, except for channels that close a cycle."""
    below: dict[str, list[str]] = defaultdict(list)
    for bundle in graph.bundles:
        below[bundle.upper].append(bundle.lower)
    order: list[str] = []
    state: dict[str, str] = {}

    def visit(name: str) -> None:
        state[name] = "open"
        for lower in list(below[name]):
            if state.get(lower) == "open":
                below[name].remove(lower)
            elif lower not in state:
                visit(lower)
        state[name] = "done"
        order.insert(0, name)

    for name in graph.boxes:
        if name not in state:
            visit(name)
    layer = dict.fromkeys(order, 0)
    for name in order:
        for lower in below[name]:
            layer[lower] = max(layer[lower], layer[name] + 1)
    return layer


def _downward(bundle: Bundle, layer: Mapping[str, int]) -> Bundle:
    if layer[bundle.upper] < layer[bundle.lower]:
        return bundle
    return Bundle(bundle.lower, bundle.upper, down=bundle.up, up=bundle.down)


def _order_boxes(layer: Mapping[str, int], bundles: Iterable[Bundle]) -> list[list[str]]:
    """Order the boxes of each layer by the mean position of their neighbours."""
    near: dict[str, list[str]] = defaultdict(list)
    for bundle in bundles:
        near[bundle.upper].append(bundle.lower)
        near[bundle.lower].append(bundle.upper)
    rows = [[name for name in layer if layer[name] == depth] for depth in range(max(layer.values()) + 1)]
    for _ in range(SWEEPS):
        across = {name: _centre(rank, len(row)) for row in rows for rank, name in enumerate(row)}
        for row in rows:
            row.sort(key=lambda name: sum(across[other] for other in near[name]) / max(1, len(near[name])))
    return rows


def _centre(rank: int, count: int) -> float:
    return (rank - (count - 1) / 2) * (WIDTH + BESIDE)


def _lanes(bundles: Iterable[Bundle], layer: Mapping[str, int], edge: float) -> dict[int, float]:
    """Return the lane of each line that crosses layers: short lines inside, upward lines on the left."""
    occupied: dict[tuple[int, int], set[int]] = defaultdict(set)
    lanes: dict[int, float] = {}
    long = [bundle for bundle in bundles if layer[bundle.lower] - layer[bundle.upper] > 1]
    for bundle in sorted(long, key=lambda bundle: layer[bundle.lower] - layer[bundle.upper]):
        side = 1 if bundle.down else -1
        crossed = set(range(layer[bundle.upper], layer[bundle.lower] + 1))
        number = next(n for n in range(1, len(long) + 1) if not occupied[side, n] & crossed)
        occupied[side, number] |= crossed
        lanes[id(bundle)] = side * (edge + number * LANE)
    return lanes


def _line_ends(
    bundles: Iterable[Bundle], across: Mapping[str, float], lanes: Mapping[int, float]
) -> dict[tuple[int, str], float]:
    """Return the positions of line ends on boxes, spread over a side in the order of their targets."""
    sides: dict[tuple[str, bool], list[tuple[float, int]]] = defaultdict(list)
    for bundle in bundles:
        for name, other, is_upper in (
            (bundle.upper, bundle.lower, True),
            (bundle.lower, bundle.upper, False),
        ):
            sides[name, is_upper].append((lanes.get(id(bundle), across[other]), id(bundle)))
    ends: dict[tuple[int, str], float] = {}
    for (name, _), leaving in sides.items():
        step = WIDTH / (len(leaving) + 1)
        for rank, (_, number) in enumerate(sorted(leaving), start=1):
            ends[number, name] = across[name] - WIDTH / 2 + rank * step
    _straighten(bundles, across, lanes, ends, {key: len(leaving) for key, leaving in sides.items()})
    return ends


def _straighten(
    bundles: Iterable[Bundle],
    across: Mapping[str, float],
    lanes: Mapping[int, float],
    ends: dict[tuple[int, str], float],
    numbers_of_ends: Mapping[tuple[str, bool], int],
) -> None:
    """Align a line's end with its other end if the line is alone on that side of its box."""
    for bundle in bundles:
        if id(bundle) in lanes:
            continue
        upper, lower = (id(bundle), bundle.upper), (id(bundle), bundle.lower)
        for moving, fixed, is_alone in (
            (lower, upper, numbers_of_ends[bundle.lower, False] == 1),
            (upper, lower, numbers_of_ends[bundle.upper, True] == 1),
        ):
            if is_alone and abs(ends[fixed] - across[moving[1]]) < WIDTH / 2 - ROUND:
                ends[moving] = ends[fixed]
                break


def _place_lines(
    bundles: list[Bundle],
    layer: Mapping[str, int],
    rows: list[list[str]],
    across: Mapping[str, float],
    lanes: Mapping[int, float],
    ends: Mapping[tuple[int, str], float],
) -> Layout:
    """Compute heights: a gap between layers grows with the number of horizontal lines in the gap."""
    gaps = _Gaps(len(rows))
    tracks = []
    for bundle in bundles:
        start, finish = ends[id(bundle), bundle.upper], ends[id(bundle), bundle.lower]
        lane = lanes.get(id(bundle), finish)
        first = last = gaps.add(layer[bundle.upper], start, lane)
        if id(bundle) in lanes:
            last = gaps.add(layer[bundle.lower] - 1, lane, finish)
        tracks.append((bundle, start, first, lane, last, finish))
    gaps.assign_tracks()
    tops, lines = gaps.tops(), []
    for bundle, start, first, lane, last, finish in tracks:
        upper, lower = layer[bundle.upper], layer[bundle.lower]
        turn, entry = gaps.height(tops, upper, first), gaps.height(tops, lower - 1, last)
        points = [(start, tops[upper] + HEIGHT), (start, turn), (lane, turn), (lane, entry), (finish, entry)]
        lines.append(Line(bundle, [*points, (finish, tops[lower])]))
    places = {name: (across[name], tops[layer[name]] + HEIGHT / 2) for name in across}
    sides = [x + side for x in across.values() for side in (-WIDTH / 2, WIDTH / 2)]
    xs = [*sides, *lanes.values()]
    return Layout(places, tuple(lines), (min(xs), max(xs), tops[-1] + HEIGHT))


class _Gaps:
    """Assigns the horizontal lines between layers to tracks, without overlaps and with few crossings."""

    def __init__(self, layers: int) -> None:
        self._turns: list[list[_Turn]] = [[] for _ in range(layers)]
        self._tracks: list[list[int]] = []

    def add(self, gap: int, above: float, below: float) -> int:
        """Add a line between two positions to the gap below a layer, and return its number."""
        self._turns[gap].append((above, below))
        return len(self._turns[gap]) - 1

    def assign_tracks(self) -> None:
        """Assign all lines to tracks."""
        self._tracks = [_tracks(turns) for turns in self._turns]

    def tops(self) -> list[float]:
        """Return the top of each layer."""
        tops = [0.0]
        for tracks in self._tracks[:-1]:
            tops.append(tops[-1] + HEIGHT + 2 * BETWEEN + TRACK * max(tracks, default=0))
        return tops

    def height(self, tops: list[float], gap: int, number: int) -> float:
        """Return the height of a line in a gap."""
        return tops[gap] + HEIGHT + BETWEEN + TRACK * self._tracks[gap][number]


def _tracks(turns: list[_Turn]) -> list[int]:
    """Return the track of each line of a gap, from the top; neighbours are swapped to reduce crossings."""
    order = list(range(len(turns)))
    for _ in order:
        for place in range(len(order) - 1):
            upper, lower = order[place : place + 2]
            if _crossings(turns[lower], turns[upper]) < _crossings(turns[upper], turns[lower]):
                order[place : place + 2] = lower, upper
    tracks: dict[int, int] = {}
    for number in order:
        over = [track for other, track in tracks.items() if _overlap(turns[other], turns[number])]
        tracks[number] = max(over, default=-1) + 1
    return [tracks[number] for number in range(len(turns))]


def _crossings(upper: _Turn, lower: _Turn) -> int:
    """Count the crossings of two lines, the first above the second; an overlap counts as nine crossings."""
    overlaps = upper[1] == lower[0]
    return 9 * overlaps + (min(lower) < upper[1] < max(lower)) + (min(upper) < lower[0] < max(upper))


def _overlap(turn: _Turn, other: _Turn) -> bool:
    """Return whether two lines need different tracks; a straight vertical line needs no track."""
    if turn[0] == turn[1] or other[0] == other[1]:
        return False
    return max(min(turn), min(other)) <= min(max(turn), max(other)) + 2 * TRACK
