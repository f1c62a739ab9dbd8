"""Costs of a run for a page: energy by action, area by component, and what neither covers."""

from __future__ import annotations

from typing import Any

from fiberscope.results.report.document import Report

__all__ = ["costs"]


def costs(report: Report) -> dict[str, Any]:
    """Energy in pJ and area in um2, the largest component first; each None where the report has none."""
    energy, area = report.energy, report.area
    spent = (
        {name: _nonzero_actions(actions) for name, actions in energy.by_component.items()} if energy else {}
    )
    dearest = sorted(spent, key=lambda name: -sum(spent[name].values()))
    return {
        "energy": [[name, spent[name]] for name in dearest if spent[name]] if energy else None,
        "energy_without": energy.without if energy else (),
        "area": sorted(area.by_component.items(), key=lambda entry: -entry[1]) if area else None,
        "area_without": area.without if area else (),
        "unpriced": _unpriced(report),
    }


def _nonzero_actions(actions: dict[str, float]) -> dict[str, float]:
    return {action: picojoules for action, picojoules in actions.items() if picojoules}


def _unpriced(report: Report) -> str:
    """Why a run has no energy or no area, and how it would."""
    if report.problem is not None and report.problem.kind == "graph":
        return "What the blocks of a graph cost is not known."
    if report.cycles_interval:
        return "A sampled run counts no actions of components; a whole run has energy and area."
    return (
        f"{report.accelerator} has no costs.yaml, or the report is of before it had one. A costs.yaml in the "
        "machine's folder says what its actions and parts cost; fiberscope rerun makes the report anew."
    )
