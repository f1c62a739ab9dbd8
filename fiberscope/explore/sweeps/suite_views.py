"""Views of a suite: tables for the terminal and LaTeX, and lines about failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fiberscope.explore.sweeps.evaluation import RESOURCES as RESOURCE_TABLE
from fiberscope.explore.sweeps.evaluation import Illustration
from fiberscope.explore.sweeps.resources import Resources, list_resource_warnings
from fiberscope.explore.sweeps.suite import Suite
from fiberscope.explore.sweeps.suite_columns import (
    COLUMNS,
    LOWER_BOUND_MARK,
    CellFormat,
    choose_format,
    format_interval,
    format_mean_cell,
    number_cell,
)
from fiberscope.results.report.latex import LatexRows, format_latex_float, format_latex_tabular
from fiberscope.results.report.surrogates import format_footnote
from fiberscope.results.report.table import Table

DEFAULT_COLUMNS = ("cycles", "speedup")
DEFAULT_MEANS = ("geometric",)
PAGE_COLUMNS = 8  # maximum of number columns on a page of the class article
RESOURCES = ("machine", "multipliers", "peak GB/s", "SRAM [KiB]", "area [mm2]", "clock [GHz]")


def suite_table(
    suite: Suite, columns: Sequence[str] = DEFAULT_COLUMNS, means: Sequence[str] = DEFAULT_MEANS
) -> Table:
    """Return a row for each workload and each mean, with the columns of every machine.

    Args:
        suite: machines and runs.
        columns: names of ``suite_columns.COLUMNS``, at least one and each once.
        means: names of ``suite_columns.MEANS``.
    """
    scales = {name: choose_format(suite, name) for name in columns}
    heads = [scale.head for scale in scales.values()]
    # only the first column of a machine has the machine's name
    all_heads = [head for machine in suite.machines for head in (f"{machine}, {heads[0]}", *heads[1:])]
    table = Table(format_suite_title(suite, columns), ["workload", *all_heads], together=len(columns))
    table.rows += [*_build_workload_rows(suite, scales), *_build_mean_rows(suite, scales, means)]
    return table


def format_suite_title(suite: Suite, columns: Sequence[str]) -> str:
    """Return the title of a table with these columns."""
    compared = f"Speedup over {suite.against}, by simulated time"
    return compared if "speedup" in columns else "Machines on workloads"


def _build_workload_rows(suite: Suite, scales: dict[str, CellFormat]) -> list[list[str]]:
    """Return a row for each workload: its label, and the cells of each machine, machine by machine."""
    return [
        [
            label,
            *(
                number_cell(suite, name, scale, workload, machine)
                for machine in suite.machines
                for name, scale in scales.items()
            ),
        ]
        for workload, label in suite.labels.items()
    ]


def _build_mean_rows(suite: Suite, scales: dict[str, CellFormat], means: Sequence[str]) -> list[list[str]]:
    """Return a row for each mean, over the workloads that all machines finished; cells as in other rows."""
    return [
        [
            f"{mean} mean of {len(suite.compared)}",
            *(
                format_mean_cell(suite, name, scale, mean, machine)
                for machine in suite.machines
                for name, scale in scales.items()
            ),
        ]
        for mean in means
    ]


def build_resource_table(suite: Suite) -> Table:
    """Return the resources of each machine with a finished run."""
    table = Table("Resources", RESOURCES)
    for machine in (machine for machine in suite.machines if machine in suite.resources):
        resources = suite.resources[machine]
        cells = [
            _format_amount(resources.multipliers, 1.0, ",.0f"),
            _format_amount(resources.peak_bytes_per_second, 1e-9, ",.4g"),
            _format_amount(resources.sram_bytes, 1 / 1024, ",.0f"),
            _format_area(resources),
            _format_amount(resources.hertz, 1e-9, ",.3g"),
        ]
        table.add(machine, *cells)
    return table


def _format_amount(value: float | None, factor: float, form: str) -> str:
    return "" if value is None else format(value * factor, form)


def _format_area(resources: Resources) -> str:
    """Format the known area and its upper end in mm2."""
    if resources.area_um2 is None:
        return ""
    return format_interval(
        resources.area_um2, resources.area_upper, lambda um2: _format_amount(um2, 1e-6, ",.3g")
    )


def note_lines(suite: Suite) -> list[str]:
    """Return the notes below the tables: surrogates, scaled and unequal machines, and lower bounds."""
    surrogates = filter(None, [format_footnote(suite.surrogates)])
    bounds = [name for name in suite.machines if _has_lower_bound(suite, name)]
    line = f"{LOWER_BOUND_MARK} behind an area or energy: a lower bound, because some parts have no figure"
    return [
        *surrogates,
        *suite.scaled,
        *list_resource_warnings(suite.resources),
        *([f"{line} ({', '.join(bounds)})"] if bounds else []),
    ]


def _has_lower_bound(suite: Suite, machine: str) -> bool:
    """Return whether an area or energy of a machine in the tables is a lower bound."""
    # All tables that may be shown, as the notes below the first table are about all
    tables = [*suite.evaluation.all_tables(), Illustration(show=suite.evaluation.columns)]
    shown = {name for table in tables for name in table.show}
    columns = [column for name, column in COLUMNS.items() if name in shown and column.upper]
    measures = [run.measures for (_workload, name), run in suite.runs.items() if name == machine]
    intervals = [
        (values.get(column.measure), values.get(column.upper)) for values in measures for column in columns
    ]
    if (resources := suite.resources.get(machine)) is not None:
        intervals.append((resources.area_um2, resources.area_upper))
    return any(lower and upper is None for lower, upper in intervals)


class Arrangement(NamedTuple):
    """A table for a page.

    Args:
        heads: the heads of the columns.
        blocks: rows of text, with a title in a row of its own; an empty title is not printed.
        groups: heads over several columns, from the second column on, with the number of columns of each.
    """

    heads: Sequence[str]
    blocks: Sequence[tuple[str, LatexRows]]
    groups: Sequence[tuple[str, int]] = ()


def arrange_suite(suite: Suite, columns: Sequence[str], means: Sequence[str]) -> Arrangement:
    """Return the table of a suite for a page, with the machines above their columns.

    A table of one of ``columns``, or of more than ``PAGE_COLUMNS`` columns of numbers, has a column for each
    machine and a block of rows for each of ``columns`` instead. With very many machines, even this table is
    too wide for a page.
    The arguments are those of ``suite_table``.
    """
    scales = {name: choose_format(suite, name) for name in columns}
    if len(columns) == 1 or len(columns) * len(suite.machines) > PAGE_COLUMNS:
        return _build_stacked_table(suite, scales, means)
    heads = [scale.head for scale in scales.values()]
    blocks = [("", _build_workload_rows(suite, scales)), ("", _build_mean_rows(suite, scales, means))]
    groups = [(machine, len(columns)) for machine in suite.machines]
    return Arrangement(["workload", *heads * len(suite.machines)], blocks, groups)


def _build_stacked_table(suite: Suite, scales: dict[str, CellFormat], means: Sequence[str]) -> Arrangement:
    """Return a table with a column for each machine, and a block of rows for each column."""
    blocks: list[tuple[str, LatexRows]] = []
    for name, scale in scales.items():
        # the default caption of a table of speed-ups alone says what its cells are
        title = "" if list(scales) == ["speedup"] else scale.head
        blocks.append((title, _build_workload_rows(suite, {name: scale})))
        # a block of its own, so that a rule separates the means from the runs
        blocks.append(("", _build_mean_rows(suite, {name: scale}, means)))
    return Arrangement(["workload", *suite.machines], blocks)


def arrange_resources(suite: Suite) -> Arrangement:
    """Return the table of resources for a page."""
    return Arrangement(RESOURCES, [("", build_resource_table(suite).rows)])


def format_evaluation_latex(suite: Suite) -> str:
    """Return the tables of the evaluation as LaTeX floats with booktabs.

    Without tables, a single float has the table of ``columns`` and the resources.
    """
    evaluation = suite.evaluation
    if evaluation.tables is None:
        return format_suite_latex(suite, evaluation.columns, evaluation.mean)
    floats = []
    for number, table in enumerate(evaluation.tables, start=1):
        caption, arrangement = arrange_table(suite, table)
        tabular = format_latex_tabular(*arrangement)
        # the notes are about all tables, and are printed once
        notes = note_lines(suite) if number == 1 else []
        floats.append(format_latex_float(caption, f"tab:suite-{number}", [tabular], notes))
    return "\n".join(floats)


def arrange_table(suite: Suite, table: Illustration) -> tuple[str, Arrangement]:
    """Return the caption of a table of the evaluation, and the table for a page."""
    if table.show == [RESOURCE_TABLE]:
        return table.caption or "Resources of the machines.", arrange_resources(suite)
    caption = table.caption or f"{format_suite_title(suite, table.show)}."
    return caption, arrange_suite(suite, table.show, suite.evaluation.mean)


def format_suite_latex(
    suite: Suite, columns: Sequence[str] = DEFAULT_COLUMNS, means: Sequence[str] = DEFAULT_MEANS
) -> str:
    """Return the table, and the resources if a run has finished, as one LaTeX float with booktabs.

    The arguments are those of ``suite_table``.
    """
    arrangements = [arrange_suite(suite, columns, means)]
    if build_resource_table(suite).rows:
        arrangements.append(arrange_resources(suite))
    tabulars = [format_latex_tabular(*arrangement) for arrangement in arrangements]
    return format_latex_float(
        f"{format_suite_title(suite, columns)}.", "tab:suite", tabulars, note_lines(suite)
    )


def failure_lines(suite: Suite) -> list[str]:
    """Return a line for each run that is not finished: failed, refused or missing."""
    return [
        f"{machine} on {workload}: {result.status}: {result.reason}"
        for (workload, machine), result in suite.runs.items()
        if not result.done
    ]
