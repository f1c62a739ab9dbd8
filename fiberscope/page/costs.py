"""Costs of a run for a page: the parts of energy and area, their sums, and the parts without a figure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from fiberscope.results.report.cost_parts import Area, Energy
from fiberscope.results.report.document import Report

Part: TypeAlias = tuple[str, str, float, float | None, str]  # component, part, known, upper end, basis


def costs(report: Report) -> dict[str, Any]:
    """Return the costs of a run for the page.

    Returns:
        ``energy`` in pJ and ``area`` in um2, each with its parts (the largest component first), upper end and
        components without a figure, or None if the report has none; and in ``unpriced`` the reason that the
        page shows in place of a missing one.
    """
    energy, area = report.energy, report.area
    return {
        "energy": _sums(_energy_parts(energy), energy.upper_pj, energy.without) if energy else None,
        "area": _sums(_area_parts(area), area.upper, area.without) if area else None,
        "unpriced": _unpriced(report),
    }


def _sums(parts: Iterable[Part], upper: float | None, without: Iterable[str]) -> dict[str, Any]:
    listed = [part for part in parts if part[2]]
    sizes: dict[str, float] = {}
    for name, _part, size, _upper, _basis in listed:
        sizes[name] = sizes.get(name, 0.0) + size
    listed.sort(key=lambda part: -sizes[part[0]])
    return {"parts": listed, "upper": upper, "without": [*without]}


def _energy_parts(energy: Energy) -> list[Part]:
    """Return the parts of an energy; reports of earlier releases have no intervals."""
    if energy.parts:
        return [(part.component, part.action, part.known, part.upper, part.basis) for part in energy.parts]
    return [
        (name, action, picojoules, None, "")
        for name, actions in energy.by_component.items()
        for action, picojoules in actions.items()
    ]


def _area_parts(area: Area) -> list[Part]:
    if area.parts:
        return [(part.component, part.part, part.known, part.upper, part.basis) for part in area.parts]
    return [(name, "", um2, None, "") for name, um2 in area.by_component.items()]


def _unpriced(report: Report) -> str:
    """Explain a missing energy or area, and its remedy."""
    if report.problem is not None and report.problem.kind == "graph":
        return "What the blocks of a graph cost is not known."
    if report.cycles_interval:
        return "A sampled run counts no actions of components; a whole run has energy and area."
    return (
        f"{report.accelerator} has no costs.yaml, or the report is of before it had one. A costs.yaml in the "
        "machine's folder says what its actions and parts cost; fiberscope rerun makes the report anew."
    )
