"""Figures of a store: speed-ups, roofline, breakdowns of energy and traffic, and time against area."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any, Final

from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.resources import read_resources
from fiberscope.explore.sweeps.suite import Suite, SuiteResult
from fiberscope.explore.sweeps.suite_figure import draw_suite
from fiberscope.explore.sweeps.task_status import DONE
from fiberscope.results.figures.breakdowns import (
    MEMORY_PART,
    StackedBars,
    draw_stacked_bars,
    limit_parts,
    list_energy_parts,
    list_traffic_parts,
)
from fiberscope.results.figures.front import draw_front
from fiberscope.results.figures.roofline import draw_roofline
from fiberscope.results.figures.study_runs import StudyRuns, read_study_runs
from fiberscope.results.figures.style import PATTERNS, SURROGATE_NOTE, WIDTHS
from fiberscope.results.report.document import Report
from fiberscope.results.report.surrogates import DAGGER
from fiberscope.results.store import Store
from fiberscope.workloads.errors import suggest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SI: Final = ((1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"), (1e-9, "nJ"), (1e-12, "pJ"))
TIMES: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
BYTES: Final = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "bytes"))


def draw_study(
    store: Store | str,
    kind: str = "speedup",
    *,
    where: str | None = None,
    sort: Sequence[str] = (),
    against: str | None = None,
    width: float = WIDTHS["page"],
    all_sources: bool = False,
) -> Figure:
    """Draw a figure of the runs of a store.

    Args:
        store: the store, or its address.
        kind: ``speedup``, ``roofline``, ``energy``, ``traffic`` or ``front``.
        where: a condition in SQL; all rows by default.
        sort: columns that order machines and workloads; by name by default.
        against: the baseline of ratios, a machine with its settings as the figure names it; the first by
            default. It has no effect on ``roofline``. With a single workload, only ``speedup`` has ratios.
        width: the width of the figure, in inches.
        all_sources: whether to include rows of older sources.

    Raises:
        InputError: there is no such kind or machine, there are no rows, too many machines, no area of the
            baseline (``front`` of several workloads), a report that cannot be read, two runs of a machine
            with the same settings and workload, or no matplotlib.
    """
    if kind not in KINDS:
        raise InputError(f"no figure is called {kind}; {suggest(kind, KINDS)}")
    opened = Store(store) if isinstance(store, str) else store
    runs = read_study_runs(opened, where, sort, all_sources=all_sources)
    first = against or runs.series[0]
    if first not in runs.series:
        raise InputError(f"{first} is none of the machines of the figure; {suggest(first, runs.series)}")
    figure: Figure = KINDS[kind](opened, runs, first, width)
    return figure


def _draw_speedups(_store: Store, runs: StudyRuns, against: str, width: float) -> Figure:
    _check_series(runs, 1)  # the baseline has no bars and needs no pattern
    results = {
        (workload, series): _build_suite_result(runs.rows.get((series, workload)))
        for workload in runs.workloads
        for series in runs.series
    }
    # ``Suite`` adds the daggers itself
    names = {workload: workload.rstrip(DAGGER) for workload in runs.workloads}
    return draw_suite(Suite(runs.series, runs.workloads, against, results, names), width)


def _build_suite_result(row: Mapping[str, Any] | None) -> SuiteResult:
    """Return a row of a store as a result of a suite."""
    if row is None or row["status"] != DONE:
        return SuiteResult(*(("missing", "not run") if row is None else (row["status"], row["reason"])))
    interval = None if row["cycles_low"] is None else (row["cycles_low"], row["cycles_high"])
    return SuiteResult(DONE, "", row["cycles"], row["seconds"], row["workload_source"], interval)


def _draw_roofline(store: Store, runs: StudyRuns, _against: str, width: float) -> Figure:
    _check_series(runs)
    reports = _collect_reports(store, runs)
    by_series = {
        series: [reports[series, workload] for workload in runs.workloads if (series, workload) in reports]
        for series in runs.series
    }
    multipliers = {series: _count_multipliers(runs, series) for series in runs.series}
    return draw_roofline(by_series, multipliers, width, "\n".join(_format_surrogate_note(runs)))


def _count_multipliers(runs: StudyRuns, series: str) -> float | None:
    """Return the multipliers of a machine; None if the machine is unavailable or does not state them."""
    # series come from rows, so that each of them has one
    row = next(row for workload in runs.workloads if (row := runs.rows.get((series, workload))))
    return read_resources(row).multipliers


def _draw_energy(store: Store, runs: StudyRuns, against: str, width: float) -> Figure:
    """Draw the known energy by family; with several workloads, over the total of the baseline."""
    reports = _collect_reports(store, runs)
    parts = {key: list_energy_parts(report) for key, report in reports.items()}
    totals = {workload: sum(parts.get((against, workload), {}).values()) for workload in runs.workloads}
    # amounts are in pJ, and factors of units in J
    unit = _choose_unit([1e-12 * sum(amounts.values()) for amounts in parts.values()], SI)
    single = (1e-12 / unit[0], f"Energy ({unit[1]})")
    # bars with and without off-chip energy do not compare; if no bar has it, no note is needed
    bare = [series for series in runs.series if not _has_memory(series, parts)]
    note = [f"without memory: {', '.join(bare)}"] if 0 < len(bare) < len(runs.series) else []
    energies = [report.energy for report in reports.values() if report.energy]
    if any(energy.upper_pj is None for energy in energies):
        note.append("a lower bound: parts have no figure")
    return _draw_breakdown(runs, parts, totals, single, f"Energy over {against}", width, note)


def _has_memory(series: str, parts: Mapping[tuple[str, str], Mapping[str, float]]) -> bool:
    return any(MEMORY_PART in amounts for (name, _), amounts in parts.items() if name == series)


def _draw_traffic(store: Store, runs: StudyRuns, against: str, width: float) -> Figure:
    """Draw the moved bytes by tensor and direction; with several workloads, over the algorithmic minimum."""
    parts = {key: list_traffic_parts(report) for key, report in _collect_reports(store, runs).items()}
    # The minimum of the baseline, else of the first finished machine: a run that fails must not remove the
    # bars of the others.
    least = {}
    for workload in runs.workloads:
        rows = [runs.done(series, workload) for series in (against, *runs.series)]
        least[workload] = next((row["traffic_minimum_bytes"] for row in rows if row), None) or 0.0
    unit = _choose_unit([sum(amounts.values()) for amounts in parts.values()], BYTES)
    single = (1.0 / unit[0], f"Traffic ({unit[1]})")
    return _draw_breakdown(runs, parts, least, single, f"Traffic over {against}'s minimum", width)


def _draw_breakdown(
    runs: StudyRuns,
    parts: Mapping[tuple[str, str], Mapping[str, float]],
    totals: Mapping[str, float],
    single: tuple[float, str],
    ratio: str,
    width: float,
    notes: Sequence[str] = (),
) -> Figure:
    """Draw stacked bars: amounts for one workload, ratios to a total of each workload for several.

    Args:
        runs: the machines and workloads of the figure.
        parts: the amounts of the parts of each bar, by series and workload, in the base unit.
        totals: the divisor of each workload; a workload with 0 has no bars in a figure of ratios.
        single: for a figure of one workload, the factor of the amounts and the label of the scale.
        ratio: the label of the scale for several workloads.
        width: the width of the figure, in inches.
        notes: lines below the figure.
    """
    factor, label = single
    has_several = len(runs.workloads) > 1
    note = "\n".join([*notes, *([SURROGATE_NOTE] if runs.surrogates else [])])
    factors = {
        workload: (1.0 / total if total else 0.0) if has_several else factor
        for workload, total in totals.items()
    }
    scaled = {
        (series, workload): {name: amount * factors[workload] for name, amount in amounts.items()}
        for (series, workload), amounts in limit_parts(parts).items()
        if factors[workload]
    }
    stacked = StackedBars(
        runs.workloads,
        runs.series,
        scaled,
        ratio if has_several else label,
        note,
        1.0 if has_several else None,
    )
    return draw_stacked_bars(stacked, width)


def _draw_front(_store: Store, runs: StudyRuns, against: str, width: float) -> Figure:
    """Draw time against area; with several workloads, the geometric mean of time ratios."""
    shown = [
        series for series in runs.series if all(_has_area(runs, series, name) for name in runs.workloads)
    ]
    single = len(runs.workloads) == 1
    if not single and against not in shown:
        raise InputError(f"{against} has no area on all workloads; choose another with --against")
    seconds = {
        series: [runs.rows[series, workload]["seconds"] for workload in runs.workloads] for series in shown
    }
    unit = _choose_unit([value for values in seconds.values() for value in values], TIMES)
    divisors = [unit[0]] if single else seconds[against]
    designs: dict[str, list[tuple[float, float]]] = {}
    ends: dict[str, list[float | None]] = {}
    is_grouped = len(shown) > len(PATTERNS)  # a pattern per machine, not per setting
    for series in shown:
        rows = [runs.rows[series, workload] for workload in runs.workloads]
        area = max(row["area_um2"] for row in rows) / 1e6
        uppers = [row["area_upper"] for row in rows]
        # with a geometric mean of ratios, the order of the machines does not depend on the baseline
        time = geometric_mean(
            value / divisor for value, divisor in zip(seconds[series], divisors, strict=True)
        )
        name = runs.machine(series) if is_grouped else series
        designs.setdefault(name, []).append((area, time))
        ends.setdefault(name, []).append(None if None in uppers else max(uppers) / 1e6)
    label = f"Time ({unit[1]})" if single else f"Time over {against}"
    bare = [series for series in runs.series if series not in shown]
    missing = [f"without an area or a run: {', '.join(bare)}"] if bare else []
    if any(None in machine_ends for machine_ends in ends.values()):
        missing.append("arrow: a lower bound; parts have no figure")
    note = "\n".join([*missing, *_format_surrogate_note(runs)])
    return draw_front(designs, ("Known area, and its upper end (mm²)", label), width, note, ends)


def _has_area(runs: StudyRuns, series: str, workload: str) -> bool:
    row = runs.done(series, workload)
    return bool(row and row["area_um2"] and row["seconds"])


def _collect_reports(store: Store, runs: StudyRuns) -> dict[tuple[str, str], Report]:
    """Return the reports of all finished runs, by series and workload; runs without a report are omitted."""
    digests = {key: row["digest"] for key in runs.rows if (row := runs.done(*key))}
    reports = store.reports(list(digests.values()))
    return {key: reports[digest] for key, digest in digests.items() if digest in reports}


def _check_series(runs: StudyRuns, without: int = 0) -> None:
    """Check that there are enough patterns for the series; ``without`` is the number that needs none.

    Raises:
        InputError: there are more series than patterns; the message has the remedy.
    """
    if len(runs.series) - without > len(PATTERNS):
        raise InputError(
            f"{len(runs.series)} machines and settings, and a figure has at most {len(PATTERNS) + without}; "
            "choose with --where"
        )


def _format_surrogate_note(runs: StudyRuns) -> list[str]:
    """Return the note with the names of the surrogates, for figures without labels of workloads."""
    return (
        [f"{SURROGATE_NOTE}: {', '.join(name.rstrip(DAGGER) for name in runs.surrogates)}"]
        if runs.surrogates
        else []
    )


def _choose_unit(values: Sequence[float], units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """Return the largest unit in which the largest value is at least 1; the smallest unit if there is none.

    Args:
        values: the amounts, in the unit of factor 1.
        units: factors and names, the largest first.
    """
    largest = max(values, default=0.0)
    return next((unit for unit in units if largest >= unit[0]), units[-1])


KINDS: Final[Mapping[str, Callable[[Store, StudyRuns, str, float], Any]]] = {
    "speedup": _draw_speedups,
    "roofline": _draw_roofline,
    "energy": _draw_energy,
    "traffic": _draw_traffic,
    "front": _draw_front,
}
