"""The energy of a block in a run of an accelerator: its cells' by what toggles, its memories' by a table."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from fiberscope.errors import InputError
from fiberscope.report.files import write_text
from fiberscope.rtl.loop import Loop, Outcome, compare
from fiberscope.rtl.places import Place
from hw.rtl.catalogue import BLOCKS
from hw.rtl.kit.backend import Backend
from hw.rtl.tools import sta
from hw.rtl.tools.activity import Activity, RecordingBackend
from hw.rtl.tools.area import library, version
from hw.rtl.tools.netlist import Netlist, mapped
from hw.rtl.tools.simulator import HdlError
from hw.rtl.tools.sram_table import access_pj

__all__ = ["Energy", "Measured", "measure", "said", "written"]

SIMULATORS = ("verilator", "pyrtl")
_LANE = re.compile(r"_\d\d$")  # behind the name of a memory: the number of its lane


@dataclass(frozen=True)
class Energy:
    """A row of the table: what one ``event`` of a ``component`` takes.

    Args:
        component: class of the component.
        event: its counter; ``cycle`` for what every cycle takes, ``NAME.read`` for an access to a memory.
        count: how many there were.
        picojoules: of one.
        source: whence the number is.
        conditions: under which it holds.
    """

    component: str
    event: str
    count: int
    picojoules: float
    source: str
    conditions: str


@dataclass(frozen=True)
class Measured:
    """What was measured: the run, its power, and a row for each event."""

    outcome: Outcome
    cells: str
    cycles: int
    power: sta.Power
    energies: Sequence[Energy]


def measure(order: Loop, simulator: str, liberty: str, folder: Path) -> Measured:
    """Run an accelerator with RTL in one place, and work out what its cells take.

    Args:
        order: the run, of one block, in lock-step.
        simulator: what runs the RTL, of ``SIMULATORS``.
        liberty: the cells, by their file or a known name.
        folder: where Verilog, logs and the report are put.

    Raises:
        InputError: a tool or the library is missing, or as ``fiberscope.rtl.loop.compare`` does.
        DifferentNetlistError: the cells do not do what the RTL does.
    """
    if simulator not in SIMULATORS:
        raise InputError(f"power is measured with --sim {' or '.join(SIMULATORS)}, not with {simulator}")
    made: list[tuple[Place, Netlist, RecordingBackend]] = []
    try:
        cells = library(liberty)
        sta.require()

        def recorder(place: Place, backend: Backend) -> Backend:
            verilog = BLOCKS[place.block].verilog(place.parameters, place.module)
            netlist = mapped(verilog, place.module, cells)
            made.append((place, netlist, RecordingBackend(backend, netlist)))
            return made[-1][-1]

        outcome = compare(order, simulator, folder, recorder)
        ((place, netlist, recording),) = made
        activity = recording.activity()
        power = sta.power_of(netlist, activity, cells)
    except HdlError as error:
        raise InputError(str(error)) from error
    energies = [
        *_of_cells(outcome, place, power, activity, cells.stem),
        *_of_memories(place, netlist, activity),
    ]
    return Measured(outcome, cells.stem, activity.cycles, power, energies)


def _of_cells(
    outcome: Outcome, place: Place, power: sta.Power, activity: Activity, cells: str
) -> Iterator[Energy]:
    """What a cycle takes in which nothing toggles but the clock, and what the rest is for each event."""
    name = _component(place)
    source = f"OpenSTA on the toggles of {outcome.component.accelerator} on {outcome.component.workload.name}"
    given = " ".join(f"{key}={value}" for key, value in asdict(place.parameters).items())
    conditions = f"{cells} cells, no wires, no clock gating; {given}"
    yield Energy(name, "cycle", activity.cycles, power.idle_pj, source, conditions)
    counters = outcome.rtl.components[place.at].counters
    counts = {event: counters[event] for event in BLOCKS[place.block].stand_in.EVENTS}
    whole = sum(counts.values())
    each = (power.run_pj - power.idle_pj) * activity.cycles / whole if whole else 0.0
    shared = f"{source}, the mean of {len(counts)} counters" if len(counts) > 1 else source
    for event, count in counts.items():
        if count:
            yield Energy(name, event, count, each, shared, conditions)


def _of_memories(place: Place, netlist: Netlist, activity: Activity) -> Iterator[Energy]:
    """An estimate for each access to a memory, or to one of its lanes."""
    counts: Counter[tuple[str, int, int, str]] = Counter()
    for memory in netlist.memories:
        for event, net in (("read", memory.read), ("write", memory.write)):
            if net is not None:
                name = _LANE.sub("", memory.name)
                counts[name, memory.entries, memory.bits, event] += activity.high[net]
    for (name, entries, bits, event), count in counts.items():
        yield Energy(
            _component(place),
            f"{name}.{event}",
            count,
            access_pj(entries * bits / 8, bits),
            "estimate by hw.rtl.tools.sram_table",
            f"45 nm SRAM, a lane of {entries} x {bits} bits",
        )


def _component(place: Place) -> str:
    component = BLOCKS[place.block].component
    return place.block if component is None else type(component(place.at, place.parameters)).__name__


def written(measured: Measured, path: Path) -> None:
    """Write the rows as CSV, a column for each field of ``Energy``."""
    text = io.StringIO()
    rows = csv.DictWriter(text, list(Energy.__dataclass_fields__), lineterminator="\n")
    rows.writeheader()
    rows.writerows({**asdict(row), "picojoules": f"{row.picojoules:.4g}"} for row in measured.energies)
    write_text(path, text.getvalue())


def said(measured: Measured) -> None:
    """Print what was measured."""
    power, outcome = measured.power, measured.outcome
    print(f"{', '.join(outcome.at)}: {measured.cycles:,} cycles, every register of the cells as in the RTL")
    print(f"{power.run_pj:,.1f} pJ a cycle, of which the clock's are {power.idle_pj:,.1f}")
    clock = f"{1000 / power.path_ns:,.0f} MHz, a period of {power.path_ns:.2f} ns"
    print(f"{power.run_pj / power.path_ns:,.1f} mW at the clock that the cells allow: {clock}")
    table = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False)
    table.add_column("event", no_wrap=True)
    for name in ("count", "pJ each", "nJ"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in measured.energies:
        whole = row.count * row.picojoules / 1000
        table.add_row(row.event, f"{row.count:,}", f"{row.picojoules:,.3g}", f"{whole:,.1f}")
    Console(highlight=False, markup=False).print(table)
    print(f"Cells of {measured.cells}, without wires, by Yosys {version()} and OpenSTA {sta.version()}.")
    if any(row.source.startswith("estimate") for row in measured.energies):
        print("Accesses to memories, or to each of their lanes, are estimated, for 45 nm.")
