"""The command ``fiberscope rtl area MACHINE``: area of a machine's modules, by family and in total."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import reduce
from operator import add
from typing import Any

from rich import box
from rich.table import Table

from fiberscope.accelerators.configuration import parse_settings, values
from fiberscope.base.errors import InputError
from fiberscope.hw.memory.cache_parameters_rtl import ARRAY
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.channel import OF_STREAM
from fiberscope.hw.rtl.kit.composition import Part as ModulePart
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.sram import list_macros
from fiberscope.hw.rtl.kit.wrapper import ComposedBlock
from fiberscope.hw.rtl.tools.area import version
from fiberscope.hw.rtl.tools.sram_table import ESTIMATED, estimate
from fiberscope.results.costs.cost import sum_intervals
from fiberscope.results.costs.cost_file import read_cost_file
from fiberscope.results.costs.netlists import LIBRARIES, LIBRARY, LIBRARY_NM, PRICED, Netlist, user_table
from fiberscope.results.costs.paths import SPEEDUPS
from fiberscope.results.costs.prices import Prices
from fiberscope.results.costs.scaling import compute_area_factor
from fiberscope.results.costs.silicon import TABLES_NM
from fiberscope.results.report.costs import load_prices
from fiberscope.rtl.cosim_request import find_cosim_machine as find_machine
from fiberscope.rtl.netlists import Module, describe_module, update_table
from fiberscope.rtl.select_block import input_errors
from fiberscope.rtl.substitution import (
    ALL,
    Maker,
    Replacement,
    choose_replacements,
    makers,
    outermost_instances,
)
from fiberscope.run.configure import resolve_run
from fiberscope.sim.names import family_name
from fiberscope.workloads.errors import suggest

SCHEMA = "fiberscope-machine-area-1"
CHANNELS = "channels"
StepCallback = Callable[[str], None]


@dataclass(frozen=True)
class Part:
    """Equal modules of a machine.

    Args:
        family: name of the family of components in the summary. Parts of a composed module have its family as
            a prefix; its channels are one family.
        count: number of modules.
        module: one of the modules.
    """

    family: str
    count: int
    module: Module


@dataclass(frozen=True)
class MachineParts:
    """Modules of all parts of a machine.

    Args:
        machine: name of the machine.
        parts: the parts that exist as RTL.
        without: reasons why other parts do not, by block.
        technology: node of the machine, in nm.
        hertz: clock frequency.
        by_costs: area of each family in ``costs.yaml``, in um2.
    """

    machine: str
    parts: Sequence[Part]
    without: Mapping[str, str]
    technology: float
    hertz: float
    by_costs: Mapping[str, float]


@dataclass(frozen=True)
class Row:
    """Measured numbers of a family: sums over its modules, except for the path.

    Args:
        family: name of the family, see ``Part``.
        count: number of modules.
        cells: number of cells.
        flip_flops: bits of registers.
        array_bits: bits of memories with a read within a cycle, which no area includes.
        sram_bits: bits of synchronous memories, whose area is ``sram_um2``.
        um2: area of cells, in the machine's technology, as ``sram_um2``.
        path_ns: longest path, in the library's technology.
        library: the cells, one of ``LIBRARIES``.
    """

    family: str
    count: int
    cells: int
    flip_flops: int
    array_bits: int
    sram_bits: int
    um2: float
    sram_um2: float
    path_ns: float
    library: str

    def __add__(self, other: Row) -> Row:
        """Add the numbers of two rows; the path is the longer one, the name that of the first row."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in SUMS}
        return replace(self, **sums, path_ns=max(self.path_ns, other.path_ns))


SUMS = ("count", "cells", "flip_flops", "array_bits", "sram_bits", "um2", "sram_um2")


def collect_parts(
    machine: str, matrix: str, settings: Sequence[str], prefixes: Sequence[str] = ()
) -> MachineParts:
    """Return the modules of a machine.

    Args:
        machine: name of the machine.
        matrix: its operand, which determines the sizes of some memories.
        settings: its parameters, ``key=value``.
        prefixes: prefixes of the selected families; all if empty.

    Raises:
        InputError: no part exists as RTL, or a prefix matches none.
        ConfigurationError, WorkloadError: a setting or the operand is invalid.
    """
    block_makers = makers(machine, (ALL,), {})
    resolved = resolve_run(find_machine(machine), parse_settings(settings))
    resolved.build(matrix, None, block_makers)
    replacements, without = _replacements(machine, block_makers, {})
    parts = _count_parts(replacements)
    if not parts:
        reasons = "; ".join(without.values()) or "none of its parts is a component that exists as RTL"
        raise InputError(f"{machine}: nothing to measure; {reasons}")
    parts = _select_parts(machine, parts, prefixes)
    accelerator, configured = resolved.accelerator, resolved.configured
    technology = (  # without costs, that of the library
        read_cost_file(accelerator.costs_file).sections["technology"]
        if accelerator.costs_file.is_file()
        else LIBRARY_NM
    )
    counts = {part.family: part.count for part in parts}
    by_costs = _areas_by_costs(load_prices(accelerator, configured), counts)
    hertz = float(str(values(configured)["clock"]))
    return MachineParts(machine, parts, without, technology, hertz, by_costs)


def _select_parts(machine: str, parts: Sequence[Part], prefixes: Sequence[str]) -> list[Part]:
    """Return the parts whose families have one of these prefixes; without prefixes, all parts.

    Raises:
        InputError: a prefix matches nothing.
    """
    families = {part.family for part in parts}
    for prefix in prefixes:
        if not any(family.startswith(prefix) for family in families):
            raise InputError(f"{machine} has no part {prefix} as RTL; {suggest(prefix, sorted(families))}")
    return [part for part in parts if part.family.startswith(tuple(prefixes) or "")]


def _areas_by_costs(prices: Prices | None, counts: Mapping[str, int]) -> dict[str, float]:
    """Return the area of each family by the cost table, for families whose costs are all known."""
    parts = {family: prices.find_part(family) for family in counts} if prices else {}
    areas = {name: part.areas.values() for name, part in parts.items() if part and part.areas}
    return {
        name: counts[name] * sum_intervals(costs)[0]
        for name, costs in areas.items()
        if all(cost.is_known for cost in costs)
    }


def _replacements(
    machine: str, block_makers: Mapping[str, Maker], refused: Mapping[str, str]
) -> tuple[list[Replacement], Mapping[str, str]]:
    """Return the outermost parts that have a module; if a part has none, its inner parts, and the reason."""
    candidates = {block: maker for block, maker in block_makers.items() if block not in refused}
    outermost, _ = outermost_instances(candidates)
    replacements: list[Replacement] = []
    for block, maker in outermost.items():
        try:
            replacements += choose_replacements(machine, {block: maker}, [ALL], None)
        except InputError as error:
            return _replacements(machine, block_makers, {**refused, block: str(error)})
    return replacements, refused


def _count_parts(replacements: Iterable[Replacement]) -> list[Part]:
    """Return the modules of each family, with their numbers.

    The modules are those of the first replacement of the family; the other members are taken to be equal.
    """
    families: dict[str, list[Replacement]] = {}
    for replacement in replacements:
        families.setdefault(family_name(replacement.at), []).append(replacement)
    line_bytes = max(
        (getattr(replacement.parameters, "line_bytes", 0) for replacement in replacements), default=0
    )
    counts: Counter[tuple[str, RtlBlock, Parameters]] = Counter()
    for family, members in families.items():
        composed = ModulePart(members[0].unit, _with_line_bits(members[0].parameters, line_bytes))
        for inner, _name, part in list_modules(family, "", composed):
            counts[inner, part.block, part.parameters] += len(members)
    return [
        Part(name, count, describe_module(block, parameters))
        for (name, block, parameters), count in counts.items()
    ]


def list_modules(family: str, name: str, part: ModulePart) -> Iterator[tuple[str, str, ModulePart]]:
    """Yield a module, or the modules of a composition, recursively.

    Args:
        family: name of the family of the part, the prefix of the families of its modules.
        name: instance name of the part, the prefix of the instance names of its modules.

    Yields:
        Family, instance name, and module of each.
    """
    if not isinstance(part.block, ComposedBlock):
        yield family, name, part
        return
    for instance in part.block.compose(part.parameters).instances():
        inner = CHANNELS if instance.part.block is OF_STREAM else family_name(f".{instance.name}")
        yield from list_modules(f"{family}.{inner}", f"{name}.{instance.name}", instance.part)


def _with_line_bits(parameters: Parameters, line_bytes: int) -> Parameters:
    """Add the line size of memory, which adapters between the modules determine."""
    widths = {"data": ARRAY, "line_bits": 8 * line_bytes}
    with input_errors():
        return replace(
            parameters,
            **{field.name: widths[field.name] for field in fields(parameters) if field.name in widths},
        )


def measure_families(parts: MachineParts, tell: StepCallback, cells: str = LIBRARY) -> list[Row]:
    """Measure the parts, and return a row for each family. Measurements are kept in the user's table.

    Args:
        tell: called with the current step.
        cells: the library, by its Liberty file or a known name.

    Raises:
        InputError: a tool or the library is missing, or its technology is unknown.
    """
    rows: dict[str, Row] = {}
    netlists = update_table([part.module for part in parts.parts], user_table(), tell, cells)
    for part, netlist in zip(parts.parts, netlists, strict=True):
        row = _row(part, netlist, parts)
        rows[part.family] = rows[part.family] + row if part.family in rows else row
    return list(rows.values())


def _row(part: Part, netlist: Netlist, parts: MachineParts) -> Row:
    """Return the row of a part: its netlist and its SRAMs, times the number of modules."""
    macros = list_macros(part.module.block.twin(part.module.parameters))
    sram_bits = sum(macro.total_bits for macro in macros)
    nanometres = LIBRARIES[netlist.library].nanometres
    scale, sram_scale = (compute_area_factor(nm, parts.technology) for nm in (nanometres, TABLES_NM))
    return Row(
        part.family,
        part.count,
        part.count * netlist.cells,
        part.count * netlist.flip_flops,
        part.count * (netlist.memory_bits - sram_bits),
        part.count * sram_bits,
        part.count * scale * netlist.um2,
        part.count
        * sram_scale
        * sum(estimate(macro.total_bits / 8, macro.entry_bits).area_um2 for macro in macros),
        netlist.path_ns,
        netlist.library,
    )


def area_document(parts: MachineParts, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the areas, and the resulting clock with 45 nm cells, as plain data for JSON."""
    clock = slowest_part(rows)
    return {
        "schema": SCHEMA,
        "machine": parts.machine,
        "cells": rows[0].library,
        "technology": parts.technology,
        "parts": [asdict(row) for row in rows],
        "clock": {
            "part": clock.row.family,
            "path_ns": list(clock.path_ns),
            "hertz": [1e9 / ns for ns in reversed(clock.path_ns)],
            "assumed_hertz": parts.hertz,
        },
        "without": dict(parts.without),
    }


def area_report(parts: MachineParts, rows: Sequence[Row]) -> Iterator[str | Table]:
    """Yield the lines and tables of the area report."""
    yield _table(rows)
    nm, library = f"{parts.technology:g} nm", rows[0].library
    yield f"Cells of {library} by Yosys {version()}, scaled to {nm}, without wires; SRAM is {ESTIMATED}."
    yield "Bits of arrays, which are read within a cycle, are in no area."
    if parts.by_costs:
        measured = sum(row.um2 + row.sram_um2 for row in rows if row.family in parts.by_costs)
        from_costs = sum(parts.by_costs.values())
        yield f"By costs.yaml {from_costs:,.0f} um2 of the parts of which it knows all, here {measured:,.0f}."
    yield from clock_lines(parts.hertz / 1e9, rows)
    for block, reason in parts.without.items():
        yield f"without {block}: {reason}"


def _table(rows: Sequence[Row]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False, show_footer=True
    )
    totals = _numbers(reduce(add, rows)) | {"path\nns": "", "part": "in all"}
    for name, number in totals.items():
        table.add_column(name, number, justify="left" if name == "part" else "right", overflow="fold")
    for row in rows:
        table.add_row(*_numbers(row).values())
    return table


def _numbers(row: Row) -> dict[str, str]:
    """Return the numbers of a row by column."""
    return {
        "part": row.family,
        "number": f"{row.count:,}",
        "cells": f"{row.cells:,}",
        "flip-\nflops": f"{row.flip_flops:,}",
        "array\nbits": f"{row.array_bits:,}",
        "SRAM\nbits": f"{row.sram_bits:,}",
        "cells\num2": f"{row.um2:,.0f}",
        "SRAM\num2": f"{row.sram_um2:,.0f}",
        "path\nns": f"{row.path_ns:.2f}",
    }


@dataclass(frozen=True)
class SlowestPart:
    """The part of a machine with the longest path of logic.

    Args:
        row: the part.
        path_ns: its path in 45 nm cells, minimum and maximum: measured, or estimated from other cells.
    """

    row: Row
    path_ns: tuple[float, float]


def slowest_part(rows: Iterable[Row]) -> SlowestPart:
    """Return the part with the longest path. There must be at least one row."""
    row = max(rows, key=lambda row: row.path_ns)
    return SlowestPart(row, _path_in_45nm(row))


def _path_in_45nm(row: Row) -> tuple[float, float]:
    min_speedup, max_speedup = (1.0, 1.0) if row.library == PRICED else SPEEDUPS
    return row.path_ns / max_speedup, row.path_ns / min_speedup


def clock_lines(gigahertz: float, rows: Sequence[Row]) -> Iterator[str]:
    """Describe the clocks of the RTL and of the machine, and the run time if parts are too slow."""
    slowest = slowest_part(rows)
    cycle = _interval(slowest.path_ns, ".2f")
    clock = _interval((1000 / slowest.path_ns[1], 1000 / slowest.path_ns[0]), ",.0f")
    is_measured = slowest.row.library == PRICED
    guess = "without wires and flip-flops" if is_measured else "by a guess"
    measured_text = "" if is_measured else f" with {slowest.row.path_ns:.2f} ns here"
    yield f"The machine assumes {gigahertz:g} GHz. Its RTL reaches {clock} MHz in 45 nm, {guess}:"
    yield f"the slowest part, {slowest.row.family}{measured_text}, takes {cycle} ns."
    slow_families = [
        row.family
        for row in sorted(rows, key=lambda row: -row.path_ns)
        if _path_in_45nm(row)[1] * gigahertz > 1
    ]
    if slow_families:
        factors = _interval((max(1.0, ns * gigahertz) for ns in slowest.path_ns), ".1f")
        yield f"{gigahertz:g} GHz {'is' if is_measured else 'may be'} missed by {', '.join(slow_families)}:"
        yield f"a run then takes {factors} times as long as its report says."


def _interval(bounds: Iterable[float], form: str) -> str:
    """Return an interval as text, whose ends may be equal."""
    return " to ".join(dict.fromkeys(f"{bound:{form}}" for bound in bounds))
