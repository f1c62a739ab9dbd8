"""Areas of netlists in the priced cells: measured areas, and laws fitted to measured sizes of a block.

A law gives the size of a block as a function of its parameters. The area of an unmeasured size lies on the
straight line through the two next smaller measured sizes, or through the two smallest ones if fewer are
smaller. With one measured size, the area is proportional to the size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import log2

from fiberscope.results.costs.cost import Basis
from fiberscope.results.costs.netlists import LIBRARIES, PRICED, Netlist, read_measured_netlists

# Bounds of the area in osu018, divided by that of the same Verilog in nangate45. The netlists that were
# measured in both libraries take 24.4 to 36.23 times the area.
FROM_OSU018 = 36.3, 21.7
_ARGUMENT = re.compile(r"(\w+)=([^,()]+)")
Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Law:
    """A law for the sizes of a block.

    Args:
        size: a function from parameters to the size.
        parameters: the parameters of ``size``; all other parameters must equal those of the measured netlist.
        error: the relative error of the area for each doubling or halving of the size from a measured size,
            the larger one if the area lies on a line through two; at least one doubling counts.
        ignored: parameters whose effect is within the error.
    """

    size: Callable[[Numbers], float]
    parameters: tuple[str, ...]
    error: float
    ignored: tuple[str, ...] = ()


def _build_parameter_law(name: str) -> Callable[[Numbers], float]:
    return lambda numbers: numbers[name]


def _build_butterfly_law(name: str) -> Callable[[Numbers], float]:
    """Return the size of a butterfly network: lanes times levels."""
    return lambda numbers: numbers[name] * log2(numbers[name])


LAWS: Mapping[str, Law] = {
    "adder_network": Law(_build_butterfly_law("leaves"), ("leaves",), 0.05),
    "bank": Law(_build_parameter_law("ways"), ("ways",), 0.2, ("sets",)),
    "benes": Law(lambda numbers: numbers["lanes"] * (2 * log2(numbers["lanes"]) - 1), ("lanes",), 0.05),
    "concentrator": Law(
        lambda numbers: numbers.get("requesters", 8) + numbers.get("repliers", 8),
        ("requesters", "repliers"),
        0.1,
    ),
    # Fitted to lines of 0 to 512 bits and 8 and 16 ports; the 122 other bits of a token are tag and address.
    "crossbar": Law(
        lambda numbers: numbers["inputs"] * numbers["outputs"] * (122 + numbers.get("line_bits", 0)),
        ("inputs", "outputs", "line_bits"),
        0.09,
        ("route", "group", "interleave_bits"),
    ),
    "divider": Law(_build_parameter_law("lanes"), ("lanes",), 0.05),
    "fiber_reader": Law(_build_parameter_law("radix"), ("radix",), 0.05),
    "intersector": Law(_build_parameter_law("words"), ("words",), 0.2),
    "merger": Law(_build_parameter_law("radix"), ("radix",), 0.02, ("stages",)),
    # Fitted to generic gates: 18,066 with 8 inputs and 175,555 with 32 inputs, for 8 outputs.
    "packer": Law(
        lambda numbers: numbers["inputs"] * (numbers["inputs"] + numbers["outputs"]),
        ("inputs", "outputs"),
        0.1,
    ),
    # Fitted to the netlists in osu018 with 8 and 16 ways; their areas have the ratio 1.855.
    "prefetcher": Law(lambda numbers: numbers["radix"] + 1.35, ("radix",), 0.1),
    "prefix_sum": Law(_build_butterfly_law("lanes"), ("lanes",), 0.05),
    "scheduler": Law(
        _build_parameter_law("elements"),
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
        um2: the sum of the areas of the cells, without wires.
        upper: the upper end of the area, in um2.
        flip_flops: bits of registers.
        basis, source: whether the area was measured, and its derivation.
    """

    um2: float
    upper: float
    flip_flops: float
    basis: Basis
    source: str


def find_netlist_area(call: str) -> NetlistArea | None:
    """Return the area of a netlist: measured in the priced cells, else by the law of its block, else None.

    A measurement in other cells is used if the block has no law, or if fewer than two netlists that differ
    only in size were measured in the priced cells.

    Args:
        call: block and parameters, in the format of ``netlists.call_of``.
    """
    block, arguments = _parse(call)
    areas = dict(_iterate_measured_areas(block))
    measurement = areas.get(tuple(sorted(arguments.items())))
    if measurement is not None and measurement.basis == "measured":
        return measurement
    law = LAWS.get(block)
    size = _size_of(law, arguments)
    if law is None or size is None:
        return measurement
    fixed = _list_fixed_arguments(law, arguments)
    comparable = {key: area for key, area in areas.items() if _list_fixed_arguments(law, dict(key)) == fixed}
    priced = {key: area for key, area in comparable.items() if area.basis == "measured"}
    if measurement is not None and len(priced) < 2:
        return measurement
    sized = ((_size_of(law, dict(key)), area) for key, area in (priced or comparable).items())
    sizes = {key: area for key, area in sized if key is not None}
    return _estimate_area_by_law(law, sizes, size) if sizes else None


def iterate_netlists_up_to(call: str) -> Iterator[Netlist]:
    """Yield the measured netlists of a block with at most the size of ``call`` by the block's law."""
    block, arguments = _parse(call)
    law = LAWS.get(block)
    for netlist in read_measured_netlists().values():
        name, other = _parse(netlist.call)
        if name == block and (other == arguments or _is_at_most(law, other, arguments)):
            yield netlist


def _is_at_most(law: Law | None, arguments: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether ``arguments`` have at most the size of ``other``, and the other parameters are equal."""
    size, limit = _size_of(law, arguments), _size_of(law, other)
    if law is None or size is None or limit is None:
        return False
    return size <= limit and _list_fixed_arguments(law, arguments) == _list_fixed_arguments(law, other)


def _estimate_area_by_law(law: Law, sizes: Mapping[float, NetlistArea], size: float) -> NetlistArea:
    """Return the area of a size by a law.

    Args:
        sizes: at least one measured area, by size.
    """
    ordered = sorted(sizes)
    if size in sizes:  # the netlists differ in ignored parameters only
        reference, um2, flip_flops = size, sizes[size].um2, sizes[size].flip_flops
        source = "netlists.csv, other sizes ignored"
    elif len(ordered) == 1:
        (reference,) = ordered
        um2, flip_flops = (
            size / reference * number for number in (sizes[reference].um2, sizes[reference].flip_flops)
        )
        source = f"proportional to size {reference:g} of netlists.csv"
    else:
        first, reference = (
            [measured for measured in ordered if measured < size][-2:] if size > ordered[1] else ordered[:2]
        )
        share = (size - first) / (reference - first)
        um2, flip_flops = (
            max(getattr(sizes[first], name) * (1 - share) + getattr(sizes[reference], name) * share, 0.0)
            for name in ("um2", "flip_flops")
        )
        source = f"a line through sizes {first:g} and {reference:g} of netlists.csv"
    doublings = max(1.0, abs(log2(size / reference)))
    spread = sizes[reference].upper / sizes[reference].um2 * (1 + law.error) ** doublings
    # below the smallest measurement, the line may predict less than proportionality does
    scaled_upper = size / ordered[0] * sizes[ordered[0]].upper if size < ordered[0] else 0.0
    return NetlistArea(um2, max(um2 * spread, scaled_upper), flip_flops, "law", source)


def _iterate_measured_areas(block: str) -> Iterator[tuple[tuple[tuple[str, str], ...], NetlistArea]]:
    """Yield the measured netlists of a block by their arguments; netlists in the priced cells come last."""
    netlists = read_measured_netlists().values()
    for netlist in sorted(netlists, key=lambda netlist: netlist.library == PRICED):
        name, arguments = _parse(netlist.call)
        if name == block:
            yield tuple(sorted(arguments.items())), _read_area(netlist)


def _read_area(netlist: Netlist) -> NetlistArea:
    if netlist.library == PRICED:
        source = f"netlists.csv: {PRICED}"
        return NetlistArea(netlist.um2, netlist.um2, netlist.flip_flops, "measured", source)
    least, greatest = (netlist.um2 / factor for factor in FROM_OSU018)
    nanometres = LIBRARIES[netlist.library].nanometres
    source = f"netlists.csv: {netlist.library}, {nanometres:g} nm, over {FROM_OSU018[0]} to {FROM_OSU018[1]}"
    return NetlistArea(least, greatest, netlist.flip_flops, "law", source)


@cache
def _parse(call: str) -> tuple[str, Mapping[str, str]]:
    """Return the block and the arguments of a call; cached because each report parses all measured calls."""
    return call.partition("(")[0], dict(_ARGUMENT.findall(call))


def _list_fixed_arguments(law: Law, arguments: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments that must be equal in two netlists for the law to relate their areas."""
    varied = {*law.parameters, *law.ignored}
    return {name: text for name, text in arguments.items() if name not in varied}


def _size_of(law: Law | None, arguments: Mapping[str, str]) -> float | None:
    """Return the size by a law; None if a parameter of the law is missing or is no number."""
    if law is None:
        return None
    numbers = {name: arguments[name] for name in law.parameters if name in arguments}
    if not all(re.fullmatch(r"\d+(\.\d+)?", number) for number in numbers.values()):
        return None
    try:
        return law.size({name: float(number) for name, number in numbers.items()})
    except KeyError:
        return None
