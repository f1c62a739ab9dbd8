"""A picture of a block with its declared ports: inputs on the left, outputs on the right."""

from collections.abc import Iterator, Sequence
from html import escape

from fiberscope.results.drawing.svg import draw_box, format_sheet
from fiberscope.sim import Component
from fiberscope.sim.component import Output, Port

ARROW, ROW, MARGIN = 210, 58, 2  # length of an arrow, from one to the next, and around all
LETTER, SIDE = 8, 40  # width of a letter, and of what the box has beside its name


def drawn_block(block: type[Component]) -> str:
    """Return the text of an SVG file; arrays of ports have double lines, optional ports dashed lines."""
    outputs = [port for port in block.PORTS if isinstance(port, Output)]
    inputs = [port for port in block.PORTS if port not in outputs]
    width, height = LETTER * len(block.__name__) + SIDE, ROW * max(len(inputs), len(outputs))
    left, right = -width / 2, width / 2
    parts = [
        *_arrows(inputs, left - ARROW),
        *_arrows(outputs, right),
        draw_box((0, 0), (width, height), "block", block.__name__),
    ]
    reach = width / 2 + ARROW + MARGIN
    view = (-reach, -height / 2 - MARGIN, 2 * reach, height + 2 * MARGIN)
    return format_sheet(view, f"{block.__name__} and its ports", parts)


def _arrows(ports: Sequence[Port], start: float) -> Iterator[str]:
    middle = start + ARROW / 2
    for place, port in enumerate(ports):
        y = (place - (len(ports) - 1) / 2) * ROW
        name = f"{port.name}[i]" if port.array else port.name
        dashes = ' stroke-dasharray="5 4"' if port.optional else ""
        for shift in (-2, 2) if port.array else (0,):
            yield f'<path class="line" d="M{start:g} {y + shift:g}h{ARROW - 6}"{dashes}/>'
        yield f'<path class="line" d="M{start + ARROW - 8:g} {y:g}h8" marker-end="url(#tip)"/>'
        yield f'<text x="{middle:g}" y="{y - 7:g}" text-anchor="middle">{escape(name)}</text>'
        yield (
            f'<text class="count" x="{middle:g}" y="{y + 14:g}" text-anchor="middle">'
            f"{escape(port.carries.name)}</text>"
        )
        if port.carries.fields:
            yield (
                f'<text class="count" x="{middle:g}" y="{y + 27:g}" text-anchor="middle">'
                f"{escape(', '.join(port.carries.fields.values()))}</text>"
            )
