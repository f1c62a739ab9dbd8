"""Options of ``fiberscope suite`` for its tables: columns, means and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.commands.option_groups import Options
from fiberscope.commands.options import Markdown
from fiberscope.results.report.files import STANDARD_OUTPUT, write_text

if TYPE_CHECKING:
    from fiberscope.explore.sweeps.suite import Suite


class SuiteTableOptions(Options):
    """Options of the tables of a suite, which ``fiberscope suite`` evaluates after its runs."""

    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Columns of each machine: cycles, time, speedup, traffic, energy, edp, area, utilization, "
            "bandwidth; cycles,speedup by default.",
        ),
    ] = None
    mean: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...", help="Means over workloads: geometric (default), arithmetic, harmonic."
        ),
    ] = None
    latex: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the tables as LaTeX to this file; - prints them."),
    ] = None
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a CSV row for each run to this file.")
    ] = None
    markdown: Markdown = False

    def parse_evaluation(self) -> dict[str, list[str]]:
        """Return the requested columns and means, as keys of an ``Evaluation``.

        A key without an option is missing, so that the suite's own choice or the default applies.

        Raises:
            InputError: a name is unknown.
        """
        from fiberscope.explore.sweeps.suite_columns import COLUMNS, MEANS, check_choices

        columns = {"columns": check_choices("--columns", self.columns, COLUMNS)} if self.columns else {}
        means = {"mean": check_choices("--mean", self.mean, MEANS)} if self.mean else {}
        return columns | means

    def write(self, suite: Suite) -> None:
        """Write the requested files; print tables, notes and failures unless a file is standard output.

        Raises:
            InputError: a file cannot be written.
        """
        from fiberscope.commands.output import show
        from fiberscope.explore.sweeps.suite_views import (
            build_resource_table,
            failure_lines,
            format_evaluation_latex,
            note_lines,
            suite_table,
        )

        if self.csv is not None:
            write_text(self.csv, suite.frame().to_csv(index=False))
        if self.latex is not None:
            write_text(self.latex, format_evaluation_latex(suite))
        if STANDARD_OUTPUT in (self.csv, self.latex):
            return
        resources = build_resource_table(suite)
        comparison = suite_table(suite, suite.evaluation.columns, suite.evaluation.mean)
        show([comparison, *([resources] if resources.rows else [])], markdown=self.markdown)
        for line in [*note_lines(suite), *failure_lines(suite)]:
            print(line)
