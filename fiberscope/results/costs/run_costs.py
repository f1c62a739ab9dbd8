"""Energy and area of a run: what was counted, times what one costs, and what no cost is known of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fiberscope.results.costs.prices import Part, Prices

__all__ = ["RunActivity", "RunCosts", "charge_run"]

ENERGY_WITHOUT = ("clock tree", "leakage", "wires")  # of no component is a cost of these known
AREA_WITHOUT = ("wires",)
CHANNELS = "memory.channel"  # the family that stands for all that is outside of the chip
OPERATIONS = "operations"


@dataclass(frozen=True)
class RunActivity:
    """Activity of a run that is priced.

    Args:
        families: the families of components, each the counters of its members.
        bits: moved with memory by tensor, read and written.
        operations: the operations by name.
    """

    families: Mapping[str, Sequence[Mapping[str, int]]]
    bits: Mapping[str, tuple[int, int]]
    operations: Mapping[str, int]


@dataclass(frozen=True)
class RunCosts:
    """Costs of a run.

    Args:
        picojoules: by family, memory and operations, and by action.
        um2: by family, of all of its components.
        energy_without, area_without: what is in neither.
    """

    picojoules: Mapping[str, Mapping[str, float]]
    um2: Mapping[str, float]
    energy_without: tuple[str, ...]
    area_without: tuple[str, ...]


def charge_run(counted: RunActivity, prices: Prices) -> RunCosts:
    """The bill of a run."""
    parts = {family: prices.find_part(family) for family in counted.families}
    spent = {family: _spent(parts[family], members) for family, members in counted.families.items()}
    spent[CHANNELS] = {**spent.get(CHANNELS, {}), **_moved(counted, prices)}
    spent[OPERATIONS] = _done(counted.operations, prices.operations)
    um2 = {
        family: len(counted.families[family]) * part.um2
        for family, part in parts.items()
        if part is not None and part.um2 is not None
    }
    missing = [f"{family}: {call}" for family, part in parts.items() if part for call in part.without]
    unpriced = [family for family, part in parts.items() if not (spent[family] or _is_priced(part))]
    bare = [name for name, part in parts.items() if name not in um2 and not (part and part.without)]
    return RunCosts(
        picojoules={family: actions for family, actions in spent.items() if actions},
        um2=um2,
        energy_without=(*ENERGY_WITHOUT, *prices.without, *unpriced),
        area_without=(*AREA_WITHOUT, *prices.without, *bare, *missing),
    )


def _is_priced(part: Part | None) -> bool:
    return part is not None and bool(part.actions or part.operations)


def _spent(part: Part | None, members: Sequence[Mapping[str, int]]) -> dict[str, float]:
    actions = part.actions if part else {}
    return {
        name: each * sum(counters.get(name, 0) for counters in members)
        for name, each in actions.items()
        if any(name in counters for counters in members)
    }


def _moved(counted: RunActivity, prices: Prices) -> dict[str, float]:
    if not prices.memory:
        return {}
    ways = tuple(prices.memory[way] for way in ("read", "write"))
    return {
        f"{way} {tensor}": bits * each
        for tensor, moved in counted.bits.items()
        for way, bits, each in zip(("read", "write"), moved, ways, strict=True)
        if bits
    }


def _done(operations: Mapping[str, int], prices: Mapping[str, float]) -> dict[str, float]:
    return {name: operations[name] * each for name, each in prices.items() if name in operations}
