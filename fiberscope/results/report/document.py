"""The one document that every run ends in, as it shows itself."""

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

__all__ = ["Report"]

WRITE_PAGE = "fiberscope.page.written:write_page"  # of a room above, which nothing here imports


@dataclass
class _HeldAnswer:
    """An answer beside its report: no part of the document, and so of no comparison of two."""

    answer: object = field(default=None, compare=False)


class Report(Record):
    """One run of one machine on one problem; what the fidelity cannot know is null or empty."""

    _held: _HeldAnswer = PrivateAttr(default_factory=_HeldAnswer)

    @property
    def result(self) -> object:
        """The answer as the machine wrote it; None of a run that did not end, and of a report out of a file.

        Of a product a scipy matrix, or a numpy array where every element is written; of what has other ranks
        a ``fiberscope.workloads.SparseTensor``; of an algorithm on a graph an array, a value a vertex.
        """
        answer = self._held.answer
        return answer.simplest() if isinstance(answer, SparseTensor) else answer

    def holding(self, answer: object) -> Report:
        """Itself, with its answer."""
        self._held.answer = answer
        return self

    def row(self) -> dict[str, Any]:
        """The run's numbers, then its settings by dotted key: a row of a DataFrame.

        ``pandas.DataFrame([report.row() for report in reports])`` has a row a run.
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
        """Draw where the cycles went, the traffic, and both over time.

        Args:
            path: also write the figure into this PNG, SVG or PDF file.

        Returns:
            A matplotlib figure, which a notebook shows.

        Raises:
            InputError: the file cannot be written, its name ends otherwise, or matplotlib is missing.
        """
        from fiberscope.results.report.pictures import figure, save_figure  # noqa: PLC0415  (heavy, and an extra)

        drawn = figure(self)
        if path is not None:
            save_figure(lambda: drawn, Path(path))
        return drawn

    def page(self, path: str | Path | None = None, **options: Any) -> HtmlPage:  # noqa: ANN401
        """Make the HTML page of the run; a notebook shows it in a frame.

        Args:
            path: also write the page into this file.
            options: others of ``fiberscope.write_page``: ``timeline``, ``title``, ``run_sources``.

        Raises:
            InputError: the file cannot be written, or the timeline is another run's.
        """
        html_page: HtmlPage = resolve_name(WRITE_PAGE)(self, path, **options)
        return html_page

    def diff(self, other: Report) -> Difference:
        """Say what differs in a later run: its sources, settings, and results by effect."""
        from fiberscope.results.report.difference import compare  # noqa: PLC0415  (few runs are compared)

        return compare(self, other)

    def __dir__(self) -> list[str]:
        """Return the names of a report, without those that every model of Pydantic has."""
        return [name for name in super().__dir__() if name.startswith("_") or not hasattr(BaseModel, name)]

    def summary(self, width: int = 100) -> str:
        """Return the summary of the command line as plain text in ``width`` columns; ``print`` shows it."""
        from fiberscope.results.report.summary import as_text  # noqa: PLC0415  (rich takes time to load)

        return as_text(self, width)

    def __str__(self) -> str:
        """The summary."""
        return self.summary()

    def __repr__(self) -> str:
        """One line, as a whole report would flood a prompt."""
        ending = "verified" if self.verification.passed else self.ending
        cycles = f"{self.cycles:,}{format_interval(self)} cycles"
        return f"<Report: {self.accelerator} on {self.workload.heading}, {cycles}, {ending}>"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The summary in colours, for rich."""
        from fiberscope.results.report.summary import summary  # noqa: PLC0415

        yield summary(self, width=min(options.max_width, 120), ascii_only=options.ascii_only)

    def _repr_html_(self) -> str:
        """The summary in colours, for a notebook."""
        from fiberscope.results.report.summary import as_html  # noqa: PLC0415

        return as_html(self)
