"""``fiberscope list``: what there is to simulate, and on what."""

from __future__ import annotations

from fiberscope.commands.output import nonzeros, shape, wide_console
from fiberscope.report.table import ruled

__all__ = ["list_"]


def list_() -> None:
    """List the accelerators and the known matrices."""
    import accelerators
    import workloads

    console = wide_console()
    machines = ruled("Accelerator", "What it is")
    for name in accelerators.names():
        machines.add_row(name, accelerators.find(name).summary)
    console.print(machines)
    console.print()
    matrices = ruled("Matrix", "Shape", "Nonzeros", "Kind", numbers=["Nonzeros"])
    for entry in workloads.entries():
        if entry.is_matrix:
            matrices.add_row(entry.name, shape(entry), nonzeros(entry), entry.kind)
    console.print(matrices)
