"""Prices of the actions and parts of a machine with given parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from fiberscope.hw.rtl.tools.sram_table import Sram, SramCells, estimate
from fiberscope.results.costs.cost import UNKNOWN, Cost, sum_intervals
from fiberscope.results.costs.cost_file import CompiledCosts, PostfixExpression
from fiberscope.results.costs.laws import NetlistArea, find_netlist_area
from fiberscope.results.costs.netlists import call_of
from fiberscope.results.costs.paths import LogicPath, find_path
from fiberscope.results.costs.scaling import compute_area_factor, compute_energy_factor
from fiberscope.results.costs.silicon import (
    SRAM_AREA,
    SRAM_ENERGY,
    TABLES_NM,
    TABLES_VOLTS,
    estimate_clock_energy,
    estimate_logic_area,
    estimate_logic_leakage,
    estimate_sram_leakage,
)

WIRE = "Wire.millimetre"  # one bit over one millimetre, in energies.yaml
ARITHMETIC = "arithmetic"  # key of the area that is in no SRAM and no netlist


@dataclass(frozen=True)
class PartCosts:
    """Costs of one component of a family, or of a part of the chip that is no component.

    Areas, clock and leakage are multiplied by the ``count`` of the cost file; energies of actions are not.

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
    """Prices of the parts, the memory and the operations of a machine, in the machine's technology.

    Args:
        memory: the energy of a bit by direction, ``read`` or ``write``, in pJ; not scaled to the technology.
        operations: the energy of an operation by its name, in pJ.
        parts: the parts by family, or by a pattern of families.
        without: parts of the chip that are no component and have no known cost.
        besides: parts of the chip that are no component.
        has_wires: whether an action of any part has an energy of wires.
        hertz: the clock of the machine; None if it has none.
    """

    memory: Mapping[str, Cost]
    operations: Mapping[str, Cost]
    parts: Mapping[str, PartCosts]
    without: tuple[str, ...] = ()
    besides: Mapping[str, PartCosts] = field(default_factory=dict)
    has_wires: bool = False
    hertz: float | None = None

    def find_part(self, family: str) -> PartCosts | None:
        """Return the part of a family: by the name of the family, else by the first matching pattern."""
        if family in self.parts:
            return self.parts[family]
        return next((part for name, part in self.parts.items() if fnmatchcase(family, name)), None)


def price_machine(book: CompiledCosts, parameters: Mapping[str, object], machine: str) -> Prices:
    """Price a machine with these parameters, in its technology.

    Args:
        book: the compiled costs of the machine.
        parameters: parameters by dotted key, in base units.
        machine: the name of the machine; energies of its own components override those of the shared table.

    Raises:
        ConfigurationError: an expression has an unknown name or a division by zero, or the size, word or
            count of an SRAM is not positive; the message has the position.
    """
    machine_energies = {name.removeprefix(f"{machine}."): energy for name, energy in book.energies.items()}
    pricing = _Pricing(book, parameters, {**parameters, **book.energies, **machine_energies})
    parts = book.sections["parts"]
    expressions = (expression for part in parts.values() for expression in part["actions"].values())
    return Prices(
        # Off-chip, not scaled
        memory=_evaluate_published_costs(book.sections["memory"], pricing.energies, 1.0),
        operations=_evaluate_published_costs(
            book.sections["operations"], pricing.energies, pricing.energy_scale
        ),
        parts={name: pricing.price(part) for name, part in parts.items()},
        without=tuple(book.sections["without"]),
        besides={name: pricing.price(part) for name, part in book.sections["besides"].items()},
        has_wires=any(WIRE in expression for expression in expressions),
        hertz=float(str(parameters["clock"])) if "clock" in parameters else None,
    )


def price_part(book: CompiledCosts, name: str, attributes: Mapping[str, object]) -> PartCosts | None:
    """Price one part of a file; None without an entry, or if an attribute of the entry is missing.

    Args:
        book, name: the compiled costs and the name of the part.
        attributes: the attributes by name.
    """
    part = book.sections["parts"].get(name)
    if part is None:
        return None
    # names that the actions may have without an attribute: energies of the accesses to the part's SRAMs
    accesses = {f"{sram}{suffix}" for sram in part["srams"] for suffix in ("", ".read", ".write")}
    if not set(_iterate_names({**part, "operations": []})) <= {*attributes, *book.areas, *accesses}:
        return None
    return _Pricing(book, attributes).price(part)


def count_sram_bytes(book: CompiledCosts, parameters: Mapping[str, object]) -> dict[str, float]:
    """Return the bytes of all SRAMs of one component, by the family or pattern of the cost file.

    The ``count`` of the part does not multiply them.

    Args:
        book: the compiled costs of the machine.
        parameters: parameters by dotted key, in base units.

    Raises:
        ConfigurationError: as of ``price_machine``.
    """
    pricing = _Pricing(book, parameters)
    return {
        name: sum(size * count for size, _word, count in pricing.evaluate_sram_sizes(part).values())
        for name, part in book.sections["parts"].items()
    }


def netlist_calls(book: CompiledCosts, parameters: Mapping[str, object]) -> list[str]:
    """Return the netlists that the areas and the clock of components need, in the format of ``call_of``.

    A netlist of several components is repeated. Netlists of ``besides`` are not included.

    Args:
        book: the compiled costs of the machine.
        parameters: parameters by dotted key, in base units.

    Raises:
        ConfigurationError: an expression has an unknown name or a division by zero.
    """
    pricing = _Pricing(book, parameters)
    parts = book.sections["parts"].values()
    return [pricing.format_netlist_call(call) for part in parts for call in (*part["rtl"], *part["paths"])]


def _iterate_names(entry: object) -> Iterator[str]:
    """Yield the names in all expressions of a part."""
    # A list of texts is an expression, with its location first. A netlist ends with a mapping.
    if isinstance(entry, list) and entry and all(isinstance(item, str) for item in entry):
        yield from (token for token in entry[1:] if token[0].isalpha())
    elif isinstance(entry, list | dict):
        for item in entry.values() if isinstance(entry, dict) else entry:
            yield from _iterate_names(item)


def _evaluate_published_costs(
    entries: Mapping[str, Any], energies: Mapping[str, object], scale: float
) -> dict[str, Cost]:
    """Evaluate energies that have a single published figure."""
    return {
        name: Cost.exact(scale * _evaluate(number, energies), "published", "energies.yaml")
        for name, number in entries.items()
    }


def _evaluate(expression: list[str], parameters: Mapping[str, object]) -> float:
    return PostfixExpression(expression[0], expression[1:]).evaluate(parameters)


def _sum_costs(costs: Sequence[Cost]) -> Cost:
    """Return the sum of costs, with the basis of the first."""
    lower, upper = sum_intervals(costs)
    return replace(costs[0], lower=lower, upper=upper)


@dataclass(frozen=True)
class _Pricing:
    """The values of a file's expressions for given parameters, with energies by name."""

    book: CompiledCosts
    parameters: Mapping[str, object]
    energies: Mapping[str, object] = field(default_factory=dict)

    @property
    def energy_scale(self) -> float:
        technology, voltage = self.book.sections["technology"], self.book.sections["voltage"]
        return compute_energy_factor(TABLES_NM, TABLES_VOLTS, technology, voltage)

    @property
    def area_scale(self) -> float:
        return compute_area_factor(TABLES_NM, self.book.sections["technology"])

    @property
    def cells(self) -> SramCells:
        cells: SramCells = self.book.sections["leakage"]
        return cells

    def price(self, entry: Mapping[str, Any]) -> PartCosts:
        """Price one part; areas, clock and leakage are multiplied by the count of the part.

        Clock and leakage are unknown for a part without a listed area.
        """
        sizes = self.evaluate_sram_sizes(entry)
        srams = {name: estimate(size, word, self.cells) for name, (size, word, _count) in sizes.items()}
        netlists = {call: find_netlist_area(call) for call in map(self.format_netlist_call, entry["rtl"])}
        count = _evaluate(entry["count"], self.parameters)
        areas = {
            **{name: self._price_sram_area(sram).times(sizes[name][-1]) for name, sram in srams.items()},
            **{call: self._price_netlist_area(netlist) for call, netlist in netlists.items()},
            **self._price_arithmetic(entry),
        }
        clock, leakage = self._price_clock_and_leakage(entry, netlists) if areas else (UNKNOWN, UNKNOWN)
        sram_leakages = [
            estimate_sram_leakage(sram, sizes[name][-1], self.cells) for name, sram in srams.items()
        ]
        actions, wires = self._price_actions(entry["actions"], srams)
        paths = [find_path(call) for call in (*netlists, *map(self.format_netlist_call, entry["paths"]))]
        return PartCosts(
            actions=actions,
            wires=wires,
            operations=tuple(entry["operations"]),
            areas={name: area.times(count) for name, area in areas.items()},
            clock=clock.times(count),
            leakage=_sum_costs([leakage, *sram_leakages]).times(count),
            path=max(filter(None, paths), key=lambda path: path.ns, default=None),
        )

    def _price_actions(
        self, entries: Mapping[str, list[str]], srams: Mapping[str, Sram]
    ) -> tuple[dict[str, Cost], dict[str, Cost]]:
        """Return the energies of actions without wires, and of their wires.

        An action with SRAM accesses is an interval, since the energy of an access follows a law.
        """
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
        for name, expression in entries.items():
            # the energy of the wires is the difference to the same expression with free wires
            with_wires = self.energy_scale * _evaluate(expression, energies)
            energy = self.energy_scale * _evaluate(expression, {**energies, WIRE: 0})
            if WIRE in expression:
                wires[name] = Cost.exact(with_wires - energy, "law", "energies.yaml: Wire")
            if accesses.keys() & {*expression[1:]}:
                actions[name] = Cost(energy, SRAM_ENERGY * energy, "law", f"sram_table.csv: {self.cells}")
            elif energy or WIRE not in expression:  # an action of wires only has no other energy
                actions[name] = Cost.exact(energy, "published", "energies.yaml")
        return actions, wires

    def _price_clock_and_leakage(
        self, entry: Mapping[str, Any], netlists: Mapping[str, NetlistArea | None]
    ) -> tuple[Cost, Cost]:
        """Return the energy of the clock and the power of leakage of netlists and arithmetic.

        The costs have no upper end if the area of a netlist is unknown.
        """
        measured = [netlist for netlist in netlists.values() if netlist is not None]
        # A register of the arithmetic has the area 1 and all other units 0, so the area is a count.
        registers = self._compute_arithmetic_um2(entry, {**dict.fromkeys(self.book.areas, 0), "register": 1})
        um2 = sum(netlist.um2 for netlist in measured) + self._compute_arithmetic_um2(entry, self.book.areas)
        flip_flops = sum(netlist.flip_flops for netlist in measured) + registers
        costs = estimate_clock_energy(flip_flops, self.energy_scale), estimate_logic_leakage(um2)
        if len(measured) == len(netlists):
            return costs
        return replace(costs[0], upper=None), replace(costs[1], upper=None)

    def evaluate_sram_sizes(self, entry: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
        """Return the size in bytes, the width of a word in bits, and the count of each SRAM."""
        return {
            name: tuple(self._evaluate_positive(sram[key]) for key in ("size", "word", "count"))
            for name, sram in entry["srams"].items()
        }

    def _evaluate_positive(self, expression: list[str]) -> float:
        number = _evaluate(expression, self.parameters)
        if number <= 0:
            raise PostfixExpression(expression[0], ()).make_error(
                f"it is {number:g}; it should be more than 0"
            )
        return number

    def _price_sram_area(self, sram: Sram) -> Cost:
        um2 = self.area_scale * sram.area_um2
        return Cost(um2, SRAM_AREA * um2, "law", "sram_table.csv")

    def _price_netlist_area(self, netlist: NetlistArea | None) -> Cost:
        if netlist is None:
            return UNKNOWN
        area = estimate_logic_area(netlist.um2, netlist.upper, netlist.basis, netlist.source)
        return area.times(self.area_scale)

    def _price_arithmetic(self, entry: Mapping[str, Any]) -> dict[str, Cost]:
        if "area" not in entry:
            return {}
        um2 = self.area_scale * self._compute_arithmetic_um2(entry, self.book.areas)
        if "area_upper" not in entry:
            return {ARITHMETIC: estimate_logic_area(um2, um2, "published", "areas.yaml")}
        upper = self.area_scale * _evaluate(entry["area_upper"], {**self.parameters, **self.book.areas})
        return {ARITHMETIC: Cost(um2, upper, "published", "costs.yaml, an interval")}

    def _compute_arithmetic_um2(self, entry: Mapping[str, Any], areas: Mapping[str, float]) -> float:
        """Return the area of a part outside of SRAMs and netlists, unscaled, given the areas of units."""
        return _evaluate(entry["area"], {**self.parameters, **areas}) if "area" in entry else 0.0

    def format_netlist_call(self, netlist: list[Any]) -> str:
        """Return a netlist's block with its evaluated parameters, in the format of ``call_of``."""
        _location, block, arguments = netlist
        numbers = {
            name: argument if isinstance(argument, str) else _evaluate(argument, self.parameters)
            for name, argument in arguments.items()
        }
        return call_of(block, numbers)
