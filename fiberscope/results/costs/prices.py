"""Prices of the actions and parts of a machine with given parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from fiberscope.hw.rtl.tools.sram_table import Sram, SramCells, estimate
from fiberscope.results.costs.cost import UNKNOWN, Cost, sum_intervals
from fiberscope.results.costs.cost_file import CostFile, PostfixExpression
from fiberscope.results.costs.laws import NetlistArea, find_netlist_area
from fiberscope.results.costs.netlists import call_of
from fiberscope.results.costs.paths import LogicPath, find_path
from fiberscope.results.costs.scaling import area_factor, energy_factor
from fiberscope.results.costs.silicon import (
    SRAM_AREA,
    SRAM_ENERGY,
    TABLES_NM,
    TABLES_VOLTS,
    clock_energy,
    logic_area,
    logic_leakage,
    sram_leakage,
)

WIRE = "Wire.millimetre"  # one bit over one millimetre, in energies.yaml
ARITHMETIC = "arithmetic"  # key of the area that is in no SRAM and no netlist


@dataclass(frozen=True)
class Part:
    """Costs of one component of a family.

    Args:
        actions: the energy of one action by its counter, in pJ, without wires.
        wires: the energy of the wires between parts in one action by its counter, in pJ.
        operations: operations of the report whose energies include the energy of this part.
        areas: the areas in um2 by the name of the SRAM or netlist, or by ``ARITHMETIC``; empty if no area is
            listed. An area of basis ``none`` belongs to a netlist without a measurement and without a law.
        clock: the energy of the clock in an ungated cycle, in pJ.
        leakage: the power of leakage, in W.
        path: the longest path of logic of the RTL; None without a measurement.
    """

    actions: Mapping[str, Cost]
    operations: tuple[str, ...] = ()
    areas: Mapping[str, Cost] = field(default_factory=dict)
    clock: Cost = UNKNOWN
    leakage: Cost = UNKNOWN
    wires: Mapping[str, Cost] = field(default_factory=dict)
    path: LogicPath | None = None


@dataclass(frozen=True)
class Prices:
    """Prices of all parts, the memory and the operations of a machine.

    Args:
        memory: the energy of a bit that is ``read`` or ``write``, in pJ.
        operations: the energy of an operation by its name, in pJ.
        parts: the parts by family, or by a pattern of families.
        without: parts of the chip that are no component and have no known cost.
        besides: parts of the chip that are no component.
        has_wires: whether the wires between parts have energies.
        hertz: the clock of the machine; None if it has none.
    """

    memory: Mapping[str, Cost]
    operations: Mapping[str, Cost]
    parts: Mapping[str, Part]
    without: tuple[str, ...] = ()
    besides: Mapping[str, Part] = field(default_factory=dict)
    has_wires: bool = False
    hertz: float | None = None

    def find_part(self, family: str) -> Part | None:
        """Return the part of a family: by the name of the family, else by the first matching pattern."""
        if family in self.parts:
            return self.parts[family]
        return next((part for name, part in self.parts.items() if fnmatchcase(family, name)), None)


def price_machine(book: CostFile, parameters: Mapping[str, object], machine: str) -> Prices:
    """Price a machine with these parameters, in its technology.

    Args:
        book: the compiled costs of the machine.
        parameters: parameters by dotted key, in base units.
        machine: the name of the machine; energies of its own components override those of the shared table.

    Raises:
        ConfigurationError: an expression has an unknown name; the message has the position.
    """
    machine_energies = {name.removeprefix(f"{machine}."): energy for name, energy in book.energies.items()}
    pricing = _Pricing(book, parameters, {**parameters, **book.energies, **machine_energies})
    parts = book.document["parts"]
    actions = (number for part in parts.values() for number in part["actions"].values())
    return Prices(
        memory=_published(book.document["memory"], pricing.energies, 1.0),  # off-chip, not scaled
        operations=_published(book.document["operations"], pricing.energies, pricing.energy_scale),
        parts={name: pricing.part(part) for name, part in parts.items()},
        without=tuple(book.document["without"]),
        besides={name: pricing.part(part) for name, part in book.document["besides"].items()},
        has_wires=any(WIRE in number for number in actions),
        hertz=float(str(parameters["clock"])) if "clock" in parameters else None,
    )


def price_part(book: CostFile, name: str, attributes: Mapping[str, object]) -> Part | None:
    """Price one part of a file; None without an entry, or if an attribute of the entry is missing.

    Args:
        book, name: the compiled costs and the name of the part.
        attributes: the attributes by name.
    """
    part = book.document["parts"].get(name)
    if part is None:
        return None
    accesses = {f"{sram}{suffix}" for sram in part["srams"] for suffix in ("", ".read", ".write")}
    if not set(_names_in({**part, "operations": []})) <= {*attributes, *book.areas, *accesses}:
        return None
    return _Pricing(book, attributes).part(part)


def sram_bytes(book: CostFile, parameters: Mapping[str, object]) -> dict[str, float]:
    """Return the bytes of all SRAMs of one component, by the family or pattern of the cost file.

    Args:
        book: the compiled costs of the machine.
        parameters: parameters by dotted key, in base units.

    Raises:
        ConfigurationError: an expression has an unknown name; the message has the position.
    """
    pricing = _Pricing(book, parameters)
    return {
        name: sum(size * count for size, _word, count in pricing.srams(part).values())
        for name, part in book.document["parts"].items()
    }


def netlist_calls(book: CostFile, parameters: Mapping[str, object]) -> list[str]:
    """Return the netlists that the areas and the clock of a machine need, in the format of ``call_of``.

    Args:
        book: the compiled costs of the machine.
        parameters: parameters by dotted key, in base units.
    """
    pricing = _Pricing(book, parameters)
    parts = book.document["parts"].values()
    return [pricing.call(call) for part in parts for call in (*part["rtl"], *part["paths"])]


def _names_in(entry: object) -> Iterator[str]:
    """Yield the names in all expressions of a part."""
    if isinstance(entry, list) and entry and all(isinstance(item, str) for item in entry):
        yield from (word for word in entry[1:] if word[0].isalpha())
    elif isinstance(entry, list | dict):
        for item in entry.values() if isinstance(entry, dict) else entry:
            yield from _names_in(item)


def _published(entries: Mapping[str, Any], energies: Mapping[str, object], scale: float) -> dict[str, Cost]:
    """Evaluate energies that have a single published figure."""
    return {
        name: Cost.exact(scale * _number(number, energies), "published", "energies.yaml")
        for name, number in entries.items()
    }


def _number(expression: list[str], parameters: Mapping[str, object]) -> float:
    return PostfixExpression(expression[0], expression[1:]).evaluate(parameters)


def _sum_costs(costs: Sequence[Cost]) -> Cost:
    """Return the sum of costs, with the basis of the first."""
    lower, upper = sum_intervals(costs)
    return replace(costs[0], lower=lower, upper=upper)


@dataclass(frozen=True)
class _Pricing:
    """Evaluates the parts of a file for given parameters, with energies by name."""

    book: CostFile
    parameters: Mapping[str, object]
    energies: Mapping[str, object] = field(default_factory=dict)

    @property
    def energy_scale(self) -> float:
        technology, voltage = self.book.document["technology"], self.book.document["voltage"]
        return energy_factor(TABLES_NM, TABLES_VOLTS, technology, voltage)

    @property
    def area_scale(self) -> float:
        return area_factor(TABLES_NM, self.book.document["technology"])

    @property
    def cells(self) -> SramCells:
        cells: SramCells = self.book.document["leakage"]
        return cells

    def part(self, entry: Mapping[str, Any]) -> Part:
        """Price one part; areas are multiplied by the count of the part."""
        sizes = self.srams(entry)
        srams = {name: estimate(size, word, self.cells) for name, (size, word, _count) in sizes.items()}
        netlists = {call: find_netlist_area(call) for call in map(self.call, entry["rtl"])}
        count = _number(entry["count"], self.parameters)
        areas = {
            **{name: self._sram_area(sram).times(sizes[name][-1]) for name, sram in srams.items()},
            **{call: self._netlist_area(netlist) for call, netlist in netlists.items()},
            **self._arithmetic(entry),
        }
        static = self._clock_and_leakage(entry, netlists) if areas else (UNKNOWN, UNKNOWN)
        leakages = [sram_leakage(sram, sizes[name][-1], self.cells) for name, sram in srams.items()]
        actions, wires = self._actions(entry["actions"], srams)
        paths = [find_path(call) for call in (*netlists, *map(self.call, entry["paths"]))]
        return Part(
            actions=actions,
            wires=wires,
            operations=tuple(entry["operations"]),
            areas={name: area.times(count) for name, area in areas.items()},
            clock=static[0].times(count),
            leakage=_sum_costs([static[1], *leakages]).times(count),
            path=max(filter(None, paths), key=lambda path: path.ns, default=None),
        )

    def _actions(
        self, entries: Mapping[str, list[str]], srams: Mapping[str, Sram]
    ) -> tuple[dict[str, Cost], dict[str, Cost]]:
        """Return the energies of actions and of their wires; the energy of an SRAM access follows a law."""
        accesses = {
            key: energy
            for name, sram in srams.items()
            for key, energy in (
                (name, sram.access_pj),
                (f"{name}.read", sram.read_pj),
                (f"{name}.write", sram.write_pj),
            )
        }
        energies = {**self.energies, **accesses}
        actions: dict[str, Cost] = {}
        wires: dict[str, Cost] = {}
        for name, number in entries.items():
            with_wires = self.energy_scale * _number(number, energies)
            energy = self.energy_scale * _number(number, {**energies, WIRE: 0})
            if WIRE in number:
                wires[name] = Cost.exact(with_wires - energy, "law", "energies.yaml: Wire")
            if accesses.keys() & {*number[1:]}:
                actions[name] = Cost(energy, SRAM_ENERGY * energy, "law", f"sram_table.csv: {self.cells}")
            elif energy or WIRE not in number:
                actions[name] = Cost.exact(energy, "published", "energies.yaml")
        return actions, wires

    def _clock_and_leakage(
        self, entry: Mapping[str, Any], netlists: Mapping[str, NetlistArea | None]
    ) -> tuple[Cost, Cost]:
        """Return clock and leakage of netlists and arithmetic; no upper end if a netlist has no area."""
        measured = [netlist for netlist in netlists.values() if netlist is not None]
        registers = self._arithmetic_um2(entry, {**dict.fromkeys(self.book.areas, 0), "register": 1})
        um2 = sum(netlist.um2 for netlist in measured) + self._arithmetic_um2(entry, self.book.areas)
        flip_flops = sum(netlist.flip_flops for netlist in measured) + registers
        costs = clock_energy(flip_flops, self.energy_scale), logic_leakage(um2)
        if len(measured) == len(netlists):
            return costs
        return replace(costs[0], upper=None), replace(costs[1], upper=None)

    def srams(self, entry: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
        """Return bytes, bits of a word and number of each SRAM."""
        return {
            name: tuple(self._positive(sram[key]) for key in ("size", "word", "count"))
            for name, sram in entry["srams"].items()
        }

    def _positive(self, expression: list[str]) -> float:
        number = _number(expression, self.parameters)
        if number <= 0:
            raise PostfixExpression(expression[0], ()).error(f"it is {number:g}; it should be more than 0")
        return number

    def _sram_area(self, sram: Sram) -> Cost:
        um2 = self.area_scale * sram.area_um2
        return Cost(um2, SRAM_AREA * um2, "law", "sram_table.csv")

    def _netlist_area(self, netlist: NetlistArea | None) -> Cost:
        if netlist is None:
            return UNKNOWN
        area = logic_area(netlist.um2, netlist.upper, netlist.basis, netlist.source)
        return area.times(self.area_scale)

    def _arithmetic(self, entry: Mapping[str, Any]) -> dict[str, Cost]:
        if "area" not in entry:
            return {}
        um2 = self.area_scale * self._arithmetic_um2(entry, self.book.areas)
        if "area_upper" not in entry:
            return {ARITHMETIC: logic_area(um2, um2, "published", "areas.yaml")}
        most = self.area_scale * _number(entry["area_upper"], {**self.parameters, **self.book.areas})
        return {ARITHMETIC: Cost(um2, most, "published", "costs.yaml, an interval")}

    def _arithmetic_um2(self, entry: Mapping[str, Any], areas: Mapping[str, float]) -> float:
        """Return the area of a part outside of SRAMs and netlists, with these areas of units."""
        return _number(entry["area"], {**self.parameters, **areas}) if "area" in entry else 0.0

    def call(self, netlist: list[Any]) -> str:
        """Return a netlist's block with its evaluated parameters."""
        _place, block, arguments = netlist
        numbers = {
            name: argument if isinstance(argument, str) else _number(argument, self.parameters)
            for name, argument in arguments.items()
        }
        return call_of(block, numbers)
