"""``fiberscope page``: results as one HTML file that opens in any browser, without a network."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.errors import InputError
from fiberscope.report.files import STANDARD_OUTPUT, check_outputs, write_text
from fiberscope.report.remote import address_of

if TYPE_CHECKING:
    from typing import Any

__all__ = ["page"]

_Results = Annotated[
    str, typer.Argument(metavar="DIR|URL|REPORT.json", help="The results of a sweep, or the report of a run.")
]
_Timeline = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Of a run: what its components did over time.")
]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="An .html file; - for the terminal.")
]
_Title = Annotated[str, typer.Option(metavar="TEXT", help="Of the page.")]


def page(results: _Results, output: _Output = None, timeline: _Timeline = None, title: _Title = "") -> None:
    """Make a page of results: one HTML file to look at runs in.

    To filter, sort, draw and compare many, or to look at one. That of a sweep needs the extra sweep: pip
    install 'fiberscope[sweep]'.

    \b
    Examples:
      fiberscope page study
      fiberscope page study -o study.html --title 'FiberCache sizes'
      fiberscope page out.json -o run.html
    """
    from fiberscope.page.document import page

    many = not results.endswith(".json") if address_of(results) else Path(results).is_dir()
    target = output or _beside(results)
    check_outputs(
        {"--output": target}, {"the report": None if many else Path(results), "the timeline": timeline}
    )
    if timeline is not None and many:
        raise InputError(f"--timeline {timeline}: is of one run, and {results} has the results of many")
    data = _study(results, title) if many else _run(Path(results), timeline, title)
    written = page(data, data["title"])
    write_text(target, written)
    if target != STANDARD_OUTPUT:
        print(f"Page: {address_of(target) or target} ({len(written) / 1e6:.1f} MB; open it in a browser)")


def _beside(results: str) -> Path:
    """The page of a report or of a folder lies beside it, that of object storage here."""
    place = Path(PurePosixPath(results).name) if address_of(results) else Path(results).resolve()
    return place.with_suffix(".html")


def _run(file: Path, timeline: Path | None, title: str) -> dict[str, Any]:
    """Of a report."""
    from fiberscope.page.run import run_data
    from fiberscope.report.document import Report
    from fiberscope.states.document import StateTimeline

    states = None if timeline is None else StateTimeline.read(timeline)
    return run_data(Report.read(file), states, title)


def _study(address: str, title: str) -> dict[str, Any]:
    """Of a store."""
    from fiberscope.page.study import study_data
    from fiberscope.store import Store

    return study_data(Store(address), title)
