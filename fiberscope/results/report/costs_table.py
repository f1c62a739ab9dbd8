"""Tables of the energy and area of a run, with the basis of each figure."""

from __future__ import annotations

from collections.abc import Iterator

from fiberscope.results.report.cost_parts import Area, AreaPart, CostInterval, Energy, EnergyPart
from fiberscope.results.report.parts import Record
from fiberscope.results.report.table import Table

ENERGY = ("part", "action", "uJ", "up to", "of all", "basis")
AREA = ("part", "of which", "mm2", "up to", "of all", "basis")
PER_TABLE_UNIT = 1e6  # pJ per uJ, um2 per mm2


def build_costs_tables(report: Record) -> list[Table]:
    """Return tables of energy and area: a row for each nonzero summand, sums, and parts without a figure.

    A summand is nonzero if its lower end is nonzero. A machine without prices has one table, which says so.
    """
    if report.energy is None:
        table = Table("Energy and area", ("part", "reason"), labels=2)
        table.add("not known", f"{report.accelerator} has no costs.yaml")
        return [table]
    return [_build_energy_table(report.energy), *([_build_area_table(report.area)] if report.area else [])]


def _build_energy_table(energy: Energy) -> Table:
    table = Table("Energy", ENERGY, labels=2, notes=1)
    table.rows += _iterate_part_rows([(part, part.action) for part in energy.parts], energy.total_pj)
    kinds = {
        "dynamic": energy.dynamic,
        "clock": energy.clock,
        "leakage": energy.leakage,
        "on chip": energy.on_chip,
        "memory": energy.memory,
        "total": CostInterval(known=energy.total_pj, upper=energy.upper_pj),
    }
    for name, interval in kinds.items():
        if interval is not None:
            table.add(name, "", *_format_cost(interval, energy.total_pj), "")
    _add_missing(table, energy.without)
    return table


def _build_area_table(area: Area) -> Table:
    table = Table("Area", AREA, labels=2, notes=1)
    table.rows += _iterate_part_rows([(part, part.part) for part in area.parts], area.known)
    table.add("total", "", *_format_cost(area, area.known), "")
    _add_missing(table, area.without)
    return table


def _iterate_part_rows(
    parts: list[tuple[EnergyPart, str]] | list[tuple[AreaPart, str]], total: float
) -> Iterator[list[str]]:
    """Yield a row for each nonzero summand, by component; only the first row names the component."""
    components = dict.fromkeys(part.component for part, _name in parts)
    for component in components:
        label = component
        for part, name in parts:
            if part.component == component and part.known:
                yield [label, name, *_format_cost(part, total), part.basis]
                label = ""


def _format_cost(cost: AreaPart | EnergyPart | CostInterval | Area, total: float) -> list[str]:
    """Return a cost, its upper end (empty without a bound) and its share of the whole."""
    upper = "" if cost.upper is None else f"{cost.upper / PER_TABLE_UNIT:,.3f}"
    # the shares are of the lower ends, which alone always add up to the total
    return [f"{cost.known / PER_TABLE_UNIT:,.3f}", upper, f"{cost.known / (total or 1.0):.1%}"]


def _add_missing(table: Table, without: tuple[str, ...]) -> None:
    """Add a row for each part without a known cost; only the first row has the label ``without``."""
    for index, name in enumerate(without):
        table.add("" if index else "without", name, "", "", "", "none")
