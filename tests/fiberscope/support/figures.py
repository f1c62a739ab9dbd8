"""Faults of a figure for a paper: text that is cut off, overlaps or is too small to read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import radians, sin
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

SMALLEST = 7.0  # points
SLACK = 1.0  # pixels


def layout_faults(figure: Figure) -> list[str]:
    """Return a line for each text that is cut off, overlaps another text or the bars, or is too small."""
    figure.draw_without_rendering()
    faults = [fault for axes in figure.axes for fault in axes_faults(axes)]
    for text in visible_texts(figure):
        box, (width, height) = text.get_window_extent(), figure.bbox.size
        inside = (
            box.x0 >= -SLACK and box.y0 >= -SLACK and box.x1 <= width + SLACK and box.y1 <= height + SLACK
        )
        faults += [] if inside else [f"{text.get_text()}: is cut off"]
        faults += [] if text.get_fontsize() >= SMALLEST else [f"{text.get_text()}: is too small"]
    for legend in figure.legends:
        covered = any(legend.get_window_extent().overlaps(axes.bbox) for axes in figure.axes)
        faults += ["the legend covers a panel"] if covered else []
    return faults


def visible_texts(figure: Figure) -> list[Text]:
    """Return the texts that are drawn: those of ticks outside of the limits are not."""
    from matplotlib.text import Text

    outside = {
        id(tick.label1)
        for axes in figure.axes
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim()))
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        if not min(limits) <= tick.get_loc() <= max(limits)
    }
    texts = figure.findobj(lambda artist: isinstance(artist, Text) and artist.get_visible())
    return [text for text in texts if text.get_text().strip() and id(text) not in outside]


def axes_faults(axes: Axes) -> Iterator[str]:
    """Yield names of neighbouring ticks that overlap, along the rotation in which they are written."""
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    for first, second in pairwise(labels):
        distance = second.get_window_extent().x1 - first.get_window_extent().x1
        if first.get_rotation():
            points = distance * sin(radians(first.get_rotation())) * 72 / axes.figure.dpi
            overlap = points < 0.9 * first.get_fontsize()
        else:
            overlap = first.get_window_extent().x1 > second.get_window_extent().x0
        if overlap:
            yield f"{first.get_text()} and {second.get_text()} overlap"
    if axes.yaxis.label.get_window_extent().height > axes.figure.bbox.height:
        yield "the label of the scale is higher than the figure"
