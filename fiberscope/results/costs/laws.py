"""Areas of netlists in the priced cells: measured ones, and laws through measured sizes of the same block.

A law has the size of a block as a function of its parameters. The area of a size that was not measured is on
the line through the two next smaller measured sizes, or proportional to the only one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import log2

from fiberscope.results.costs.cost import Basis
from fiberscope.results.costs.netlists import LIBRARIES, PRICED, Netlist, measured_netlists

__all__ = ["LAWS", "NetlistArea", "find_netlist_area", "not_larger"]

# Netlists in osu018 take 21.7 to 36.2 times the area of the same Verilog in nangate45.
FROM_OSU018 = 36.3, 21.7
_ARGUMENT = re.compile(r"(\w+)=([^,()]+)")
Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Law:
    """A law for the sizes of a block.

    Args:
        size: the size by its parameters.
        parameters: those that the size depends on; all others are as measured.
        error: relative error of the area, for each doubling of the size beyond the next measured one.
        ignored: parameters whose effect is within the error.
    """

    size: Callable[[Numbers], float]
    parameters: tuple[str, ...]
    error: float
    ignored: tuple[str, ...] = ()


def _parameter(name: str) -> Callable[[Numbers], float]:
    return lambda numbers: numbers[name]


def _butterflies(name: str) -> Callable[[Numbers], float]:
    """Elements of a network of so many lanes: a number for each lane and level."""
    return lambda numbers: numbers[name] * log2(numbers[name])


LAWS: Mapping[str, Law] = {
    "adder_network": Law(_butterflies("leaves"), ("leaves",), 0.05),
    "bank": Law(_parameter("ways"), ("ways",), 0.2, ("sets",)),
    "benes": Law(lambda numbers: numbers["lanes"] * (2 * log2(numbers["lanes"]) - 1), ("lanes",), 0.05),
    "concentrator": Law(
        lambda numbers: numbers.get("requesters", 8) + numbers.get("repliers", 8),
        ("requesters", "repliers"),
        0.1,
    ),
    # A token has a tag and an address besides the line: from 0 to 512 bits of a line, 8 and 16 ports.
    "crossbar": Law(
        lambda numbers: numbers["inputs"] * numbers["outputs"] * (122 + numbers.get("line_bits", 0)),
        ("inputs", "outputs", "line_bits"),
        0.09,
        ("route", "group", "interleave_bits"),
    ),
    "divider": Law(_parameter("lanes"), ("lanes",), 0.05),
    "fiber_reader": Law(_parameter("radix"), ("radix",), 0.05),
    "intersector": Law(_parameter("words"), ("words",), 0.2),
    "merger": Law(_parameter("radix"), ("radix",), 0.02, ("stages",)),
    # As its generic gates: 18,066 with 8 inputs and 175,555 with 32, for 8 outputs.
    "packer": Law(
        lambda numbers: numbers["inputs"] * (numbers["inputs"] + numbers["outputs"]),
        ("inputs", "outputs"),
        0.1,
    ),
    # As its netlists in osu018 with 8 and 16 ways, of which the second is 1.855 times as large.
    "prefetcher": Law(lambda numbers: numbers["radix"] + 1.35, ("radix",), 0.1),
    "prefix_sum": Law(_butterflies("lanes"), ("lanes",), 0.05),
    "scheduler": Law(
        _parameter("elements"),
        ("elements",),
        0.1,
        (
            "columns",
            "line_bits",
            "lines",
            "merging",
            "port",
            "radix",
            "room",
            "stream",
            "stream_lines",
            "tasks",
        ),
    ),
}


@dataclass(frozen=True)
class NetlistArea:
    """The area of a netlist in the priced cells.

    Args:
        um2: of its cells, side by side without space for wires.
        upper: its upper end.
        flip_flops: bits of its registers.
        basis, source: whether it was measured, and how it follows.
    """

    um2: float
    upper: float
    flip_flops: float
    basis: Basis
    source: str


def find_netlist_area(call: str) -> NetlistArea | None:
    """Return the area of a netlist: as measured in the priced cells, else by the law of its block.

    A netlist in other cells counts where the law has fewer than two sizes. None without any of these.
    """
    block, arguments = _parse(call)
    rows = dict(_rows(block))
    own = rows.get(tuple(sorted(arguments.items())))
    if own is not None and own.basis == "measured":
        return own
    law = LAWS.get(block)
    size = _size(law, arguments)
    if law is None or size is None:
        return own
    fixed = _fixed(law, arguments)
    alike = {other: area for other, area in rows.items() if _fixed(law, dict(other)) == fixed}
    priced = {other: area for other, area in alike.items() if area.basis == "measured"}
    if own is not None and len(priced) < 2:
        return own
    measured = ((_size(law, dict(other)), area) for other, area in (priced or alike).items())
    sizes = {other: area for other, area in measured if other is not None}
    return _by_law(law, sizes, size) if sizes else None


def not_larger(call: str) -> Iterator[Netlist]:
    """Yield the measured netlists of a block that are not larger than this one by the law of its area."""
    block, arguments = _parse(call)
    law = LAWS.get(block)
    for netlist in measured_netlists().values():
        name, other = _parse(netlist.call)
        if name == block and (other == arguments or _is_smaller(law, other, arguments)):
            yield netlist


def _is_smaller(law: Law | None, arguments: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether a size is at most another one that differs only in what the law depends on."""
    size, limit = _size(law, arguments), _size(law, other)
    if law is None or size is None or limit is None:
        return False
    return size <= limit and _fixed(law, arguments) == _fixed(law, other)


def _by_law(law: Law, sizes: Mapping[float, NetlistArea], size: float) -> NetlistArea:
    """Return the area on the line through the two next smaller sizes, or the two smallest."""
    ordered = sorted(sizes)
    if size in sizes:  # of other parameters that the law ignores
        near, um2, flip_flops = size, sizes[size].um2, sizes[size].flip_flops
        source = "netlists.csv, other sizes ignored"
    elif len(ordered) == 1:
        (near,) = ordered
        um2, flip_flops = (size / near * each for each in (sizes[near].um2, sizes[near].flip_flops))
        source = f"proportional to size {near:g} of netlists.csv"
    else:
        first, near = [each for each in ordered if each < size][-2:] if size > ordered[1] else ordered[:2]
        share = (size - first) / (near - first)
        um2, flip_flops = (
            max(getattr(sizes[first], name) * (1 - share) + getattr(sizes[near], name) * share, 0.0)
            for name in ("um2", "flip_flops")
        )
        source = f"a line through sizes {first:g} and {near:g} of netlists.csv"
    doublings = max(1.0, abs(log2(size / near)))
    spread = sizes[near].upper / sizes[near].um2 * (1 + law.error) ** doublings
    below = size / ordered[0] * sizes[ordered[0]].upper if size < ordered[0] else 0.0
    return NetlistArea(um2, max(um2 * spread, below), flip_flops, "law", source)


def _rows(block: str) -> Iterator[tuple[tuple[tuple[str, str], ...], NetlistArea]]:
    """Yield the measured netlists of a block by their arguments; those in the priced cells last."""
    netlists = measured_netlists().values()
    for netlist in sorted(netlists, key=lambda netlist: netlist.library == PRICED):
        name, arguments = _parse(netlist.call)
        if name == block:
            yield tuple(sorted(arguments.items())), _area(netlist)


def _area(netlist: Netlist) -> NetlistArea:
    if netlist.library == PRICED:
        source = f"netlists.csv: {PRICED}"
        return NetlistArea(netlist.um2, netlist.um2, netlist.flip_flops, "measured", source)
    least, most = (netlist.um2 / factor for factor in FROM_OSU018)
    nanometres = LIBRARIES[netlist.library].nanometres
    source = f"netlists.csv: {netlist.library}, {nanometres:g} nm, over {FROM_OSU018[0]} to {FROM_OSU018[1]}"
    return NetlistArea(least, most, netlist.flip_flops, "law", source)


@cache
def _parse(call: str) -> tuple[str, Mapping[str, str]]:
    """Return the block and the arguments of a call; each report parses all measured ones."""
    return call.partition("(")[0], dict(_ARGUMENT.findall(call))


def _fixed(law: Law, arguments: Mapping[str, str]) -> dict[str, str]:
    varied = {*law.parameters, *law.ignored}
    return {name: text for name, text in arguments.items() if name not in varied}


def _size(law: Law | None, arguments: Mapping[str, str]) -> float | None:
    """Return the size by a law; None if a parameter that it depends on is no number, or is left out."""
    if law is None:
        return None
    numbers = {name: arguments[name] for name in law.parameters if name in arguments}
    if not all(re.fullmatch(r"\d+(\.\d+)?", number) for number in numbers.values()):
        return None
    try:
        return law.size({name: float(number) for name, number in numbers.items()})
    except KeyError:
        return None
