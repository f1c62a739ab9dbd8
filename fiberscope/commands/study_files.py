"""Options of commands that write a figure or an archive of a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.commands.option_groups import Needs, Options
from fiberscope.commands.options import FigureWidth

if TYPE_CHECKING:
    from fiberscope.results.store import Store

_NEEDS_PLOT = Needs("plot", "--plot FILE, the figure to draw")


class StudyFileOptions(Options):
    """Options of a figure and of an archive of the runs of a store."""

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
        typer.Option(
            metavar="MACHINE", help="Machine that a figure or --compare compares with; the first by default."
        ),
    ] = None
    figure_width: FigureWidth = None
    archive: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.zip", help="Write the store, its sources' digests and the environment to this file."
        ),
    ] = None

    def write(self, store: Store, where: str | None, sort: Sequence[str], *, all_sources: bool) -> None:
        """Write the requested figure and archive, and print their paths.

        The archive has all rows of the store, whatever the arguments.

        Args:
            where: SQL condition of the rows in the figure; None for all.
            sort: SQL terms that order these rows.
            all_sources: whether the figure includes rows of older sources.

        Raises:
            InputError: there is nothing to write, or a file cannot be written.
        """
        if self.plot is not None:
            self._draw(self.plot, store, where, sort, all_sources)
        if self.archive is not None:
            from fiberscope.results.store.archive import count_runs, format_appendix_line, write_archive

            index, digest = write_archive(store, self.archive)
            print(f"Archive: {self.archive}, {count_runs(index.runs)} and {index.failed:,} that failed")
            print(f"For an artifact appendix: {format_appendix_line(index, self.archive.name, digest)}")

    def _draw(
        self, path: Path, store: Store, where: str | None, sort: Sequence[str], all_sources: bool
    ) -> None:
        from fiberscope.explore.sweeps.study_figures import draw_study
        from fiberscope.results.figures.style import PAGE, parse_width
        from fiberscope.results.report.pictures import check_picture, save_figure

        check_picture(path)
        width = parse_width(self.figure_width or PAGE)
        figure = draw_study(
            store,
            self.figure or "speedup",
            where=where,
            sort=sort,
            against=self.against,
            width=width,
            all_sources=all_sources,
        )
        save_figure(lambda: figure, path)
        print(f"Figure: {path}")
