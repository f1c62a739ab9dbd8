"""``fiberscope page``: results as one HTML file that opens in any browser, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.errors import InputError
from fiberscope.report.files import STANDARD_OUTPUT, check_outputs, write_text

if TYPE_CHECKING:
    from typing import Any

__all__ = ["page"]

_Results = Annotated[Path, typer.Argument(metavar="FOLDER", help="The results of a sweep.")]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="An .html file; - for the terminal.")
]
_Title = Annotated[str, typer.Option(metavar="TEXT", help="Of the page.")]


def page(results: _Results, output: _Output = None, title: _Title = "") -> None:
    """Make a page of results: one HTML file to filter, sort, draw and compare runs in, offline.

    Needs the extra sweep: pip install 'fiberscope[sweep]'.

    \b
    Examples:
      fiberscope page study
      fiberscope page study -o study.html --title 'FiberCache sizes'
    """
    from fiberscope.page.document import page

    target = output or results.resolve().with_suffix(".html")
    check_outputs({"--output": target}, {})
    data = _study(results, title)
    write_text(target, page(data, data["title"]))
    if target != STANDARD_OUTPUT:
        print(f"Page: {target} ({target.stat().st_size / 1e6:.1f} MB; open it in a browser)")


def _study(folder: Path, title: str) -> dict[str, Any]:
    """Of a store."""
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder; give that of a sweep's results")
    try:
        from fiberscope.page.study import study_data
        from fiberscope.store import Store
    except ImportError as error:
        raise InputError(f"a page needs {error.name}: pip install 'fiberscope[sweep]'") from error
    return study_data(Store(folder), title)
