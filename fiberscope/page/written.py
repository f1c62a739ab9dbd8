"""Python entry point of pages: a report, several reports, or the store of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fiberscope.base.errors import InputError
from fiberscope.page.document import page
from fiberscope.page.run import run_data
from fiberscope.results.recording.document import StateTimeline
from fiberscope.results.report.document import Report
from fiberscope.results.report.html_page import HtmlPage
from fiberscope.results.report.remote_files import find_address


def write_page(
    results: Report | str | Path | Sequence[Report | str | Path],
    path: str | Path | None = None,
    *,
    timeline: str | Path | None = None,
    title: str = "",
    run_sources: bool = False,
    all_sources: bool = False,
) -> HtmlPage:
    """Return the HTML page of a report, of several compared reports, or of the store of a sweep.

    Args:
        results: a report or its file; several of them; or the folder or address of a store.
        path: a file that the page is also written to; None to write no file.
        timeline: the file of recorded states; only for a single report.
        title: the title of the page; by default machine and workload of a report, the names of several
            reports, or the name of a store.
        run_sources: run the Python file of the machine that the report names, to draw the machine; only for a
            single report.
        all_sources: for a store, include runs of older sources.

    Raises:
        InputError: a file contains no report or cannot be written, the store is empty, the timeline belongs
            to another run, or options do not apply to the results.
    """
    result_list = [results] if isinstance(results, Report | str | Path) else list(results)
    html_page = make_page(result_list, timeline, title, run_sources=run_sources, all_sources=all_sources)
    if path is not None:
        html_page.write(path)
    return html_page


def make_page(
    results: Sequence[Report | str | Path],
    timeline: str | Path | None,
    title: str,
    *,
    run_sources: bool,
    all_sources: bool,
) -> HtmlPage:
    """Return the page of results; the arguments are those of ``write_page``.

    Raises:
        InputError: the errors of ``write_page``.
    """
    store = next((str(result) for result in results if is_store(result)), None)
    if store is not None and len(results) > 1:
        raise InputError(f"{store} has the results of many runs; a page shows one study, or reports")
    is_single = store is None and len(results) == 1
    if timeline is not None and not is_single:
        names = (
            " ".join(str(result) for result in results if not isinstance(result, Report)) or "what is shown"
        )
        raise InputError(f"--timeline {timeline}: shows one run, and {names} has several")
    if run_sources and not is_single:
        raise InputError("--run-sources draws the machine of one run; give one report")
    if all_sources and store is None:
        raise InputError("--all-sources is for the page of a sweep; give its store")
    if store is not None:
        return _build_page(_read_study_page_data(store, title, all_sources))
    reports = [result if isinstance(result, Report) else Report.read(Path(result)) for result in results]
    if is_single:
        return report_page(reports[0], timeline, title, run_sources)
    from fiberscope.page.reports import compare_reports  # noqa: PLC0415  (needs the extra sweep)

    names_ = [result.accelerator if isinstance(result, Report) else Path(result).name for result in results]
    return _build_page(compare_reports(reports, title or " and ".join(names_)))


def report_page(
    report: Report, timeline: str | Path | None = None, title: str = "", run_sources: bool = False
) -> HtmlPage:
    """Return the page of a report; the arguments are those of ``write_page``.

    Raises:
        InputError: the timeline cannot be read, or belongs to another run.
    """
    states = None if timeline is None else StateTimeline.read(Path(timeline))
    return _build_page(run_data(report, states, title, run_sources))


def is_store(results: object) -> bool:
    """Return whether results are a store: a local folder, or an address that does not end in ``.json``.

    The content is not read, and a remote address need not exist.
    """
    if not isinstance(results, str | Path):
        return False
    text = str(results)
    return not text.endswith(".json") if find_address(text) else Path(text).is_dir()


def _build_page(data: dict[str, Any]) -> HtmlPage:
    return HtmlPage(data["title"], page(data, data["title"]))


def _read_study_page_data(address: str, title: str, all_sources: bool) -> dict[str, Any]:
    """Return the data of the page of a store."""
    from fiberscope.page.study import study_data  # noqa: PLC0415  (needs the extra sweep)
    from fiberscope.results.store import Store  # noqa: PLC0415

    return study_data(Store(address), title, all_sources=all_sources)
