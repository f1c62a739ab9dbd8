"""Options of ``fiberscope results`` that compare the machines of a store, as ``suite`` does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.option_groups import Options
from fiberscope.commands.suite_tables import SuiteTableOptions


class ComparisonOptions(Options):
    """Options that show a store as the tables of a suite."""

    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Show the tables of 'fiberscope suite': machines side by side. --columns takes the columns "
            "of suite.",
        ),
    ] = False
    mean: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Means over workloads in these tables: geometric (default), arithmetic, harmonic.",
        ),
    ] = None

    def check(self, against: str | None, plot: Path | None, others: Mapping[str, object]) -> None:
        """Check the combination of options.

        Args:
            against: the baseline.
            plot: the file of a figure.
            others: options that do not apply to this table, with their values.

        Raises:
            InputError: a combination is invalid; the message names the option.
        """
        if self.mean and not self.compare:
            raise InputError("--mean needs --compare, the tables of a suite")
        if against and not (self.compare or plot):
            raise InputError("--against needs --compare, or --plot FILE, the figure to draw")
        for name, value in others.items():
            if self.compare and value:
                raise InputError(f"{name} is not for --compare; leave one out")

    def write(self, tables: Mapping[str, object], **rows: Any) -> None:  # noqa: ANN401
        """Write and print the tables of the suite.

        Args:
            tables: values of the options of ``SuiteTableOptions``, except for ``mean``.
            rows: arguments of ``read_stored_suite``.
        """
        from fiberscope.explore.sweeps.stored_suite import read_stored_suite

        options = SuiteTableOptions({**tables, "mean": self.mean})
        evaluation_options = options.parse_evaluation()  # detects errors before the store is read
        options.write(read_stored_suite(**rows).replace_evaluation(evaluation_options))
