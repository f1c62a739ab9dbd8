"""``fiberscope page``: results as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from fiberscope.commands.options import AllSources
from fiberscope.results.report.files import STANDARD_OUTPUT, check_outputs
from fiberscope.results.report.remote_files import find_address

_Results = Annotated[
    list[str],
    typer.Argument(
        metavar="DIR|URL|REPORT.json...", help="Store of a sweep, or reports written with --json."
    ),
]
_Timeline = Annotated[
    Path | None, typer.Option(metavar="FILE", help="States over time of the run, written with --timeline.")
]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write; - prints it.")
]
_Title = Annotated[str, typer.Option(metavar="TEXT", help="Title of the page.")]
_RunSources = Annotated[
    bool,
    typer.Option(
        "--run-sources", help="Run the Python file of the machine that the report names, to draw the machine."
    ),
]


def page(
    results: _Results,
    output: _Output = None,
    timeline: _Timeline = None,
    title: _Title = "",
    run_sources: _RunSources = False,
    all_sources: AllSources = False,
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
    from fiberscope.page.written import is_store, make_page

    target = output or _choose_page_path(results[0])
    # A store is a folder or an address, which the page cannot overwrite
    files = {} if is_store(results[0]) else {f"the report {file}": Path(file) for file in results}
    check_outputs({"--output": target}, {**files, "the timeline": timeline})
    html_page = make_page(results, timeline, title, run_sources=run_sources, all_sources=all_sources)
    html_page.write(target)
    if target != STANDARD_OUTPUT:
        size = len(html_page.html) / 1e6
        print(f"Page: {find_address(target) or target} ({size:.1f} MB; open it in a browser)")


def _choose_page_path(results: str) -> Path:
    """Return the default path of a page: beside a local report or store, else in the current folder.

    Args:
        results: the first report, or the store: a path or an address.
    """
    # ``resolve`` gives a name to a store that is the current folder, as in ``fiberscope page .``
    path = Path(PurePosixPath(results).name) if find_address(results) else Path(results).resolve()
    return path.with_suffix(".html")
