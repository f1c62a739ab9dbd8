"""The command ``fiberscope rtl power MACHINE``: power of the parts of a machine as one module in a run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from fiberscope.accelerators.configuration import parse_settings, values
from fiberscope.base.progress import Progress, ignore_progress
from fiberscope.hw.rtl.kit.backend import Backend
from fiberscope.hw.rtl.kit.channel import OF_STREAM
from fiberscope.hw.rtl.kit.composition import Composition, Part
from fiberscope.hw.rtl.kit.machine_module import ModuleKernel
from fiberscope.hw.rtl.kit.sram import list_macros
from fiberscope.hw.rtl.tools import sta
from fiberscope.hw.rtl.tools.activity import Activity, RecordingBackend
from fiberscope.hw.rtl.tools.area import version
from fiberscope.hw.rtl.tools.netlist import Netlist, map_to_cells
from fiberscope.hw.rtl.tools.sram_table import estimate
from fiberscope.results.costs.cost_file import read_cost_file
from fiberscope.results.costs.netlists import LIBRARY, LIBRARY_NM, LIBRARY_VOLTS
from fiberscope.results.costs.run_costs import CHANNELS as MEMORY
from fiberscope.results.costs.scaling import compute_energy_factor
from fiberscope.results.costs.silicon import TABLES_NM, TABLES_VOLTS
from fiberscope.results.errors import FailedRunError
from fiberscope.results.report.document import Report
from fiberscope.rtl.cosim_request import CosimRequest
from fiberscope.rtl.cosimulation import cosimulate
from fiberscope.rtl.machine_area import CHANNELS, list_modules
from fiberscope.rtl.machine_module import compose_parts
from fiberscope.rtl.power import check_simulator, memory_accesses, tools
from fiberscope.run.configure import resolve_run
from fiberscope.run.find_machine import find
from fiberscope.sim.names import family_name

SCHEMA = "fiberscope-machine-power-1"
MAPPING, RUNNING, ADDING = "mapping parts to cells", "compiling and running the module", "adding up power"


@dataclass(frozen=True)
class Row:
    """Energy of a family in a run: sums over its modules, in pJ per cycle, in the machine's technology.

    Args:
        family: name of the family of equal components, see ``fiberscope.rtl.machine_area.Part``.
        count: number of modules.
        clock: energy of cells if only the clock toggles.
        toggling: additional energy of cells.
        sram: energy of accesses to synchronous memories.
        array: energy of writes to memories with a read within a cycle.
    """

    family: str
    count: int
    clock: float
    toggling: float
    sram: float
    array: float

    @property
    def picojoules(self) -> float:
        """Return the total energy in pJ per cycle."""
        return self.clock + self.toggling + self.sram + self.array

    def __add__(self, other: Row) -> Row:
        """Add the numbers of two rows; the family is that of the first row."""
        sums = (getattr(self, field.name) + getattr(other, field.name) for field in fields(self)[1:])
        return Row(self.family, *sums)


@dataclass(frozen=True)
class Node:
    """The technology to which numbers are scaled.

    Args:
        technology: node in nm.
        voltage: supply voltage in V.
    """

    technology: float
    voltage: float


@dataclass(frozen=True)
class MachinePower:
    """Measured power of a machine.

    Args:
        report: report of the same run with the event model.
        cycles: cycles of the module.
        rows: rows by family.
        without: families with a module without registers, for which OpenSTA reports no power.
        node: node of the machine.
        hertz: clock frequency.
    """

    report: Report
    cycles: int
    rows: Sequence[Row]
    without: Sequence[str]
    node: Node
    hertz: float

    def by_costs(self, family: str) -> float | None:
        """Return the energy of a family in the run by the report, in pJ; None if it has none."""
        energy = self.report.energy
        energies = energy.by_component.get(family) if energy else None
        return None if energies is None else sum(energies.values())


@dataclass(frozen=True)
class EqualParts:
    """Instances of a module in a family.

    Args:
        family: name of the family.
        netlist: the module in cells.
        part: the module: a block with parameters.
        instances: instance names within the machine's module.
    """

    family: str
    netlist: Netlist
    part: Part
    instances: Sequence[str]


def measure_machine(
    order: CosimRequest, simulator: str, folder: Path, progress: Progress = ignore_progress
) -> MachinePower:
    """Run a machine as one module, and compute the energy of the cells of each part.

    Args:
        order: the run, of the block ``machine``.
        simulator: simulator of the RTL, one of ``fiberscope.rtl.power.SIMULATORS``.
        folder: folder of Verilog, logs and the report.
        progress: called with the current step.

    Raises:
        InputError: the simulator records no toggles, a tool or the library is missing, there is no such
            module, or see ``cosimulate``.
        FailedRunError: the run failed, or the module differs from the event model.
        DifferentNetlistError: the netlist differs from the RTL.
    """
    accelerator = find(order.accelerator)
    costs = read_cost_file(accelerator.costs_file).sections
    recordings: list[RecordingBackend] = []
    simulator = check_simulator(simulator)
    kernel, composition = compose_parts(order)
    with tools(LIBRARY) as cells:
        parts = _equal_parts(kernel, composition, cells, progress)
        # OpenSTA knows no activity of a part without registers.
        clocked_parts = [part for part in parts if part.netlist.registers]
        netlists = {name: part.netlist for part in clocked_parts for name in part.instances}

        def recorder(_module: object, backend: Backend) -> Backend:
            # The run creates the backend; its recording is read after the run.
            recordings.append(RecordingBackend(backend, netlists))
            return recordings[-1]

        progress(RUNNING, 0, 0)
        outcome = cosimulate(order, simulator, folder, recorder)
        if differences := outcome.differences():
            raise FailedRunError(f"{order.accelerator} as one module: {differences[0]}", outcome.rtl)
        node = Node(costs["technology"], costs["voltage"])
        rows: list[Row] = []
        for part in clocked_parts:
            progress(ADDING, len(rows), len(clocked_parts))
            rows.append(measure_row(part, recordings[-1], cells, node))
    configured = resolve_run(accelerator, parse_settings(list(order.settings)), None).configured
    hertz = float(str(values(configured)["clock"]))
    without = sorted({part.family for part in parts if not part.netlist.registers})
    cycles = recordings[-1].activity(clocked_parts[0].instances[0]).cycles
    return MachinePower(outcome.component, cycles, _by_family(rows), without, node, hertz)


def _by_family(rows: Iterable[Row]) -> list[Row]:
    """Return the sum of the rows of each family."""
    rows_by_family: dict[str, Row] = {}
    for row in rows:
        rows_by_family[row.family] = rows_by_family[row.family] + row if row.family in rows_by_family else row
    return list(rows_by_family.values())


def _equal_parts(
    kernel: ModuleKernel, composition: Composition, cells: Path, progress: Progress
) -> list[EqualParts]:
    """Return the parts of the module, each mapped once. Channels between parts are a family.

    Instances are equal parts if they have the same family, block and parameters.
    """
    instances: dict[tuple[str, Part], list[str]] = {}
    for instance in composition.instances():
        channel = instance.part.block is OF_STREAM
        family = CHANNELS if channel else family_name(kernel.placeholders[instance.name].name)
        for inner, name, part in list_modules(family, instance.name, instance.part):
            instances.setdefault((inner, part), []).append(name)
    netlists = _map_parts({part for _family, part in instances}, cells, progress)
    return [EqualParts(family, netlists[part], part, names) for (family, part), names in instances.items()]


def _map_parts(parts: Iterable[Part], cells: Path, progress: Progress) -> Mapping[Part, Netlist]:
    """Map each part to cells, several in parallel: Yosys is a separate process, PyRTL has a single design."""
    texts = {
        part: part.block.modules(part.parameters, part.interface.module, status=part.status) for part in parts
    }
    netlists: dict[Part, Netlist] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        progress(MAPPING, 0, len(texts))
        for part, netlist in zip(
            texts,
            pool.map(lambda module: map_to_cells(texts[module], module.interface.module, cells), texts),
            strict=True,
        ):
            netlists[part] = netlist
            progress(MAPPING, len(netlists), len(texts))
    return netlists


def measure_row(equal_parts: EqualParts, recording: RecordingBackend, cells: Path, node: Node) -> Row:
    """Return the row of the instances of a part in the run.

    The activities of all instances are added up, so that OpenSTA runs once for a part.

    Args:
        equal_parts: the part and its instances.
        recording: the activity of each instance in the run.
        cells: the cell library.
        node: the technology to which energies are scaled.
    """
    # Energies and accesses are means over the cycles of all instances. Times the number of instances, they
    # are sums over the instances in one cycle of the machine.
    activity = _combine(map(recording.activity, equal_parts.instances))
    power, count = sta.power_of(equal_parts.netlist, activity, cells), len(equal_parts.instances)
    scale = count * compute_energy_factor(LIBRARY_NM, LIBRARY_VOLTS, node.technology, node.voltage)
    memory_scale = count * compute_energy_factor(TABLES_NM, TABLES_VOLTS, node.technology, node.voltage)
    synchronous = {
        macro.name for macro in list_macros(equal_parts.part.block.twin(equal_parts.part.parameters))
    }
    accesses_pj = {True: 0.0, False: 0.0}
    for (name, entries, bits, event), number in memory_accesses(equal_parts.netlist, activity).items():
        sram = estimate(entries * bits / 8, bits)  # of the size in bytes and the bits of an access
        access_pj = sram.read_pj if event == "read" else sram.write_pj
        accesses_pj[name in synchronous] += memory_scale * number * access_pj / activity.cycles
    toggling = power.run_pj - power.idle_pj
    numbers = count, scale * power.idle_pj, scale * toggling, accesses_pj[True], accesses_pj[False]
    return Row(equal_parts.family, *numbers)


def _combine(activities: Iterable[Activity]) -> Activity:
    """Combine activities as if a single module had done all work in sequence."""
    toggles, high, cycles = Counter[int](), Counter[int](), 0
    for activity in activities:
        cycles += activity.cycles
        toggles.update(activity.toggles)
        high.update(activity.high)
    return Activity(cycles, toggles, high)


def power_document(power: MachinePower) -> dict[str, Any]:
    """Return the power as plain data, for JSON."""
    return {
        "schema": SCHEMA,
        "machine": power.report.accelerator,
        "workload": power.report.workload.name,
        "cells": LIBRARY,
        **asdict(power.node),
        "cycles": power.cycles,
        "parts": [{**asdict(row), "by_costs_pj": power.by_costs(row.family)} for row in power.rows],
        "without": list(power.without),
    }


def machine_power_report(power: MachinePower) -> Iterator[str | Table]:
    """Yield the lines and tables of the power report."""
    # Energy in pJ per cycle, times the clock in GHz, is power in mW.
    total, gigahertz = reduce(add, power.rows).picojoules, power.hertz / 1e9
    run = f"{power.report.accelerator} on {power.report.workload.name}: {power.cycles:,} cycles"
    yield f"{run}, every register of the cells as in the RTL"
    yield _table(power)
    yield f"{total:,.1f} pJ a cycle, {total * gigahertz:,.1f} mW at {gigahertz:g} GHz."
    yield f"Cells of {LIBRARY}, without wires, by Yosys {version()} and OpenSTA {sta.version()}, scaled from"
    origin = f"{LIBRARY_NM:g} nm at {LIBRARY_VOLTS:g} V"
    yield f"{origin} to {power.node.technology:g} nm at {power.node.voltage:g} V; no clock tree, none gated."
    yield "Accesses to SRAM, and writes to arrays, are estimated for 45 nm; reads of arrays are in no number."
    if power.without:
        yield f"Without {', '.join(power.without)}: no register, without which OpenSTA knows no activity."
    # Both sums cover only the families that costs.yaml prices, so that they can be compared.
    energies = {row: cost_pj for row in power.rows if (cost_pj := power.by_costs(row.family)) is not None}
    if energies:
        measured = power.cycles * sum(row.picojoules for row in energies) / 1000
        from_costs = sum(energies.values()) / 1000
        yield f"By costs.yaml {from_costs:,.1f} nJ of the parts of which it knows, here {measured:,.1f}."
        yield from _energy_per_multiplication(power, {"by costs.yaml": from_costs, "here": measured})
    if memory := power.by_costs(MEMORY):
        yield f"Memory is no part of the module; by costs.yaml it takes {memory / 1000:,.1f} nJ."


def _energy_per_multiplication(power: MachinePower, nanojoules: Mapping[str, float]) -> Iterator[str]:
    """Yield the energy for each multiplication of the run."""
    if count := power.report.operations.get("multiply"):
        energies_text = ", ".join(
            f"{source} {energy * 1000 / count:,.0f}" for source, energy in nanojoules.items()
        )
        yield f"For each of {count:,} multiplications these are, in pJ, {energies_text}."


def _table(power: MachinePower) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False, show_footer=True
    )
    # The sum has the family of the first row, whose name and energy by costs.yaml would be wrong here.
    totals = _numbers(reduce(add, power.rows), power) | {"part": "in all", "costs.yaml\nnJ": ""}
    for name, number in totals.items():
        table.add_column(name, number, justify="left" if name == "part" else "right", overflow="fold")
    for row in power.rows:
        table.add_row(*_numbers(row, power).values())
    return table


def _numbers(row: Row, power: MachinePower) -> dict[str, str]:
    """Return the numbers of a row by column."""
    cost_pj = power.by_costs(row.family)
    return {
        "part": row.family,
        "number": f"{row.count:,}",
        "clock\npJ": f"{row.clock:,.2f}",
        "toggles\npJ": f"{row.toggling:,.2f}",
        "SRAM\npJ": f"{row.sram:,.2f}",
        "arrays\npJ": f"{row.array:,.2f}",
        "the run\nnJ": f"{power.cycles * row.picojoules / 1000:,.1f}",
        "costs.yaml\nnJ": "" if cost_pj is None else f"{cost_pj / 1000:,.1f}",
    }
