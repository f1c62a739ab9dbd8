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
BOX_GAP, LAYER_GAP, TRACK_GAP, LANE_GAP = 26, 28, 9, 14  # distances of boxes, layers, lines in a gap, lanes
RADIUS = 5  # of the rounded corners of boxes and lines
SWEEPS = 8  # iterations of the ordering, which converges earlier

Point = tuple[float, float]
_Turn = tuple[float, float]  # positions of a line above and below a gap


@dataclass
class Line:
    """A bundle as a rectilinear path from its upper box to its lower box."""

    bundle: Bundle
    points: list[Point] = field(default_factory=list)


@dataclass(frozen=True)
class Layout:
    """The centre of each box, the lines, and the left, right and bottom edges; the top is 0."""

    boxes: Mapping[str, Point]
    lines: tuple[Line, ...]
    extent: tuple[float, float, float]


def arrange(graph: Graph) -> Layout:
    """Compute the layout of a graph with at least one box.

    Channels within a box are not drawn.
    """
    layers = _assign_layers(graph)
    bundles = [_point_downward(bundle, layers) for bundle in graph.bundles if bundle.upper != bundle.lower]
    rows = _order_boxes(layers, bundles)
    centres = {name: _compute_centre(position, len(row)) for row in rows for position, name in enumerate(row)}
    lanes = _assign_lanes(bundles, layers, max(abs(x) for x in centres.values()) + WIDTH / 2)
    ends = _place_line_ends(bundles, centres, lanes)
    return _compute_heights(bundles, layers, rows, centres, lanes, ends)


def _assign_layers(graph: Graph) -> dict[str, int]:
    """Return the layer of each box: below the upper box of each bundle, except bundles that close a cycle.

    The layer is the length of the longest path from a box without an upper box. The order of the result is
    topological.
    """
    successors: dict[str, list[str]] = defaultdict(list)
    for bundle in graph.bundles:
        successors[bundle.upper].append(bundle.lower)
    order: list[str] = []
    state: dict[str, str] = {}

    def visit(name: str) -> None:
        state[name] = "open"
        for successor in list(successors[name]):
            if state.get(successor) == "open":  # on the current path, so that this edge closes a cycle
                successors[name].remove(successor)
            elif successor not in state:
                visit(successor)
        state[name] = "done"
        order.insert(0, name)  # before all its successors

    for name in graph.boxes:
        if name not in state:
            visit(name)
    layer = dict.fromkeys(order, 0)
    for name in order:
        for successor in successors[name]:
            layer[successor] = max(layer[successor], layer[name] + 1)
    return layer


def _point_downward(bundle: Bundle, layer: Mapping[str, int]) -> Bundle:
    """Return the bundle, or a swapped copy if its upper box lies below its lower box."""
    if layer[bundle.upper] < layer[bundle.lower]:
        return bundle
    return Bundle(bundle.lower, bundle.upper, down=bundle.up, up=bundle.down)


def _order_boxes(layer: Mapping[str, int], bundles: Iterable[Bundle]) -> list[list[str]]:
    """Order the boxes of each layer by the mean position of their neighbours (barycenter heuristic)."""
    neighbours: dict[str, list[str]] = defaultdict(list)
    for bundle in bundles:
        neighbours[bundle.upper].append(bundle.lower)
        neighbours[bundle.lower].append(bundle.upper)
    rows = [[name for name in layer if layer[name] == depth] for depth in range(max(layer.values()) + 1)]
    for _ in range(SWEEPS):
        centres = {
            name: _compute_centre(position, len(row)) for row in rows for position, name in enumerate(row)
        }
        for row in rows:
            row.sort(key=lambda box: _compute_mean(centres[other] for other in neighbours[box]))
    return rows


def _compute_mean(numbers: Iterable[float]) -> float:
    values = list(numbers)
    return sum(values) / max(1, len(values))


def _compute_centre(position: int, count: int) -> float:
    """Return the x of a box in a row of ``count`` boxes, which is centred at 0."""
    return (position - (count - 1) / 2) * (WIDTH + BOX_GAP)


def _assign_lanes(bundles: Iterable[Bundle], layer: Mapping[str, int], edge: float) -> dict[int, float]:
    """Return the x of the lane of each line that crosses layers, by ``id`` of its bundle.

    Shorter lines are nearer to the boxes. Lines with upward channels only are on the left.
    """
    occupied: dict[tuple[int, int], set[int]] = defaultdict(set)
    lanes: dict[int, float] = {}
    long_bundles = [bundle for bundle in bundles if layer[bundle.lower] - layer[bundle.upper] > 1]
    for bundle in sorted(long_bundles, key=lambda bundle: layer[bundle.lower] - layer[bundle.upper]):
        side = 1 if bundle.down else -1
        crossed = set(range(layer[bundle.upper], layer[bundle.lower] + 1))
        # the innermost lane that is free in all crossed layers; one lane for each line is always enough
        number = next(n for n in range(1, len(long_bundles) + 1) if not occupied[side, n] & crossed)
        occupied[side, number] |= crossed
        lanes[id(bundle)] = side * (edge + number * LANE_GAP)
    return lanes


def _place_line_ends(
    bundles: Iterable[Bundle], centres: Mapping[str, float], lanes: Mapping[int, float]
) -> dict[tuple[int, str], float]:
    """Return the x of line ends by line and box; the ends on a side are in the order of their targets."""
    sides: dict[tuple[str, bool], list[tuple[float, int]]] = defaultdict(list)
    for bundle in bundles:
        for box, opposite_box, is_upper in (
            (bundle.upper, bundle.lower, True),
            (bundle.lower, bundle.upper, False),
        ):
            sides[box, is_upper].append((lanes.get(id(bundle), centres[opposite_box]), id(bundle)))
    line_ends: dict[tuple[int, str], float] = {}
    for (box, _), targets in sides.items():
        step = WIDTH / (len(targets) + 1)
        for position, (_, line) in enumerate(sorted(targets), start=1):
            line_ends[line, box] = centres[box] - WIDTH / 2 + position * step
    _straighten(bundles, centres, lanes, line_ends, {key: len(targets) for key, targets in sides.items()})
    return line_ends


def _straighten(
    bundles: Iterable[Bundle],
    centres: Mapping[str, float],
    lanes: Mapping[int, float],
    line_ends: dict[tuple[int, str], float],
    end_counts: Mapping[tuple[str, bool], int],
) -> None:
    """Align a line's end with its other end if the line is alone on that side of its box."""
    for bundle in bundles:
        if id(bundle) in lanes:
            continue
        upper, lower = (id(bundle), bundle.upper), (id(bundle), bundle.lower)
        for moved_end, fixed_end, is_alone in (
            (lower, upper, end_counts[bundle.lower, False] == 1),
            (upper, lower, end_counts[bundle.upper, True] == 1),
        ):
            # the end must stay on the straight part of the box's edge
            if is_alone and abs(line_ends[fixed_end] - centres[moved_end[1]]) < WIDTH / 2 - RADIUS:
                line_ends[moved_end] = line_ends[fixed_end]
                break


def _compute_heights(
    bundles: list[Bundle],
    layer: Mapping[str, int],
    rows: list[list[str]],
    centres: Mapping[str, float],
    lanes: Mapping[int, float],
    line_ends: Mapping[tuple[int, str], float],
) -> Layout:
    """Return the layout with heights: a gap between layers grows with the number of its horizontal lines."""
    gaps = _TrackAssignment(len(rows))
    tracks = []
    for bundle in bundles:
        start_x, end_x = line_ends[id(bundle), bundle.upper], line_ends[id(bundle), bundle.lower]
        lane_x = lanes.get(id(bundle), end_x)
        # A short line turns once, in the only gap between its boxes. A line in a lane turns again.
        first_turn = last_turn = gaps.add(layer[bundle.upper], start_x, lane_x)
        if id(bundle) in lanes:
            last_turn = gaps.add(layer[bundle.lower] - 1, lane_x, end_x)
        tracks.append((bundle, start_x, first_turn, lane_x, last_turn, end_x))
    gaps.assign_tracks()
    tops, lines = gaps.compute_tops(), []
    for bundle, start_x, first_turn, lane_x, last_turn, end_x in tracks:
        upper, lower = layer[bundle.upper], layer[bundle.lower]
        turn_y, entry_y = (
            gaps.compute_line_height(tops, upper, first_turn),
            gaps.compute_line_height(tops, lower - 1, last_turn),
        )
        start, end = (start_x, tops[upper] + HEIGHT), (end_x, tops[lower])
        turns = [(start_x, turn_y), (lane_x, turn_y), (lane_x, entry_y), (end_x, entry_y)]
        lines.append(Line(bundle, [start, *turns, end]))
    box_centres = {name: (centres[name], tops[layer[name]] + HEIGHT / 2) for name in centres}
    sides = [x + side for x in centres.values() for side in (-WIDTH / 2, WIDTH / 2)]
    xs = [*sides, *lanes.values()]
    return Layout(box_centres, tuple(lines), (min(xs), max(xs), tops[-1] + HEIGHT))


class _TrackAssignment:
    """Assigns the horizontal lines between layers to tracks, without overlaps and with few crossings.

    Add all lines, then call ``assign_tracks``; only then heights are known.
    """

    def __init__(self, layers: int) -> None:
        self._turns: list[list[_Turn]] = [[] for _ in range(layers)]
        self._tracks: list[list[int]] = []

    def add(self, gap: int, start_x: float, end_x: float) -> int:
        """Add a line between two positions to the gap below a layer, and return its number."""
        self._turns[gap].append((start_x, end_x))
        return len(self._turns[gap]) - 1

    def assign_tracks(self) -> None:
        """Assign all lines to tracks."""
        self._tracks = [_assign_tracks(turns) for turns in self._turns]

    def compute_tops(self) -> list[float]:
        """Return the top of each layer."""
        tops = [0.0]
        for tracks in self._tracks[:-1]:  # below the last layer there are no lines
            tops.append(tops[-1] + HEIGHT + 2 * LAYER_GAP + TRACK_GAP * max(tracks, default=0))
        return tops

    def compute_line_height(self, tops: list[float], gap: int, number: int) -> float:
        """Return the height of a line in a gap."""
        return tops[gap] + HEIGHT + LAYER_GAP + TRACK_GAP * self._tracks[gap][number]


def _assign_tracks(turns: list[_Turn]) -> list[int]:
    """Return the track of each line of a gap, from the top; neighbours are swapped to reduce crossings."""
    # As in a bubble sort, but with a fixed number of passes, since the relation need not be transitive
    order = list(range(len(turns)))
    for _ in order:
        for index in range(len(order) - 1):
            first, second = order[index : index + 2]
            if _count_crossings(turns[second], turns[first]) < _count_crossings(turns[first], turns[second]):
                order[index : index + 2] = second, first
    tracks: dict[int, int] = {}
    for line in order:
        blocked = [track for other, track in tracks.items() if _need_two_tracks(turns[other], turns[line])]
        # below all earlier lines that it could touch, so that the order also holds between tracks
        tracks[line] = max(blocked, default=-1) + 1
    return [tracks[line] for line in range(len(turns))]


def _count_crossings(upper: _Turn, lower: _Turn) -> int:
    """Count the crossings of two lines, the first above the second; an overlap counts as nine crossings."""
    # The upper line goes down at ``upper[1]`` past the lower line; the lower line comes down at ``lower[0]``.
    overlaps = upper[1] == lower[0]
    return 9 * overlaps + (min(lower) < upper[1] < max(lower)) + (min(upper) < lower[0] < max(upper))


def _need_two_tracks(first: _Turn, second: _Turn) -> bool:
    """Return whether two lines need different tracks; a straight vertical line needs no track."""
    if first[0] == first[1] or second[0] == second[1]:
        return False
    # lines on one track keep a distance of more than two track gaps
    return max(min(first), min(second)) <= min(max(first), max(second)) + 2 * TRACK_GAP
