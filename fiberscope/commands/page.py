"""``fiberscope page``: results as one HTML file that opens in any browser, without a network."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs, write_text
from fiberscope.results.report.remote_files import address_of

if TYPE_CHECKING:
    from typing import Any

__all__ = ["page"]

_Results = Annotated[
    list[str],
    typer.Argument(
        metavar="DIR|URL|REPORT.json...",
        help="Store of a sweep, or reports written with --json.",
    ),
]
_Timeline = Annotated[
    Path | None, typer.Option(metavar="FILE", help="States over time of the run, written with --timeline.")
]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write; - prints it.")
]
_Title = Annotated[str, typer.Option(metavar="TEXT", help="Title of the page.")]
_Sources = Annotated[
    bool,
    typer.Option(
        "--run-sources", help="Run the Python file of the machine that the report names, to draw the machine."
    ),
]


_AllSources = Annotated[
    bool, typer.Option("--all-sources", help="Also show runs of sources that have changed since.")
]


def page(
    results: _Results,
    output: _Output = None,
    timeline: _Timeline = None,
    title: _Title = "",
    run_sources: _Sources = False,
    all_sources: _AllSources = False,
) -> None:
    """Write runs as one HTML page with tables and charts.

    The page of a sweep filters, sorts, draws and compares its runs, and needs the extra sweep: pip install
    'fiberscope[sweep]'. The page of a report shows one run or several side by side.

    \b
    Examples:
      fiberscope page study
      fiberscope page study -o study.html --title 'FiberCache sizes'
      fiberscope page out.json -o run.html
      fiberscope page before.json after.json -o both.html
    """
    from fiberscope.page.document import page

    first = results[0]
    study = not first.endswith(".json") if address_of(first) else Path(first).is_dir()
    target = output or _page_path(first)
    files = [] if study else [Path(result) for result in results]
    inputs = {f"the report {file}": file for file in files}
    check_outputs({"--output": target}, {**inputs, "the timeline": timeline})
    if study and len(results) > 1:
        raise InputError(f"{first} has the results of many runs; a page is of one study, or of reports")
    if timeline is not None and (study or len(files) > 1):
        raise InputError(f"--timeline {timeline}: is of one run, and {' '.join(results)} has several")
    if run_sources and (study or len(files) > 1):
        raise InputError("--run-sources draws the machine of one run; give one report")
    if all_sources and not study:
        raise InputError("--all-sources is for the page of a sweep; give its store")
    if study:
        data = _study(first, title, all_sources)
    else:
        data = (
            _run(files[0], timeline, title, run_sources) if len(files) == 1 else _side_by_side(files, title)
        )
    written = page(data, data["title"])
    write_text(target, written)
    if target != STANDARD_OUTPUT:
        print(f"Page: {address_of(target) or target} ({len(written) / 1e6:.1f} MB; open it in a browser)")


def _page_path(results: str) -> Path:
    """The page of a report or of a folder lies beside it, that of object storage here."""
    place = Path(PurePosixPath(results).name) if address_of(results) else Path(results).resolve()
    return place.with_suffix(".html")


def _run(file: Path, timeline: Path | None, title: str, run_sources: bool) -> dict[str, Any]:
    """Return the data of the page of a report."""
    from fiberscope.page.run import run_data
    from fiberscope.results.recording.document import StateTimeline
    from fiberscope.results.report.document import Report

    states = None if timeline is None else StateTimeline.read(timeline)
    return run_data(Report.read(file), states, title, run_sources)


def _side_by_side(files: list[Path], title: str) -> dict[str, Any]:
    """Return the data of the page of several reports."""
    from fiberscope.page.reports import side_by_side

    return side_by_side(files, title)


def _study(address: str, title: str, all_sources: bool) -> dict[str, Any]:
    """Return the data of the page of a store."""
    from fiberscope.page.study import study_data
    from fiberscope.results.store import Store

    return study_data(Store(address), title, all_sources=all_sources)
