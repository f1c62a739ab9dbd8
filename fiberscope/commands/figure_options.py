"""Options of commands that draw a figure of a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fiberscope.commands.option_groups import Needs, Options
from fiberscope.commands.options import FigureWidth

__all__ = ["StudyFigure"]

_NEEDS_PLOT = Needs("plot", "--plot FILE, the figure to draw")


class StudyFigure(Options):
    """Options of a figure of the runs of a store."""

    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a figure to this .svg, .png or .pdf file.")
    ] = None
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Figure to draw: speedup (default), roofline, energy, traffic or front (time against area).",
        ),
        _NEEDS_PLOT,
    ] = None
    against: Annotated[
        str | None,
        typer.Option(metavar="MACHINE", help="Machine that a figure compares with; the first by default."),
        _NEEDS_PLOT,
    ] = None
    figure_width: FigureWidth = "page"

    def draw(self, store: str, where: str | None, sort: Sequence[str], *, all_sources: bool) -> None:
        """Draw the figure of a store into the file, and say so.

        Raises:
            InputError: there is nothing to draw, or the file cannot be written.
        """
        from fiberscope.explore.sweeps.study_figures import draw_study
        from fiberscope.results.figures.style import parse_width
        from fiberscope.results.report.pictures import check_picture, save_figure

        assert self.plot is not None  # else there is nothing to draw
        check_picture(self.plot)
        width = parse_width(self.figure_width)
        figure = draw_study(
            store,
            self.figure or "speedup",
            where=where,
            sort=sort,
            against=self.against,
            width=width,
            all_sources=all_sources,
        )
        save_figure(lambda: figure, self.plot)
        print(f"Figure: {self.plot}")
