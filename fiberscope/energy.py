"""The energy of a simulated run: traffic with memory and operations, each with its energy from a table."""

from __future__ import annotations

from fiberscope.models.energies import EnergyTable
from fiberscope.report.document import Report
from fiberscope.report.table import Table

__all__ = ["energy_table"]

# Operations of the report, by who does them and by what the table calls the action.
_UNITS = {
    "multiply": ("Compute", "mul"),
    "add": ("Compute", "add"),
    "intersect": ("Intersector", "try"),
    "merge": ("Merger", "merge"),
}


def energy_table(report: Report, table: EnergyTable) -> Table:
    """What the traffic with memory and the operations of a run take, in uJ; buffers on chip are not counted.

    Args:
        report: of a run.
        table: energies of actions; an operation that it lacks shows a dash.
    """
    shown = Table(f"Energy by {table.name}, without buffers on chip", ["action", "count", "pJ each", "uJ"])
    for tensor, moved in report.traffic.items():
        for action, moved_bytes in (("read", moved.read_bytes), ("write", moved.write_bytes)):
            if moved_bytes:
                _add(shown, report, table, f"{action} {tensor}, bits", ("DRAM", action), 8 * moved_bytes)
    for operation, count in report.operations.items():
        if operation in _UNITS:
            _add(shown, report, table, operation, _UNITS[operation], count)
    return shown


def _add(
    shown: Table, report: Report, table: EnergyTable, name: str, what: tuple[str, str], count: int
) -> None:
    kind, action = what
    found = table.find(report.accelerator, "MainMemory" if kind == "DRAM" else kind, kind, action)
    if found is None:
        shown.add(name, f"{count:,}", "-", "-")
        return
    each = found.picojoules / (found.bits or 1)
    shown.add(name, f"{count:,}", f"{each:g}", f"{count * each / 1e6:,.3f}")
