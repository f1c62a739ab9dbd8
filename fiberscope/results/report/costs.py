"""Energy and area as a report has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from fiberscope.accelerators.configuration import Configuration, values
from fiberscope.accelerators.machine import Accelerator
from fiberscope.results.costs.cost_file import read_cost_file
from fiberscope.results.costs.prices import Prices, price_machine
from fiberscope.results.costs.run_costs import RunActivity, charge_run
from fiberscope.results.report import parts
from fiberscope.sim.names import family_name

__all__ = ["add_energies", "area_fields", "cost_fields", "count_activity", "energy_fields", "prices_of"]

Areas: TypeAlias = tuple[Mapping[str, float], Iterable[str]]


def prices_of(accelerator: Accelerator[Any], configured: Configuration) -> Prices | None:
    """Return the prices of a machine's actions and parts; None for a machine without a ``costs.yaml``.

    Raises:
        ConfigurationError: the file is wrong; one line with its place.
    """
    path, machine = accelerator.costs_file, accelerator.name.rpartition(":")[2].partition("-")[0]
    return price_machine(read_cost_file(path), values(configured), machine) if path.is_file() else None


def count_activity(
    components: Mapping[str, parts.Component],
    traffic: Mapping[str, parts.TensorTraffic],
    operations: Mapping[str, int],
) -> RunActivity:
    """Count the activity of a run, by family."""
    families: dict[str, list[dict[str, int]]] = {}
    for name, component in components.items():
        counters = {**component.counters, "busy": component.busy, "cycles": component.cycles}
        families.setdefault(family_name(name), []).append(counters)
    bits = {name: (8 * tensor.read_bytes, 8 * tensor.write_bytes) for name, tensor in traffic.items()}
    return RunActivity(families, bits, operations)


def cost_fields(
    prices: Prices | None, did: RunActivity, seconds: float, areas: Areas | None = None
) -> dict[str, Any]:
    """The fields of a report that say what a run cost; none of a machine without prices.

    Args:
        prices: the prices of the machine.
        did: what it did.
        seconds: that this took.
        areas: in um2 by component and what none is known of, if they do not follow from the prices.
    """
    if prices is None:
        return {}
    costs = charge_run(did, prices)
    energy = energy_fields(costs.picojoules, costs.energy_without, seconds)
    return {**energy, **area_fields(*(areas or (costs.um2, costs.area_without)))}


def area_fields(um2: Mapping[str, float], without: Iterable[str]) -> dict[str, Any]:
    """The fields of its area; of a machine of which none is known null."""
    area = parts.Area(by_component=dict(um2), without=tuple(without))
    return {"area_um2": sum(um2.values()) if um2 else None, "area": area}


def energy_fields(
    spent: Mapping[str, Mapping[str, float]], without: Iterable[str], seconds: float
) -> dict[str, Any]:
    """Return the fields of the energy of a run, in pJ by component and action."""
    total = sum(sum(actions.values()) for actions in spent.values())
    by_component = {name: dict(actions) for name, actions in spent.items()}
    energy = parts.Energy(total_pj=total, by_component=by_component, without=tuple(without))
    return {"energy": energy, "edp": total * 1e-12 * seconds}


def add_energies(energies: Iterable[parts.Energy], seconds: float) -> dict[str, Any]:
    """Add the energies of consecutive runs."""
    spent: dict[str, Counter[str]] = {}
    without: dict[str, None] = {}
    for energy in energies:
        without |= dict.fromkeys(energy.without)
        for name, actions in energy.by_component.items():
            spent.setdefault(name, Counter()).update(actions)
    return energy_fields(spent, without, seconds)
