"""The area of a specification's architecture: each component by its class, as often as it is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fiberscope.models.trace.specification import Component, Specification
from fiberscope.results.costs.cost_file import read_cost_file
from fiberscope.results.costs.prices import Part, price_part
from fiberscope.results.costs.run_costs import AREA_WITHOUT

__all__ = ["areas_of"]

COSTS = Path(__file__).parent / "costs.yaml"
ATTRIBUTES = ("width", "depth", "inputs", "radix")
OFF_CHIP = "DRAM"


def areas_of(specification: Specification) -> tuple[dict[str, float], list[str]]:
    """Areas in um2 by component, all instances together, and what no area is known of.

    A component that several configurations have is one.
    """
    um2: dict[str, float] = {}
    without = dict.fromkeys(AREA_WITHOUT)
    for name, component in dict(_on_chip(specification)).items():
        part = _part(component)
        if part is not None and part.um2 is not None:
            um2[name] = component.all_instances * part.um2
        without |= dict.fromkeys([name] if name not in um2 else [])
        without |= dict.fromkeys(f"{name}: {call}" for call in (part.without if part else ()))
    return um2, list(without)


def _on_chip(specification: Specification) -> Iterator[tuple[str, Component]]:
    for architecture in specification.configurations.values():
        yield from ((name, each) for name, each in architecture.components.items() if each.kind != OFF_CHIP)


def _part(component: Component) -> Part | None:
    """Return the area of one instance; None if a required attribute has no bound."""
    attributes = {name: getattr(component, name) for name in ATTRIBUTES}
    kind = ".".join([component.kind, *component.operations[:1], *filter(None, [component.intersection])])
    return price_part(
        read_cost_file(COSTS), kind, {name: each for name, each in attributes.items() if each is not None}
    )
