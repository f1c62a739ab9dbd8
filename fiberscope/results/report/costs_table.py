"""Energy and area of a run as a table."""

from __future__ import annotations

from fiberscope.results.report.parts import Record
from fiberscope.results.report.table import Table

__all__ = ["costs_table"]

COLUMNS = ("Part", "action", "uJ", "of all", "mm2")


def costs_table(report: Record) -> Table:
    """A row for each action, with the area of its part in the first; then what is not known."""
    table = Table("Energy and area", COLUMNS, labels=2)
    if report.energy is None:
        table.add("not known", f"{report.accelerator} has no costs.yaml", "", "", "")
        return table
    spent, whole = report.energy.by_component, report.energy.total_pj or 1.0
    um2 = report.area.by_component if report.area else {}
    for name in dict.fromkeys((*spent, *um2)):
        area, shown = (f"{um2[name] / 1e6:,.3f}" if name in um2 else ""), name
        actions = {action: each for action, each in spent.get(name, {}).items() if each}
        for action, picojoules in actions.items() or [("", 0.0)]:
            numbers = (f"{picojoules / 1e6:,.3f}", f"{picojoules / whole:.1%}") if action else ("", "")
            table.add(shown, action, *numbers, area)
            shown = area = ""
    area = f"{report.area_um2 / 1e6:,.3f}" if report.area_um2 else ""
    table.add("in all", "", f"{report.energy.total_pj / 1e6:,.3f}", "", area)
    for place, name in enumerate(report.energy.without):
        table.add("" if place else "without", name, "", "", "")
    return table
