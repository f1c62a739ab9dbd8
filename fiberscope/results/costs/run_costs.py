"""Energy and area of a run: counted actions times prices, and the parts without a known cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from fiberscope.results.costs.cost import UNKNOWN, Cost
from fiberscope.results.costs.prices import PartCosts, Prices

WIRES, CLOCK_TREE = "wires", "clock tree"  # parts of a chip that are no component
OF_WIRES = ", wires"  # suffix of the energy of the wires of an action
CHANNELS = "memory.channel"  # family of the off-chip memory
OPERATIONS = "operations"
DYNAMIC: Final = "dynamic"
CLOCK: Final = "clock"
LEAKAGE: Final = "leakage"
MEMORY: Final = "memory"
Kind: TypeAlias = Literal["dynamic", "clock", "leakage", "memory"]
ChipParts: TypeAlias = Mapping[str, tuple[int, PartCosts | None]]  # by name of the part: number, price of one


@dataclass(frozen=True)
class RunActivity:
    """Counted activity of a run.

    Args:
        families: the counters of each component, by family; with ``cycles`` and ``busy`` for the clock.
        bits: bits read from and written to memory, by tensor.
        operations: the number of operations by name.
        cycles, seconds: the length of the run.
    """

    families: Mapping[str, Sequence[Mapping[str, int]]]
    bits: Mapping[str, tuple[int, int]]
    operations: Mapping[str, int]
    cycles: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class AreaItem:
    """The area of a part of all components of a family.

    Args:
        component: the family, or a part of the chip that is no component.
        part: the SRAM, the netlist or ``arithmetic``; empty for a component without a listed area.
        cost: the area in um2.
    """

    component: str
    part: str
    cost: Cost


@dataclass(frozen=True)
class EnergyItem:
    """The energy of an action of all components of a family, of their clock or of their leakage.

    Args:
        component: the family, ``memory.channel``, ``operations``, or a part that is no component.
        action: the action; empty for a component without a listed energy.
        kind: the use of the energy; ``memory`` is off-chip.
        cost: the energy in pJ.
    """

    component: str
    action: str
    kind: Kind
    cost: Cost


@dataclass(frozen=True)
class RunCosts:
    """Energy and area of a run by item; items of basis ``none`` have no known cost."""

    energy: Sequence[EnergyItem]
    area: Sequence[AreaItem]


def charge_run(activity: RunActivity, prices: Prices, chip: ChipParts | None = None) -> RunCosts:
    """Compute the costs of a run.

    Args:
        activity: the counts.
        prices: the prices of the machine.
        chip: the parts that have area, clock and leakage; by default the families of components, and the
            parts of ``prices.besides``.
    """
    parts = {family: prices.find_part(family) for family in activity.families if family != CHANNELS}
    if chip is None:
        chip = list_chip_parts(
            prices, {family: len(members) for family, members in activity.families.items()}
        )
    energy = [
        *(
            item
            for family in parts
            for item in _iterate_action_items(family, parts[family], activity.families[family])
        ),
        *_iterate_memory_items(activity, prices),
        *_iterate_operation_items(activity.operations, prices.operations),
        *iterate_static_items(chip, activity),
        *(() if prices.has_wires else (NO_WIRES,)),
        *map(_build_unknown_energy, prices.without),
    ]
    return RunCosts(
        energy, [*iterate_area_items(chip), *(AreaItem(name, "", UNKNOWN) for name in prices.without)]
    )


def list_chip_parts(prices: Prices, numbers: Mapping[str, int]) -> ChipParts:
    """Return the parts of a chip: its families of components, and the parts that are no component.

    Off-chip memory is not included. A family without a price is included with None.

    Args:
        prices: the prices of the machine.
        numbers: the number of components of each family.
    """
    families = {
        family: (number, prices.find_part(family)) for family, number in numbers.items() if family != CHANNELS
    }
    return {**families, **{name: (1, part) for name, part in prices.besides.items()}}


def iterate_area_items(chip: ChipParts) -> Iterator[AreaItem]:
    """Yield the areas of the parts of a chip; one unknown item for a part without a listed area."""
    for name, (number, part) in chip.items():
        areas = part.areas if part else {}
        yield from (AreaItem(name, area, cost.times(number)) for area, cost in areas.items())
        if not areas:
            yield AreaItem(name, "", UNKNOWN)


def iterate_static_items(chip: ChipParts, activity: RunActivity) -> Iterator[EnergyItem]:
    """Yield the energies of clock and leakage of the parts of a chip.

    The lower end counts the clock in busy cycles only, the upper end in all cycles, as without gating.
    Leakage counts over the whole run.

    Args:
        chip: the parts.
        activity: the counted activity; a part without counters has the cycles of the run, none of them busy.
    """
    picoseconds = activity.seconds * 1e12  # W times ps are pJ
    for name, (number, part) in chip.items():
        members = activity.families.get(name)
        cycles = (
            sum(counters.get("cycles", 0) for counters in members) if members else number * activity.cycles
        )
        busy = sum(counters.get("busy", 0) for counters in members) if members else 0
        clock, leakage = (part.clock, part.leakage) if part else (UNKNOWN, UNKNOWN)
        ungated = clock.times(cycles)
        yield EnergyItem(name, "clock", CLOCK, replace(ungated, lower=clock.lower * busy))
        yield EnergyItem(name, "leakage", LEAKAGE, leakage.times(number * picoseconds))


def _build_unknown_energy(component: str) -> EnergyItem:
    return EnergyItem(component, "", DYNAMIC, UNKNOWN)


NO_WIRES: Final = _build_unknown_energy(WIRES)


def _iterate_action_items(
    family: str, part: PartCosts | None, members: Sequence[Mapping[str, int]]
) -> Iterator[EnergyItem]:
    """Yield the energies of the actions of a family and their wires; one unknown item without an entry.

    An action that no component of the family counts is left out.
    """
    if part is None:
        yield _build_unknown_energy(family)
        return
    priced = [*part.actions.items(), *((name + OF_WIRES, cost) for name, cost in part.wires.items())]
    for name, cost in priced:
        counter = name.removesuffix(OF_WIRES)
        if any(counter in counters for counters in members):
            count = sum(counters.get(counter, 0) for counters in members)
            yield EnergyItem(family, name, DYNAMIC, cost.times(count))


def _iterate_memory_items(activity: RunActivity, prices: Prices) -> Iterator[EnergyItem]:
    """Yield the energies of memory by tensor; one unknown item if memory has no price."""
    if not prices.memory:
        yield EnergyItem(CHANNELS, "", MEMORY, UNKNOWN)
        return
    # in the order of the pairs of ``RunActivity.bits``
    directions = tuple((direction, prices.memory[direction]) for direction in ("read", "write"))
    for tensor, moved in activity.bits.items():
        for (direction, cost), bits in zip(directions, moved, strict=True):
            if bits:
                yield EnergyItem(CHANNELS, f"{direction} {tensor}", MEMORY, cost.times(bits))


def _iterate_operation_items(
    operations: Mapping[str, int], prices: Mapping[str, Cost]
) -> Iterable[EnergyItem]:
    return (
        EnergyItem(OPERATIONS, name, DYNAMIC, cost.times(operations[name]))
        for name, cost in prices.items()
        if name in operations
    )
