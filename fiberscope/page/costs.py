"""Costs of a run for a page: the parts of energy and area, their sums, and the parts without a figure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from fiberscope.results.report.cost_parts import Area, Energy
from fiberscope.results.report.document import Report

CostPart: TypeAlias = tuple[str, str, float, float | None, str]  # component, part, known, upper end, basis


def costs(report: Report) -> dict[str, Any]:
    """Return the costs of a run for the page.

    Returns:
        ``energy`` in pJ and ``area`` in um2, each with its parts (the largest component first), upper end and
        components without a figure, or None if the report has none; and in ``unpriced`` the reason that the
        page shows in place of a missing one.
    """
    energy, area = report.energy, report.area
    return {
        "energy": _collect_parts(_list_energy_parts(energy), energy.upper_pj, energy.without)
        if energy
        else None,
        "area": _collect_parts(_list_area_parts(area), area.upper, area.without) if area else None,
        "unpriced": _explain_missing_costs(report),
    }


def _collect_parts(parts: Iterable[CostPart], upper: float | None, without: Iterable[str]) -> dict[str, Any]:
    """Return the parts with a known cost or upper end, ordered by the sums of their components."""
    known_parts = [part for part in parts if part[2] or part[3]]
    sums: dict[str, float] = {}
    for name, _label, cost, _upper, _basis in known_parts:
        sums[name] = sums.get(name, 0.0) + cost
    known_parts.sort(key=lambda part: -sums[part[0]])
    return {"parts": known_parts, "upper": upper, "without": [*without]}


def _list_energy_parts(energy: Energy) -> list[CostPart]:
    """Return the parts of an energy; reports of earlier releases have no intervals."""
    if energy.parts:
        return [(part.component, part.action, part.known, part.upper, part.basis) for part in energy.parts]
    return [
        (name, action, picojoules, None, "")
        for name, actions in energy.by_component.items()
        for action, picojoules in actions.items()
    ]


def _list_area_parts(area: Area) -> list[CostPart]:
    if area.parts:
        return [(part.component, part.part, part.known, part.upper, part.basis) for part in area.parts]
    return [(name, "", um2, None, "") for name, um2 in area.by_component.items()]


def _explain_missing_costs(report: Report) -> str:
    """Explain a missing energy or area, and its remedy."""
    if report.problem is not None and report.problem.kind == "graph":
        return "What the blocks of a graph cost is not known."
    if report.cycles_interval:
        return "A sampled run counts no actions of components; a whole run has energy and area."
    return (
        f"{report.accelerator} has no costs.yaml, or the report is of before it had one. A costs.yaml in the "
        "machine's folder says what its actions and parts cost; fiberscope rerun makes the report anew."
    )
