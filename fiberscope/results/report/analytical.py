"""Tables of an analytical report: energies of computes, and accesses of each level."""

from __future__ import annotations

from fiberscope.results.report.levels import Accesses, LevelTensor
from fiberscope.results.report.parts import Record
from fiberscope.results.report.table import Table

_COLUMNS = ("", "tile", "format", "", "algorithmic", "actual", "gated", "skipped", "pJ in all")


def tables(report: Record) -> list[Table]:
    """Return tables of compute, then of each level from the outermost: accesses per instance, and energy.

    The list is empty for the report of another model.
    """
    if report.analytical is None:
        return []
    all_tables = [_compute_table(report)]
    for name, level in report.levels.items():
        title = f"{name}: {level.cycles:,} cycles, {level.energy_pj:,.2f} pJ"
        table = Table(title, _COLUMNS, labels=4)
        for tensor, level_tensor in level.tensors.items():
            _add_rows(table, tensor, level_tensor)
        all_tables.append(table)
    return all_tables


def _compute_table(report: Record) -> Table:
    summary = report.analytical
    assert summary is not None  # always present in analytical reports
    table = Table("Energy a compute, pJ", ["", "algorithmic", "actual"])
    for name, energy in summary.pj_per_algorithmic_compute.items():
        table.add(name, f"{energy:.3f}", f"{summary.pj_per_actual_compute[name]:.3f}")
    return table


def _add_rows(table: Table, tensor: str, level_tensor: LevelTensor) -> None:
    tile, energy = " x ".join(f"{extent:,}" for extent in level_tensor.tile), f"{level_tensor.energy_pj:,.2f}"
    for kind, access in (
        ("reads", level_tensor.reads),
        ("fills", level_tensor.fills),
        ("updates", level_tensor.updates),
    ):
        if access.algorithmic:
            table.add(tensor, tile, level_tensor.format, kind, *_format_counts(access), energy)
            tensor = tile = energy = ""


def _format_counts(access: Accesses) -> tuple[str, ...]:
    counts = access.algorithmic, access.actual, access.gated, access.skipped
    return tuple(f"{count:,.0f}" for count in counts)
