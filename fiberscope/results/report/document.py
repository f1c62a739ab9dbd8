"""Report of a run as a Python object: its answer, tables, plots, page and comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, PrivateAttr

from fiberscope.results.report.estimates import format_interval
from fiberscope.results.report.parts import Record
from fiberscope.workloads.tensor import SparseTensor

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import Console, ConsoleOptions, RenderableType

    from fiberscope.results.report.difference import Difference
    from fiberscope.results.report.html_page import HtmlPage

WRITE_PAGE = "fiberscope.page.written:write_page"  # in a higher layer, hence not imported


@dataclass
class _HeldAnswer:
    """The answer of a report, which is no part of the document and of comparisons.

    Pydantic compares private attributes too. With ``compare=False``, reports with different answers can be
    equal, and arrays are never compared.
    """

    answer: object = field(default=None, compare=False)


class Report(Record):
    """Report of one run of one machine on one problem; values unknown to a fidelity are null or empty."""

    _held: _HeldAnswer = PrivateAttr(default_factory=_HeldAnswer)

    @property
    def result(self) -> object:
        """Return the answer of the machine; None for an incomplete run and for a report from a file.

        A matrix is a scipy matrix, or a numpy array if every element is written. A tensor of other ranks is a
        ``fiberscope.workloads.SparseTensor``. The answer of a graph algorithm is an array with a value per
        vertex.
        """
        answer = self._held.answer
        return answer.simplest() if isinstance(answer, SparseTensor) else answer

    def holding(self, answer: object) -> Report:
        """Store the answer in this report, and return the same report; an earlier answer is replaced."""
        self._held.answer = answer
        return self

    def row(self) -> dict[str, Any]:
        """Return machine, workload, numbers and settings by dotted key, as a row of a DataFrame.

        ``pandas.DataFrame([report.row() for report in reports])`` has a row for each run.
        """
        from fiberscope.results.report.numbers import flatten_parameters, numbers  # noqa: PLC0415  (few runs go into a table)

        columns = {"accelerator": self.accelerator, "workload": self.workload.name}
        return {**columns, **numbers(self), **flatten_parameters(self.config)}

    def frame(self) -> pd.DataFrame:
        """Return a row for each component: its family, its cycles by state, its counters.

        The index is the instance name. ``components["pe.merger"].frame()`` has the rows of a family.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        return self.components.frame()

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the use of cycles and the traffic, and what else the report has.

        This can be costs by level, activity over time, iterations, and the occupancy of channels.

        Args:
            path: a PNG, SVG or PDF file that the figure is also written to.

        Returns:
            A matplotlib figure.

        Raises:
            InputError: the file cannot be written, the file name has another ending, or matplotlib is
                missing.
        """
        from fiberscope.results.report.pictures import figure, save_figure  # noqa: PLC0415  (heavy, and an extra)

        drawn = figure(self)
        if path is not None:
            save_figure(lambda: drawn, Path(path))
        return drawn

    def page(self, path: str | Path | None = None, **options: Any) -> HtmlPage:  # noqa: ANN401
        """Return the HTML page of the run; a notebook shows the page in a frame.

        Args:
            path: a file that the page is also written to.
            options: further options of ``fiberscope.write_page``: ``timeline``, ``title``, ``run_sources``.

        Raises:
            InputError: the file cannot be written, or the timeline belongs to another run.
        """
        html_page: HtmlPage = resolve_name(WRITE_PAGE)(self, path, **options)
        return html_page

    def diff(self, other: Report) -> Difference:
        """Compare the run with another run: sources, settings, and results by effect.

        This run is ``before``, the other run is ``after``, whichever ran first.
        """
        from fiberscope.results.report.difference import compare  # noqa: PLC0415  (few runs are compared)

        return compare(self, other)

    def __dir__(self) -> list[str]:
        """Return the names of a report, without those of every Pydantic model."""
        return [name for name in super().__dir__() if name.startswith("_") or not hasattr(BaseModel, name)]

    def summary(self, width: int = 100) -> str:
        """Return the summary of the command line as plain text of at most ``width`` columns.

        Args:
            width: columns, at least 60.
        """
        from fiberscope.results.report.summary import as_text  # noqa: PLC0415  (rich takes time to load)

        return as_text(self, width)

    def __str__(self) -> str:
        """Return the summary."""
        return self.summary()

    def __repr__(self) -> str:
        """Return one line, because a whole report would flood a prompt."""
        ending = "verified" if self.verification.passed else self.ending
        cycles = f"{self.cycles:,}{format_interval(self)} cycles"
        return f"<Report: {self.accelerator} on {self.workload.heading}, {cycles}, {ending}>"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the summary in colours, for rich; at most 120 columns wide."""
        from fiberscope.results.report.summary import summary  # noqa: PLC0415

        yield summary(self, width=min(options.max_width, 120), ascii_only=options.ascii_only)

    def _repr_html_(self) -> str:
        """Return the summary in colours, for a notebook."""
        from fiberscope.results.report.summary import as_html  # noqa: PLC0415

        return as_html(self)
