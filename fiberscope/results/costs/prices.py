"""Prices of the actions and the parts of a machine with some parameters, each of them once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from fiberscope.hw.rtl.tools.sram_table import access_pj, estimate
from fiberscope.results.costs.cost_file import CostFile, PostfixExpression
from fiberscope.results.costs.netlists import LIBRARY_NM, call_of, netlist_area
from fiberscope.results.costs.scaling import area_factor, energy_factor

__all__ = ["Part", "Prices", "netlist_calls", "price_machine", "price_part", "sram_bytes"]

TABLES_NM, TABLES_VOLTS = 45.0, 0.9  # of energies.yaml, areas.yaml and the table of SRAMs


@dataclass(frozen=True)
class Part:
    """One component of a family.

    Args:
        actions: the energy of one by its counter, in pJ.
        operations: the operations of the report that it does, with whose energies its own is counted.
        um2: its area; None if none of it is known.
        without: netlists that were not measured, whose area is not in it.
    """

    actions: Mapping[str, float]
    operations: tuple[str, ...]
    um2: float | None
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prices:
    """Prices of all parts, memory and operations of a machine.

    Args:
        memory: the memory of a bit that is ``read`` or ``write``, in pJ.
        operations: the energy of an operation by its name, in pJ.
        parts: by families, or patterns of such.
        without: what is no component, and no cost is known of.
    """

    memory: Mapping[str, float]
    operations: Mapping[str, float]
    parts: Mapping[str, Part]
    without: tuple[str, ...] = ()

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
    return Prices(
        memory=_evaluate(book.document["memory"], pricing.energies, 1.0),  # it is no part of the chip
        operations=_evaluate(book.document["operations"], pricing.energies, pricing.energy_scale),
        parts={name: pricing.part(said) for name, said in book.document["parts"].items()},
        without=tuple(book.document["without"]),
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
    """The netlists that the areas of such a machine need."""
    pricing = _Pricing(book, parameters)
    return [pricing.call(call) for said in book.document["parts"].values() for call in said["rtl"]]


def _names_in(said: object) -> Iterator[str]:
    """The names in all expressions of a part."""
    if isinstance(said, list) and said and all(isinstance(each, str) for each in said):
        yield from (word for word in said[1:] if word[0].isalpha())
    elif isinstance(said, list | dict):
        for each in said.values() if isinstance(said, dict) else said:
            yield from _names_in(each)


def _evaluate(said: Mapping[str, Any], parameters: Mapping[str, object], scale: float) -> dict[str, float]:
    return {name: scale * _number(number, parameters) for name, number in said.items()}


def _number(said: list[str], parameters: Mapping[str, object]) -> float:
    return PostfixExpression(said[0], said[1:]).evaluate(parameters)


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

    def part(self, said: Mapping[str, Any]) -> Part:
        srams = self.srams(said)
        accesses = {name: access_pj(size, word) for name, (size, word, _count) in srams.items()}
        netlists = {call: netlist_area(call) for call in map(self.call, said["rtl"])}
        areas = [*self._from_tables(said, srams), *self._of_netlists(netlists)]
        return Part(
            actions=_evaluate(said["actions"], {**self.energies, **accesses}, self.energy_scale),
            operations=tuple(said["operations"]),
            um2=_number(said["count"], self.parameters) * sum(areas) if areas else None,
            without=tuple(call for call, um2 in netlists.items() if um2 is None),
        )

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

    def _from_tables(
        self, said: Mapping[str, Any], srams: Mapping[str, tuple[float, ...]]
    ) -> Iterator[float]:
        scale = area_factor(TABLES_NM, self.book.document["technology"])
        for size, _word, count in srams.values():
            yield scale * count * estimate(size).area_um2
        if "area" in said:
            yield scale * _number(said["area"], {**self.parameters, **self.book.areas})

    def _of_netlists(self, netlists: Mapping[str, float | None]) -> Iterator[float]:
        scale = area_factor(LIBRARY_NM, self.book.document["technology"])
        yield from (scale * um2 for um2 in netlists.values() if um2 is not None)

    def call(self, said: list[Any]) -> str:
        """A netlist's block with its parameters."""
        _place, block, arguments = said
        numbers = {
            name: argument if isinstance(argument, str) else _number(argument, self.parameters)
            for name, argument in arguments.items()
        }
        return call_of(block, numbers)
