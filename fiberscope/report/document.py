"""The one document that every run ends in, as it shows itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fiberscope.report.parts import Record

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

__all__ = ["Report"]


class Report(Record):
    """One run of one machine on one problem; what the fidelity cannot know is null or empty."""

    def summary(self, width: int = 100) -> str:
        """What the command line shows of a run, as plain text of so many columns; ``print`` shows it too."""
        from fiberscope.report.summary import as_text  # noqa: PLC0415  (rich takes time to load)

        return as_text(self, width)

    def __str__(self) -> str:
        """The summary."""
        return self.summary()

    def __repr__(self) -> str:
        """One line, as a whole report would flood a prompt."""
        ending = "verified" if self.verification.passed else self.ending
        return f"<Report: {self.accelerator} on {self.workload.name}, {self.cycles:,} cycles, {ending}>"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The summary in colours, for rich."""
        from fiberscope.report.summary import summary  # noqa: PLC0415

        yield summary(self, width=min(options.max_width, 120), ascii_only=options.ascii_only)

    def _repr_html_(self) -> str:
        """The summary in colours, for a notebook."""
        from fiberscope.report.summary import as_html  # noqa: PLC0415

        return as_html(self)
