"""A suite as tables, in the terminal or in LaTeX, and as lines about what failed."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.explore.sweeps.resources import resource_warnings
from fiberscope.explore.sweeps.suite import Suite
from fiberscope.explore.sweeps.suite_columns import Scale, mean_cell, number_cell, scale_of
from fiberscope.results.report.latex import LatexRows, latex_float, latex_tabular
from fiberscope.results.report.surrogates import footnote
from fiberscope.results.report.table import Table

__all__ = ["failure_lines", "note_lines", "resource_table", "suite_latex", "suite_table"]

SHOWN = ("cycles", "speedup")
MEAN = ("geometric",)
PAGE_COLUMNS = 8  # of numbers, which fit on a page of the class article
RESOURCES = ("machine", "multipliers", "peak GB/s", "SRAM [KiB]", "area [mm2]", "clock [GHz]")


def suite_table(suite: Suite, columns: Sequence[str] = SHOWN, means: Sequence[str] = MEAN) -> Table:
    """Return a row for each workload and each mean, with the columns of every machine.

    Args:
        suite: machines and runs.
        columns: names of ``suite_columns.COLUMNS``.
        means: names of ``suite_columns.MEANS``.
    """
    scales = {name: scale_of(suite, name) for name in columns}
    heads = [scale.head for scale in scales.values()]
    all_heads = [head for machine in suite.machines for head in (f"{machine}, {heads[0]}", *heads[1:])]
    table = Table(_title(suite, columns), ["workload", *all_heads], together=len(columns))
    table.rows += [*_workload_rows(suite, scales), *_mean_rows(suite, scales, means)]
    return table


def _title(suite: Suite, columns: Sequence[str]) -> str:
    compared = f"Speedup over {suite.against}, by simulated time"
    return compared if "speedup" in columns else "Machines on workloads"


def _workload_rows(suite: Suite, scales: dict[str, Scale]) -> list[list[str]]:
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


def _mean_rows(suite: Suite, scales: dict[str, Scale], means: Sequence[str]) -> list[list[str]]:
    return [
        [
            f"{mean} mean of {len(suite.compared)}",
            *(
                mean_cell(suite, name, scale, mean, machine)
                for machine in suite.machines
                for name, scale in scales.items()
            ),
        ]
        for mean in means
    ]


def resource_table(suite: Suite) -> Table:
    """Return the resources of each machine that finished a run."""
    table = Table("Resources", RESOURCES)
    for machine in (machine for machine in suite.machines if machine in suite.resources):
        own = suite.resources[machine]
        numbers = [
            (own.multipliers, 1.0, ",.0f"),
            (own.peak_bytes_per_second, 1e-9, ",.4g"),
            (own.sram_bytes, 1 / 1024, ",.0f"),
            (own.area_um2, 1e-6, ",.3g"),
            (own.hertz, 1e-9, ",.3g"),
        ]
        cells = ("" if value is None else format(value * factor, form) for value, factor, form in numbers)
        table.add(machine, *cells)
    return table


def note_lines(suite: Suite) -> list[str]:
    """Return the lines below the tables: surrogates, scaled machines, and machines that are unequal."""
    surrogates = filter(None, [footnote(suite.surrogates)])
    return [*surrogates, *suite.scaled, *resource_warnings(suite.resources)]


def suite_latex(suite: Suite, columns: Sequence[str] = SHOWN, means: Sequence[str] = MEAN) -> str:
    """Return the table and the resources as one LaTeX float with booktabs.

    The machines are above their columns. A table that would be too wide for a page has a column for each
    machine, and a block of rows for each of ``columns``. The arguments are those of ``suite_table``.
    """
    wide = len(columns) == 1 or len(columns) * len(suite.machines) > PAGE_COLUMNS
    results = _stacked(suite, columns, means) if wide else _side_by_side(suite, columns, means)
    title = _title(suite, columns)
    resources = resource_table(suite)
    tabulars = [results, *([latex_tabular(RESOURCES, [("", resources.rows)])] if resources.rows else [])]
    return latex_float(f"{title}.", "tab:suite", tabulars, note_lines(suite))


def _side_by_side(suite: Suite, columns: Sequence[str], means: Sequence[str]) -> str:
    """A tabular with all columns of a machine side by side."""
    scales = {name: scale_of(suite, name) for name in columns}
    heads = [scale.head for scale in scales.values()]
    return latex_tabular(
        ["workload", *heads * len(suite.machines)],
        [("", _workload_rows(suite, scales)), ("", _mean_rows(suite, scales, means))],
        [(machine, len(columns)) for machine in suite.machines],
    )


def _stacked(suite: Suite, columns: Sequence[str], means: Sequence[str]) -> str:
    """A tabular with a column for each machine, and the rows of each column below one another."""
    blocks: list[tuple[str, LatexRows]] = []
    for name in columns:
        scales = {name: scale_of(suite, name)}
        title = "" if columns == ["speedup"] else scales[name].head
        blocks += [(title, _workload_rows(suite, scales)), ("", _mean_rows(suite, scales, means))]
    return latex_tabular(["workload", *suite.machines], blocks)


def failure_lines(suite: Suite) -> list[str]:
    """A line for each run that was not done."""
    return [
        f"{machine} on {workload}: {ran.status}: {ran.reason}"
        for (workload, machine), ran in suite.runs.items()
        if not ran.done
    ]
