"""Prices of the actions and the parts of a machine with some parameters, each of them once."""

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

__all__ = ["ARITHMETIC", "Part", "Prices", "netlist_calls", "price_machine", "price_part", "sram_bytes"]

WIRE = "Wire.millimetre"  # a bit over a millimetre, in energies.yaml
ARITHMETIC = "arithmetic"  # the areas of a part besides its SRAMs and netlists


@dataclass(frozen=True)
class Part:
    """Costs of one component of a family.

    Args:
        actions: the energy of one action by its counter, in pJ, without wires.
        wires: the energy of the wires between parts in one action by its counter, in pJ.
        operations: the operations of the report that it does, with whose energies its own is counted.
        areas: the areas in um2 by name of the SRAM, of the netlist, or ``ARITHMETIC``; empty if none is
            listed. An area of basis ``none`` is of a netlist without a measurement and without a law.
        clock: the energy of the clock in a cycle in which it is not gated, in pJ.
        leakage: the power of leakage, in W.
        path: the longest path of logic of its RTL; None without a measured one.
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
    """Prices of all parts, memory and operations of a machine.

    Args:
        memory: the memory of a bit that is ``read`` or ``write``, in pJ.
        operations: the energy of an operation by its name, in pJ.
        parts: by families, or patterns of such.
        without: what is no component, and no cost is known of.
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
        """Return the price of a family's component: by the name of the family, else by the first pattern."""
        if family in self.parts:
            return self.parts[family]
        return next((part for name, part in self.parts.items() if fnmatchcase(family, name)), None)


def price_machine(book: CostFile, parameters: Mapping[str, object], machine: str) -> Prices:
    """Price a machine with these parameters, in its technology.

    Args:
        book: its file.
        parameters: by dotted key, in base units.
        machine: its name; energies of its own components go before those of any machine's.

    Raises:
        ConfigurationError: an expression names what is not known; with its place.
    """
    own = {name.removeprefix(f"{machine}."): each for name, each in book.energies.items()}
    pricing = _Pricing(book, parameters, {**parameters, **book.energies, **own})
    parts = book.document["parts"]
    actions = (number for said in parts.values() for number in said["actions"].values())
    return Prices(
        memory=_published(book.document["memory"], pricing.energies, 1.0),  # it is no part of the chip
        operations=_published(book.document["operations"], pricing.energies, pricing.energy_scale),
        parts={name: pricing.part(said) for name, said in parts.items()},
        without=tuple(book.document["without"]),
        besides={name: pricing.part(said) for name, said in book.document["besides"].items()},
        has_wires=any(WIRE in number for number in actions),
        hertz=float(str(parameters["clock"])) if "clock" in parameters else None,
    )


def price_part(book: CostFile, name: str, attributes: Mapping[str, object]) -> Part | None:
    """Price one part of a file; None without an entry, or if it depends on an attribute that is missing.

    Args:
        book, name: the file and the part.
        attributes: the attributes by name.
    """
    said = book.document["parts"].get(name)
    if said is None or not set(_names_in({**said, "operations": []})) <= {*attributes, *book.areas}:
        return None
    return _Pricing(book, attributes).part(said)


def sram_bytes(book: CostFile, parameters: Mapping[str, object]) -> dict[str, float]:
    """Return the bytes of the SRAMs of a component, by family or pattern.

    Raises:
        ConfigurationError: an expression names what is not known; with its place.
    """
    pricing = _Pricing(book, parameters)
    return {
        name: sum(size * count for size, _word, count in pricing.srams(said).values())
        for name, said in book.document["parts"].items()
    }


def netlist_calls(book: CostFile, parameters: Mapping[str, object]) -> list[str]:
    """The netlists that the areas and the clock of such a machine need."""
    pricing = _Pricing(book, parameters)
    parts = book.document["parts"].values()
    return [pricing.call(call) for said in parts for call in (*said["rtl"], *said["paths"])]


def _names_in(said: object) -> Iterator[str]:
    """The names in all expressions of a part."""
    if isinstance(said, list) and said and all(isinstance(each, str) for each in said):
        yield from (word for word in said[1:] if word[0].isalpha())
    elif isinstance(said, list | dict):
        for each in said.values() if isinstance(said, dict) else said:
            yield from _names_in(each)


def _published(said: Mapping[str, Any], energies: Mapping[str, object], scale: float) -> dict[str, Cost]:
    """Work out energies that have a single published figure."""
    return {
        name: Cost.exact(scale * _number(number, energies), "published", "energies.yaml")
        for name, number in said.items()
    }


def _number(said: list[str], parameters: Mapping[str, object]) -> float:
    return PostfixExpression(said[0], said[1:]).evaluate(parameters)


def _sum_costs(costs: Sequence[Cost]) -> Cost:
    """Return the sum of costs, by the basis of the first."""
    lower, upper = sum_intervals(costs)
    return replace(costs[0], lower=lower, upper=upper)


@dataclass(frozen=True)
class _Pricing:
    """Works out the parts of a file for some parameters, with energies by name."""

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

    def part(self, said: Mapping[str, Any]) -> Part:
        """Work out one part, all of its areas as often as they are there."""
        sizes = self.srams(said)
        srams = {name: estimate(size, word, self.cells) for name, (size, word, _count) in sizes.items()}
        netlists = {call: find_netlist_area(call) for call in map(self.call, said["rtl"])}
        count = _number(said["count"], self.parameters)
        areas = {
            **{name: self._sram_area(sram).times(sizes[name][-1]) for name, sram in srams.items()},
            **{call: self._netlist_area(netlist) for call, netlist in netlists.items()},
            **self._arithmetic(said),
        }
        static = self._clock_and_leakage(said, netlists) if areas else (UNKNOWN, UNKNOWN)
        leakages = [sram_leakage(sram, sizes[name][-1], self.cells) for name, sram in srams.items()]
        actions, wires = self._actions(said["actions"], srams)
        paths = [find_path(call) for call in (*netlists, *map(self.call, said["paths"]))]
        return Part(
            actions=actions,
            wires=wires,
            operations=tuple(said["operations"]),
            areas={name: area.times(count) for name, area in areas.items()},
            clock=static[0].times(count),
            leakage=_sum_costs([static[1], *leakages]).times(count),
            path=max(filter(None, paths), key=lambda path: path.ns, default=None),
        )

    def _actions(
        self, said: Mapping[str, list[str]], srams: Mapping[str, Sram]
    ) -> tuple[dict[str, Cost], dict[str, Cost]]:
        """Work out the energies of actions, and those of their wires; an access to an SRAM follows a law."""
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
        for name, number in said.items():
            whole = self.energy_scale * _number(number, energies)
            energy = self.energy_scale * _number(number, {**energies, WIRE: 0})
            if WIRE in number:
                wires[name] = Cost.exact(whole - energy, "law", "energies.yaml: Wire")
            if accesses.keys() & {*number[1:]}:
                actions[name] = Cost(energy, SRAM_ENERGY * energy, "law", f"sram_table.csv: {self.cells}")
            elif energy or WIRE not in number:
                actions[name] = Cost.exact(energy, "published", "energies.yaml")
        return actions, wires

    def _clock_and_leakage(
        self, said: Mapping[str, Any], netlists: Mapping[str, NetlistArea | None]
    ) -> tuple[Cost, Cost]:
        """Work out clock and leakage of netlists and arithmetic; nothing bounds those without an area."""
        measured = [netlist for netlist in netlists.values() if netlist is not None]
        registers = self._arithmetic_um2(said, {**dict.fromkeys(self.book.areas, 0), "register": 1})
        um2 = sum(netlist.um2 for netlist in measured) + self._arithmetic_um2(said, self.book.areas)
        flip_flops = sum(netlist.flip_flops for netlist in measured) + registers
        costs = clock_energy(flip_flops, self.energy_scale), logic_leakage(um2)
        if len(measured) == len(netlists):
            return costs
        return replace(costs[0], upper=None), replace(costs[1], upper=None)

    def srams(self, said: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
        """The bytes, the bits of a word and the number of each SRAM."""
        return {
            name: tuple(self._positive(sram[key]) for key in ("size", "word", "count"))
            for name, sram in said["srams"].items()
        }

    def _positive(self, said: list[str]) -> float:
        number = _number(said, self.parameters)
        if number <= 0:
            raise PostfixExpression(said[0], ()).complaint(f"it is {number:g}; it should be more than 0")
        return number

    def _sram_area(self, sram: Sram) -> Cost:
        um2 = self.area_scale * sram.area_um2
        return Cost(um2, SRAM_AREA * um2, "law", "sram_table.csv")

    def _netlist_area(self, netlist: NetlistArea | None) -> Cost:
        if netlist is None:
            return UNKNOWN
        area = logic_area(netlist.um2, netlist.upper, netlist.basis, netlist.source)
        return area.times(self.area_scale)

    def _arithmetic(self, said: Mapping[str, Any]) -> dict[str, Cost]:
        if "area" not in said:
            return {}
        um2 = self.area_scale * self._arithmetic_um2(said, self.book.areas)
        if "area_upper" not in said:
            return {ARITHMETIC: logic_area(um2, um2, "published", "areas.yaml")}
        most = self.area_scale * _number(said["area_upper"], {**self.parameters, **self.book.areas})
        return {ARITHMETIC: Cost(um2, most, "published", "costs.yaml, an interval")}

    def _arithmetic_um2(self, said: Mapping[str, Any], areas: Mapping[str, float]) -> float:
        """Work out the area of a part besides SRAMs and netlists, with these areas of units."""
        return _number(said["area"], {**self.parameters, **areas}) if "area" in said else 0.0

    def call(self, said: list[Any]) -> str:
        """A netlist's block with its parameters."""
        _place, block, arguments = said
        numbers = {
            name: argument if isinstance(argument, str) else _number(argument, self.parameters)
            for name, argument in arguments.items()
        }
        return call_of(block, numbers)
