"""Conversion of costs to the energy and area of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from fiberscope.accelerators.configuration import Configuration, values
from fiberscope.accelerators.machine import Accelerator
from fiberscope.results.costs.cost import Cost
from fiberscope.results.costs.cost_file import CompiledCosts, read_cost_file
from fiberscope.results.costs.netlists import read_user_table_version
from fiberscope.results.costs.prices import Prices, price_machine
from fiberscope.results.costs.run_costs import (
    AreaItem,
    ChipParts,
    EnergyItem,
    RunActivity,
    charge_run,
    list_chip_parts,
)
from fiberscope.results.report import parts
from fiberscope.results.report.cost_parts import Area, AreaPart, CostInterval, Energy, EnergyPart, RtlClock
from fiberscope.sim.names import family_name


def load_prices(accelerator: Accelerator[Any], configured: Configuration) -> Prices | None:
    """Return the prices of a machine's actions and parts; None for a machine without a ``costs.yaml``.

    Args:
        accelerator: the machine.
        configured: its parameters, on which prices depend.

    Raises:
        ConfigurationError: the file is invalid; one line with the position.
    """
    # a specification has a prefix before ":"; its variants, named behind "-", have the prices of their base
    path, machine = accelerator.costs_file, accelerator.name.rpartition(":")[2].partition("-")[0]
    if not path.is_file():
        return None
    return _price_parts(
        read_cost_file(path), read_user_table_version(), machine, tuple(values(configured).items())
    )


@lru_cache(maxsize=64)  # a third of a short run's time
def _price_parts(
    book: CompiledCosts, _netlists: tuple[Path, int], machine: str, parameters: tuple[tuple[str, object], ...]
) -> Prices:
    """Price a machine; the netlists are a key, as areas depend on the user's table."""
    return price_machine(book, dict(parameters), machine)


def count_activity(
    components: Mapping[str, parts.Component],
    traffic: Mapping[str, parts.TensorTraffic],
    operations: Mapping[str, int],
    cycles: int,
    seconds: float,
) -> RunActivity:
    """Count the activity of a run by family of components.

    Args:
        components: cycles and counters of each component, by instance name.
        traffic: bytes moved, by tensor.
        operations: numbers of operations, by name.
        cycles, seconds: the length of the run.
    """
    families: dict[str, list[dict[str, int]]] = {}
    for name, component in components.items():
        # both ends of the energy of the clock: of the busy cycles, and of all cycles
        counters = {**component.counters, "busy": component.busy, "cycles": component.cycles}
        families.setdefault(family_name(name), []).append(counters)
    bits = {name: (8 * tensor.read_bytes, 8 * tensor.write_bytes) for name, tensor in traffic.items()}
    return RunActivity(families, bits, operations, cycles, seconds)


def build_cost_fields(
    prices: Prices | None, activity: RunActivity, chip: ChipParts | None = None
) -> dict[str, Any]:
    """Return the energy and area fields of a report; empty for a machine without prices.

    Args:
        prices: the prices of the machine.
        activity: the activity of the run.
        chip: the parts that have area, clock and leakage; the families of components by default.
    """
    if prices is None:
        return {}
    if chip is None:
        chip = list_chip_parts(
            prices, {family: len(members) for family, members in activity.families.items()}
        )
    costs = charge_run(activity, prices, chip)
    clock = _find_rtl_clock(prices.hertz, chip)
    return {
        **build_energy_fields(costs.energy, activity.seconds),
        **build_area_fields(costs.area),
        "rtl_clock": clock,
    }


def _find_rtl_clock(hertz: float | None, chip: ChipParts) -> RtlClock | None:
    """Return the clock that the RTL of the parts of a chip allows.

    None is returned for a machine without a clock, or if no part has a measured path.
    """
    paths = {name: part.path for name, (_number, part) in chip.items() if part and part.path}
    if hertz is None or not paths:
        return None
    # all parts have one clock, which the longest path limits
    slowest, path = max(paths.items(), key=lambda item: item[1].ns)
    return RtlClock(
        part=slowest,
        path_ns=path.ns,
        hertz=1e9 / path.ns,
        assumed_hertz=hertz,
        basis=path.basis,
        source=path.source,
        without=tuple(name for name in chip if name not in paths),
    )


def build_area_fields(items: Iterable[AreaItem]) -> dict[str, Any]:
    """Return the area fields of a report, in um2.

    ``area_um2`` is null if no area is known, or if a listed part has no known area, such as an unmeasured
    netlist. Otherwise it is the sum of the lower ends. ``area`` always has the known part of the sum.
    """
    area = Area.from_parts(
        AreaPart(component=item.component, part=item.part, **_build_interval(item.cost)) for item in items
    )
    # a component without a listed part has an empty ``part``, and does not make the area null
    unmeasured = any(part.part and part.basis == "none" for part in area.parts)
    return {"area_um2": area.known if area.by_component and not unmeasured else None, "area": area}


def build_energy_fields(items: Iterable[EnergyItem], seconds: float) -> dict[str, Any]:
    """Return the energy fields of a report. The energy-delay product counts the known energies only.

    Of an energy that is an interval, the product counts the lower end.

    Args:
        items: energies of the run.
        seconds: the length of the run, for the energy-delay product.
    """
    energy = Energy.from_parts(
        EnergyPart(component=item.component, action=item.action, kind=item.kind, **_build_interval(item.cost))
        for item in items
    )
    return _add_delay_product(energy, seconds)


def _build_interval(cost: Cost) -> dict[str, Any]:
    return {"known": cost.lower, "upper": cost.upper, "basis": cost.basis, "source": cost.source}


def _add_delay_product(energy: Energy, seconds: float) -> dict[str, Any]:
    # in J s, of the known energy: a pJ is 1e-12 J
    return {"energy": energy, "edp": energy.total_pj * 1e-12 * seconds}


def add_energies(energies: Iterable[Energy], seconds: float) -> dict[str, Any]:
    """Return the energy fields of consecutive runs: energies are added by component and action.

    A sum has an upper end only if all its summands have one.

    Args:
        energies: the energies of the runs, on the same machine.
        seconds: the length of all runs together, for the energy-delay product.
    """
    parts: dict[tuple[str, str], list[EnergyPart]] = {}
    for part in (part for energy in energies for part in energy.parts):
        parts.setdefault((part.component, part.action), []).append(part)
    return _add_delay_product(Energy.from_parts(map(_sum, parts.values())), seconds)


def _sum(parts: Sequence[EnergyPart]) -> EnergyPart:
    """Return the energy of one action, summed over runs; kind, basis and source are of the first run."""
    return parts[0].model_copy(update=dict(CostInterval.sum_of(parts)))
