"""Pictures of a tiling plan: traffic by reorder factor, and occupancy of tiles."""

from __future__ import annotations

from itertools import cycle, islice
from typing import TYPE_CHECKING

import numpy as np

from fiberscope.models.tiles.base import Scheme, cut_one
from fiberscope.models.tiles.plan import Plan
from fiberscope.results.report.pictures import LEGEND, LIMIT_COLOUR, READ, WORK, WRITTEN, blank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_INCHES = 3.4  # height of a row of plots
MAX_PIXELS = 256  # largest number of pixels along a side of a picture; several tiles may share a pixel
COLOURS = (READ, WORK, "#CC79A7", "#E69F00")  # of the inputs; the output has the colour ``WRITTEN``


def draw_plan(plan: Plan) -> Figure:
    """Draw the traffic of the candidates, and the tiles of each operand with two or more ranks.

    The left column shows Conservative's tiles, the right column D2T2's. Candidates that are not measured yet
    are measured first, which takes time. A plan without candidates has no plot of traffic.

    Raises:
        InputError: matplotlib is missing, or the kernel is a sum, whose candidates cannot be measured.
    """
    names = [name for name in plan.kernel.inputs if len(plan.kernel.indices[name]) > 1]
    figure = blank(str(plan.kernel), ROW_INCHES * (1 + len(names)) + 0.5)
    grid = figure.add_gridspec(1 + len(names), 2)
    if plan.chosen.candidates:
        _draw_traffic(figure.add_subplot(grid[0, :]), plan)
    for row, name in enumerate(names, start=1):
        for column, scheme in enumerate((plan.schemes["conservative"], plan.chosen)):
            _draw_tiles(figure.add_subplot(grid[row, column]), plan, name, scheme)
    return figure


def _draw_traffic(axes: Axes, plan: Plan) -> None:
    """Draw a predicted and a measured bar for each candidate, with the tensors stacked."""
    candidates = plan.chosen.candidates
    predicted = [
        {**candidate.prediction.inputs, "O": candidate.prediction.output} for candidate in candidates
    ]
    measured = [
        {name: float(words) for name, words in measurement.count_words_by_operand().items()}
        for measurement in plan.measured_candidates
    ]
    positions = np.arange(len(candidates))
    for offset, traffic, opacity in ((-0.2, predicted, 0.55), (0.2, measured, 1.0)):
        bottom = np.zeros(len(candidates))
        # the output comes last; with more inputs than ``COLOURS``, the colours repeat
        colours = [*islice(cycle(COLOURS), len(predicted[0]) - 1), WRITTEN]
        for name, colour in zip(predicted[0], colours, strict=True):
            words = np.array([words_by_tensor[name] for words_by_tensor in traffic])
            label = f"{name}, {'predicted' if offset < 0 else 'measured'}"
            axes.bar(positions + offset, words, 0.36, bottom, color=colour, alpha=opacity, label=label)
            bottom += words
    axes.set_xticks(positions, [f"{candidate.rf:g}" if candidate.rf else "" for candidate in candidates])
    axes.set_title("Traffic of the candidates", loc="left")
    axes.set_xlabel("RF", loc="right", fontsize="small")
    axes.set_ylabel("words", fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(**{**LEGEND, "ncols": 6})


def _draw_tiles(axes: Axes, plan: Plan, name: str, scheme: Scheme) -> None:
    """Draw the size of an operand's tiles in the buffer, in the unit of the plan's metric.

    The first rank as the kernel writes it is vertical, the second horizontal. A pixel shows the fullest of
    its tiles, over all further ranks. The operand is partitioned anew, even if the scheme packs base tiles.
    """
    tiled = cut_one(plan.kernel, name, plan.tensors[name], scheme.shape)
    sizes = np.array([min(MAX_PIXELS, tiles) for tiles in tiled.grid[:2]])
    # with more tiles than pixels, tile t of n is in pixel t * pixels // n
    image = np.zeros(sizes)
    rows, columns = (
        ids * size // tiles for ids, size, tiles in zip(tiled.ids, sizes, tiled.grid, strict=False)
    )
    np.maximum.at(image, (rows, columns), tiled.buffered_sizes(plan.metric))
    height, width = tiled.extents[:2]  # axes in coordinates of the tensor, row 0 at the top
    axes.imshow(
        image, cmap="Blues", vmin=0, vmax=max(1.0, image.max()), aspect="auto", interpolation="nearest",
        extent=(0, width, height, 0),
    )  # fmt: skip
    shape = " x ".join(f"{size:,}" for size in tiled.shape)
    fullest = f"the fullest at {image.max() / plan.capacity:.0%} of the buffer"
    axes.set_title(f"{name}, {scheme.name}: {shape}; {fullest}", loc="left", fontsize="medium")
    axes.tick_params(colors=LIMIT_COLOUR)
