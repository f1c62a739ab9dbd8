"""Area of a specification's architecture: the parts of each component, by its class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fiberscope.models.trace.energy import OFF_CHIP
from fiberscope.models.trace.specification import Component, Specification
from fiberscope.results.costs.cost_file import read_cost_file
from fiberscope.results.costs.prices import PartCosts, price_part
from fiberscope.results.costs.run_costs import ChipParts

COSTS = Path(__file__).parent / "costs.yaml"
ATTRIBUTES = ("width", "depth", "inputs", "radix")


def price_chip_parts(specification: Specification) -> ChipParts:
    """Return the number of instances of each component on the chip, and the price of an instance.

    DRAM is not on the chip. The price is None if an attribute that it needs has no bound, or if the file of
    costs has no entry for the component's class. A component of several configurations counts once, as in the
    last of them.
    """
    return {
        name: (component.all_instances, _price_part(component))
        for name, component in dict(_on_chip(specification)).items()
    }


def _on_chip(specification: Specification) -> Iterator[tuple[str, Component]]:
    for architecture in specification.configurations.values():
        yield from (
            (name, component)
            for name, component in architecture.components.items()
            if component.kind != OFF_CHIP
        )


def _price_part(component: Component) -> PartCosts | None:
    """Return the price of one instance; None if a required attribute has no bound, or without an entry."""
    attributes = {name: getattr(component, name) for name in ATTRIBUTES}
    # such as ``Compute.mul``: of several operations, the first determines the price
    kind = ".".join([component.kind, *component.operations[:1], *filter(None, [component.intersection])])
    return price_part(
        read_cost_file(COSTS), kind, {name: each for name, each in attributes.items() if each is not None}
    )
