"""The tables of ``fiberscope compare sage``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.results.report.table import Table, percent

if TYPE_CHECKING:
    from published.sage import Comparison, Ratio, Simulated, Size, Workload

__all__ = ["sage_tables"]


def sage_tables(found: Comparison) -> list[Table]:
    """Table III, sizes alone, and Fig. 13 and simulated cycles, as far as there are any."""
    tables = [
        _picks(found.workloads),
        _sizes(found.sizes),
        _ratios(found.ratios),
        _simulated(found.simulated),
    ]
    return [table for table in tables if table.rows]


def _picks(workloads: Sequence[Workload]) -> Table:
    same = [
        sum(getattr(one.ours, name) == getattr(one.published, name) for one in workloads)
        for name in ("mcf_a", "mcf_b", "acf_a", "acf_b")
    ]
    counts = ", ".join(f"{what} {n}" for what, n in zip(("MCFt", "MCFf", "ACFt", "ACFf"), same, strict=True))
    title = f"Table III: formats MCFt-MCFf / ACFt-ACFf; of {len(workloads)} the same: {counts}"
    columns = ("Workload", "Kernel", "Published", "Here", "EDP of the published", "mJ", "Conversion")
    table = Table(title, columns, labels=4)
    for one in workloads:
        table.add(
            one.name,
            one.kernel,
            str(one.published),
            "the same" if one.ours == one.published else str(one.ours),
            "" if one.excess is None else percent(one.excess),
            f"{one.picojoules / 1e9:,.3g}",
            f"{one.conversion:.3%}",
        )
    mean = sum(one.conversion for one in workloads) / max(1, len(workloads))
    table.add("mean", "", "0.023% (published)", "", "", "", f"{mean:.3%}")
    return table


def _sizes(sizes: Sequence[Size]) -> Table:
    same = sum(one.smallest == one.published for one in sizes)
    title = f"Sizes alone: {same} of {len(sizes)} as published"
    table = Table(title, ("Workload", "Published", "Smallest", "Bits of the published"), labels=3)
    for one in sizes:
        table.add(one.name, one.published, one.smallest, f"{one.excess:+.2%}")
    return table


def _ratios(ratios: Sequence[Ratio]) -> Table:
    title = "Fig. 13: energy-delay product over this work's, SpGEMM and SpMM of the matrices above"
    columns = ("Class", "Geometric mean", "Published", "Error", "Least", "Greatest", "Greatest published")
    table = Table(title, columns)
    for one in ratios:
        table.add(
            one.system,
            f"{one.mean:.2f}",
            _number(one.published_mean),
            "" if one.published_mean is None else percent(one.mean / one.published_mean - 1),
            f"{one.least:.3f}",
            f"{one.greatest:.2f}",
            _number(one.published_greatest),
        )
    return table


def _simulated(cases: Sequence[Simulated]) -> Table:
    title = "Cycles of a small weight-stationary array (csc_match=beat, row_match=0)"
    table = Table(title, ("Density", "ACF A-B", "Predicted", "Simulated", "Error"), labels=2)
    for one in cases:
        predicted, measured = f"{one.predicted:,.0f}", f"{one.simulated:,}"
        table.add(f"{one.density:g}", "-".join(one.acf), predicted, measured, percent(one.error))
    return table


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
