"""Pages with the figures and tables of a suite, with captions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.evaluation import FIGURE_KINDS, Illustration
from fiberscope.explore.sweeps.study_figures import draw_study
from fiberscope.explore.sweeps.suite import Suite
from fiberscope.explore.sweeps.suite_figure import draw_suite
from fiberscope.explore.sweeps.suite_views import arrange_table, note_lines
from fiberscope.results.figures.pages import FigureItem, TableItem, draw_pages
from fiberscope.results.figures.style import parse_width
from fiberscope.results.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OVER: Final = ", divided by {what} of {against} on the same workload"
CAPTIONS: Final = {
    "speedup": "Speedup over {against}, by simulated time. The last group is the geometric mean over the "
    "workloads that every machine finished.",
    "roofline": "Roofline of each machine: multiplications per cycle over multiplications per byte of "
    "traffic with the memory. A point is a workload.",
    "energy": "Energy by component{energy}.",
    "traffic": "Bytes read from and written to the memory, by tensor{traffic}.",
    "front": "Time and area. The line joins the machines that no other machine beats in both.",
}


def draw_paper(suite: Suite, store: Store | str) -> list[Figure]:
    """Draw the figures and tables of a suite on letter pages, and return a figure for each page.

    Args:
        suite: machines, workloads and runs; its ``evaluation`` selects figures and tables.
        store: the store of its runs, or the address of the store.

    Raises:
        InputError: a selected figure cannot be drawn, or matplotlib is missing. Without a selection, figures
            that cannot be drawn are left out.
    """
    opened = Store(store) if isinstance(store, str) else store
    items: list[FigureItem | TableItem] = []
    for number, (picture, illustration) in enumerate(_choose_figures(suite, opened), start=1):
        caption = illustration.caption or _format_caption(suite, illustration.show[0])
        items.append(FigureItem(picture, f"Figure {number}. {caption}"))
    for number, table in enumerate(suite.evaluation.all_tables(), start=1):
        caption, arrangement = arrange_table(suite, table)
        # The notes are about all tables, and are printed once
        notes = note_lines(suite) if number == 1 else []
        items.append(TableItem(*arrangement, f"Table {number}. {caption}", notes))
    return draw_pages(items, suite.evaluation.title or _format_title(suite))


def _format_title(suite: Suite) -> str:
    counts = ((len(suite.machines), "machine"), (len(suite.workloads), "workload"))
    return " on ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)


def _format_caption(suite: Suite, kind: str) -> str:
    """Return the default caption of a figure."""
    has_several = len(suite.workloads) > 1
    ratios = {
        name: OVER.format(what=what, against=suite.against) if has_several else ""
        for name, what in (("energy", "the energy"), ("traffic", "the smallest possible traffic"))
    }
    return CAPTIONS[kind].format(against=suite.against, **ratios)


def _choose_figures(suite: Suite, store: Store) -> list[tuple[Figure, Illustration]]:
    """Return the figures of the evaluation, by default all that can be drawn."""
    if suite.evaluation.figures is not None:
        return [
            (_draw(suite, store, illustration.show[0]), illustration)
            for illustration in suite.evaluation.figures
        ]
    figures = []
    for kind in FIGURE_KINDS:
        with suppress(InputError):  # machines without energy or area
            figures.append((_draw(suite, store, kind), Illustration(show=[kind])))
    return figures


def _draw(suite: Suite, store: Store, kind: str) -> Figure:
    """Draw a figure: speed-ups from the suite, every other kind from the rows of its runs in the store."""
    width = parse_width(str(suite.evaluation.width))
    if kind == "speedup":
        return draw_suite(suite, width)
    # The runs by their digests, in the order of the suite. ``all_sources``, because another sweep may have
    # recorded that the sources of these runs have changed
    digests = _quote_literals([run.digest for run in suite.runs.values()])
    order = [f"list_position([{_quote_literals(suite.machines)}], machine)"]
    order.append(f"list_position([{_quote_literals(suite.workloads)}], workload)")
    condition = f"digest IN ({digests})"
    return draw_study(
        store, kind, where=condition, sort=order, against=suite.against, width=width, all_sources=True
    )


def _quote_literals(texts: Sequence[str]) -> str:
    """Return texts as literals of SQL."""
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
