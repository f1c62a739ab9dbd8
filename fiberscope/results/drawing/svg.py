"""SVG output of layouts and drawings: a self-contained file without scripts and fonts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import pairwise

from fiberscope.results.drawing.graph import Box, Graph
from fiberscope.results.drawing.layout import HEIGHT, RADIUS, WIDTH, Layout, Line, Point

MARGIN, LEGEND_HEIGHT = 24, 34
FONT_SIZE, LETTER_WIDTH = 13, 7.3  # size of a label and mean width of its letters, in pixels
COLOURS = {  # fill and border of each kind of box
    "own": ("#e8f0fe", "#3b6fd4"),
    "block": ("#e6f4ea", "#2f8f4e"),
    "network": ("#f1f3f4", "#7a828a"),
    "memory": ("#fdeedd", "#c9741a"),
}
STYLE = (
    f"text{{font:{FONT_SIZE}px ui-sans-serif,system-ui,'DejaVu Sans',sans-serif;fill:#202124}}"
    ".count{font-size:11px;fill:#5f6368}.frame{fill:#f8f9fa;stroke:#9aa0a6;stroke-dasharray:5 4}"
    ".line{fill:none;stroke:#5f6368;stroke-width:1.3}.line:hover{stroke:#d93025;stroke-width:2.5}"
)


def svg(graph: Graph, layout: Layout, title: str, marks: Iterable[str] = ()) -> str:
    """Return a layout as an SVG file.

    Args:
        graph: the boxes and bundles.
        layout: their positions.
        title: the accessible title.
        marks: SVG elements over the boxes, inserted as they are.
    """
    left, right, bottom = layout.extent
    frames = list(_iterate_frames(graph, layout))
    middle, height = (left + right) / 2, bottom + 2 * MARGIN + LEGEND_HEIGHT
    entries = _compute_legend_widths(graph)
    width = max(right - left, sum(entries.values())) + 2 * MARGIN
    framed = {name for _, _, members in frames for name in members}
    parts = [
        *(_format_frame(scope, rectangle) for scope, rectangle, _ in frames),
        *(_line(line) for line in layout.lines),
        *(_format_box(graph.boxes[name], centre, name in framed) for name, centre in layout.boxes.items()),
        *marks,
        *_format_legend(graph, entries, middle, bottom + MARGIN + LEGEND_HEIGHT / 2),
    ]
    return format_sheet((middle - width / 2, -MARGIN, width, height), title, parts)


def format_sheet(view: tuple[float, float, float, float], title: str, parts: Iterable[str]) -> str:
    """Return an SVG file of elements.

    Args:
        view: left, top, width and height, in pixels.
        title: the accessible title.
        parts: the SVG elements.
    """
    left, top, width, height = view
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:g} {top:g} {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#5f6368"/></marker></defs>',
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" fill="#fff"/>',
    ]
    return "\n".join([*head, *parts, "</svg>\n"])


def _iterate_frames(
    graph: Graph, layout: Layout
) -> Iterator[tuple[str, tuple[float, float, float, float], set[str]]]:
    """Yield label, rectangle and members of each scope that gets a frame.

    A scope is the part of a name before its last dot. It gets a frame if it has several boxes, all with the
    same count, and no other box lies between them.
    """
    scopes: dict[str, set[str]] = {}
    for name in graph.boxes:
        scopes.setdefault(name.rpartition(".")[0], set()).add(name)
    for scope, members in scopes.items():
        counts = {graph.boxes[name].count for name in members}
        centres = [layout.boxes[name] for name in members]
        left, right = min(x for x, _ in centres) - WIDTH / 2 - 8, max(x for x, _ in centres) + WIDTH / 2 + 8
        top = min(y for _, y in centres) - HEIGHT / 2 - 20  # with room for the label
        bottom = max(y for _, y in centres) + HEIGHT / 2 + 8
        enclosed = {name for name, (x, y) in layout.boxes.items() if left < x < right and top < y < bottom}
        if scope and len(members) > 1 and len(counts) == 1 and enclosed == members:
            yield _label_with_count(scope, counts.pop()), (left, top, right - left, bottom - top), members


def _format_frame(label: str, rectangle: tuple[float, float, float, float]) -> str:
    x, y, width, height = rectangle
    return (
        f'<rect class="frame" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8"/>'
        f'<text class="count" x="{x + 8:g}" y="{y + 14:g}">{escape(label)}</text>'
    )


def _label_with_count(name: str, count: int) -> str:
    return f"{name} x{count}" if count > 1 else name


def _line(line: Line) -> str:
    bundle = line.bundle
    # arrow tips: a path runs from the upper to the lower box
    markers = {"marker-end": bundle.down, "marker-start": bundle.up}
    attributes = "".join(f' {marker}="url(#tip)"' for marker, channels in markers.items() if channels)
    text = escape("\n".join([*bundle.down, *bundle.up]))
    return f'<path class="line" d="{_format_path(line.points)}"{attributes}><title>{text}</title></path>'


def _format_path(points: list[Point]) -> str:
    """Return a rectilinear path with rounded corners; collinear points are skipped."""
    corners = [points[0]]
    for point, next_point in pairwise(points[1:]):
        if point != corners[-1] and not _is_straight(corners[-1], point, next_point):
            corners.append(point)
    corners.append(points[-1])
    text = f"M{corners[0][0]:g} {corners[0][1]:g}"
    for previous, corner, next_point in zip(corners, corners[1:], corners[2:], strict=False):
        start, end = _compute_rounding_point(corner, previous), _compute_rounding_point(corner, next_point)
        text += f"L{start[0]:g} {start[1]:g}Q{corner[0]:g} {corner[1]:g} {end[0]:g} {end[1]:g}"
    return f"{text}L{corners[-1][0]:g} {corners[-1][1]:g}"


def _is_straight(a: Point, b: Point, c: Point) -> bool:
    return a[0] == b[0] == c[0] or a[1] == b[1] == c[1]


def _compute_rounding_point(corner: Point, neighbour: Point) -> Point:
    """Return the point where the rounding of a corner begins, in the direction of ``neighbour``."""
    x, y = neighbour[0] - corner[0], neighbour[1] - corner[1]
    length = abs(x) + abs(y)  # one of both is 0
    # at most half of a segment, because its other end may be rounded too
    fraction = min(RADIUS, length / 2) / length if length else 0.0
    return corner[0] + x * fraction, corner[1] + y * fraction


def _format_box(shape: Box, centre: Point, framed: bool) -> str:
    # a frame already shows the scope and the count
    label = shape.name.rpartition(".")[2] if framed else _label_with_count(shape.name, shape.count)
    return draw_box(centre, (WIDTH, HEIGHT), shape.kind, label)


def draw_box(centre: Point, size: tuple[float, float], kind: str, label: str) -> str:
    """Return a box around its label; the kind is a key of ``COLOURS``, lengths are in pixels."""
    fill, border = COLOURS[kind]
    (x, y), (width, height) = centre, size
    return (
        f'<rect x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}" '
        f'rx="{RADIUS}" fill="{fill}" stroke="{border}" stroke-width="1.3"/>'
        f'<text x="{x:g}" y="{y + 4.5:g}" text-anchor="middle"{_shrink(label, width)}>{escape(label)}</text>'
    )


def _shrink(label: str, width: float) -> str:
    """Return the attribute that shrinks a label to a width in pixels; empty if the label fits."""
    scale = (width - 2 * RADIUS) / max(1.0, LETTER_WIDTH * len(label))
    return "" if scale >= 1 else f' style="font-size:{FONT_SIZE * scale:.1f}px"'


def _compute_legend_widths(graph: Graph) -> dict[str, float]:
    """Return the width in pixels of the legend's entry for each kind of box in the graph."""
    shown = {box.kind for box in graph.boxes.values()}
    # 26 for the coloured square and the gaps, 6.6 for a letter of 11 pixels
    return {kind: 26 + 6.6 * len(text) for kind, text in graph.legend.items() if kind in shown}


def _format_legend(graph: Graph, widths: Mapping[str, float], middle: float, y: float) -> Iterator[str]:
    x = middle - sum(widths.values()) / 2
    for kind, width in widths.items():
        fill, border = COLOURS[kind]
        yield (
            f'<rect x="{x:g}" y="{y - 5:g}" width="10" height="10" rx="2" fill="{fill}" stroke="{border}"/>'
            f'<text class="count" x="{x + 15:g}" y="{y + 4:g}">{graph.legend[kind]}</text>'
        )
        x += width
