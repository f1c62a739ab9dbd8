"""Energy of a block in a run: of its cells by their toggles, of its memories by a table."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.backend import Backend, PyrtlBackend
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.tools import sta
from fiberscope.hw.rtl.tools.activity import Activity, RecordingBackend
from fiberscope.hw.rtl.tools.area import library, version
from fiberscope.hw.rtl.tools.hdl import AUTO, find
from fiberscope.hw.rtl.tools.netlist import Netlist, map_to_cells
from fiberscope.hw.rtl.tools.simulator import HdlError
from fiberscope.hw.rtl.tools.sram_table import estimate
from fiberscope.hw.rtl.tools.stimulus import STIMULI, output_ports, stimulus
from fiberscope.hw.rtl.tools.verilator import Verilator
from fiberscope.results.report.files import write_text
from fiberscope.rtl.cosim_request import CosimRequest
from fiberscope.rtl.cosimulation import PYRTL, cosimulate, locate_rtl
from fiberscope.rtl.substitution import Replacement
from fiberscope.sim.testing import run_block

SIMULATORS = (AUTO, "verilator", PYRTL)
_LANE = re.compile(r"_\d\d$")  # suffix of a memory's name: the number of its lane


@dataclass(frozen=True)
class Energy:
    """A row of the table: the energy of an ``event`` of a ``component``.

    Args:
        component: class of the component.
        block, parameters: its twin, and the twin's parameters as ``name=number``.
        event: name of the counter; ``cycle`` for every cycle, ``NAME.read`` for an access to a memory.
        count: number of events.
        picojoules: energy of one event, in pJ.
        megahertz: clock frequency that the cells allow; 0 for a memory.
        cells: the library; for a memory, the SRAM of the estimate.
        source: source of the number, and the run.
    """

    component: str
    block: str
    parameters: str
    event: str
    count: int
    picojoules: float
    megahertz: float
    cells: str
    source: str


@dataclass(frozen=True)
class BlockRun:
    """A run of the RTL of a block.

    Args:
        block: name of the block.
        instance: instance name of the replaced component.
        counters: counters of the component after the run.
        subject: description of the run, for the source of a number.
    """

    block: str
    parameters: Parameters
    instance: str
    counters: Mapping[str, int]
    subject: str

    @property
    def component(self) -> str:
        """Return the class of the component; the block's name if the block replaces several."""
        component = BLOCKS[self.block].component
        return self.block if component is None else type(component(self.instance, self.parameters)).__name__

    @property
    def parameter_text(self) -> str:
        """The parameters as text."""
        return " ".join(f"{key}={value}" for key, value in asdict(self.parameters).items())


@dataclass(frozen=True)
class MeasuredPower:
    """The measured power of a run.

    Args:
        cells: name of the cell library.
        cycles: number of cycles.
        power: power of the cells.
        energies: a row of the table for each event.
    """

    block_run: BlockRun
    cells: str
    cycles: int
    power: sta.Power
    energies: Sequence[Energy]


def measure(order: CosimRequest, simulator: str, liberty: str, folder: Path) -> MeasuredPower:
    """Run an accelerator with RTL in one place, and compute the energy of its cells.

    Args:
        order: the run, of one block, in lock-step.
        simulator: simulator of the RTL, one of ``SIMULATORS``.
        liberty: the cells, by their file or a known name.
        folder: folder of Verilog, logs and the report.

    Raises:
        InputError: a tool or the library is missing, or see ``fiberscope.rtl.cosimulation.cosimulate``.
        DifferentNetlistError: the netlist differs from the RTL.
    """
    recorded_runs: list[tuple[Replacement, Netlist, RecordingBackend]] = []
    simulator = check_simulator(simulator)
    locate_rtl(order)  # errors of the order come before those of missing tools
    with tools(liberty) as cells:

        def recorder(replacement: Replacement, backend: Backend) -> Backend:
            netlist = _netlist(replacement.block, replacement.parameters, replacement.module, cells)
            recorded_runs.append((replacement, netlist, RecordingBackend(backend, {"": netlist})))
            return recorded_runs[-1][-1]

        outcome = cosimulate(order, simulator, folder, recorder)
        ((replacement, netlist, recording),) = recorded_runs  # one block in one place
        counters = outcome.rtl.components[replacement.at].counters
        subject = f"{outcome.component.accelerator} on {outcome.component.workload.name}"
        return _evaluate(
            BlockRun(replacement.block, replacement.parameters, replacement.at, counters, subject),
            netlist,
            recording,
            cells,
        )


def measure_alone(block: str, parameters: Parameters, liberty: str) -> MeasuredPower:
    """Run a block's twin on its own stimulus in PyRTL, and compute the energy of its cells.

    Args:
        block: name of the block in the catalogue.
        liberty: the cells, by their file or a known name.

    Raises:
        InputError: there is no stimulus for the block, or a tool or the library is missing.
        DifferentNetlistError: the netlist differs from the RTL.
    """
    if block not in STIMULI:
        raise InputError(f"{block} has no stimulus of its own; name an accelerator and a matrix")
    rtl_block = BLOCKS[block]
    interface = rtl_block.interface(parameters)
    with tools(liberty) as cells:
        netlist = _netlist(block, parameters, interface.module, cells)
        recording = RecordingBackend(PyrtlBackend(rtl_block.twin(parameters), watched=True), {"": netlist})
        adapter = rtl_block.adapter("block", interface, recording)
        outputs = output_ports(interface, rtl_block.adapter)
        outcome = run_block(adapter, stimulus(block, parameters), outputs, sleep=False)
        counters = outcome.statistics["block"].counters
        block_run = BlockRun(
            block, parameters, block, counters, "its own stimulus (fiberscope.hw.rtl.tools.stimulus)"
        )
        return _evaluate(block_run, netlist, recording, cells)


def check_simulator(name: str) -> str:
    """Return the simulator of the RTL, which must record toggles in this process.

    For ``auto``, this is Verilator, or PyRTL if Verilator is not installed.

    Raises:
        InputError: the simulator cannot record toggles.
    """
    if name not in SIMULATORS:
        raise InputError(f"power is measured with --sim {' or '.join(SIMULATORS)}, not with {name}")
    if name != AUTO:
        return name
    try:
        return find(Verilator.name).name
    except HdlError:
        return PYRTL


@contextmanager
def tools(liberty: str) -> Iterator[Path]:
    """Yield the path of a cell library, after a check that OpenSTA is installed.

    Args:
        liberty: the library, by its file or a known name.

    Raises:
        InputError: the library or OpenSTA is missing, or a tool fails within the context (``HdlError``).
    """
    try:
        cells = library(liberty)
        sta.require()
        yield cells
    except HdlError as error:
        raise InputError(str(error)) from error


def _netlist(block: str, parameters: Parameters, module: str, cells: Path) -> Netlist:
    return map_to_cells(BLOCKS[block].verilog(parameters, module), module, cells)


def _evaluate(
    block_run: BlockRun, netlist: Netlist, recording: RecordingBackend, cells: Path
) -> MeasuredPower:
    activity = recording.activity()
    power = sta.power_of(netlist, activity, cells)
    energies = [
        *_cell_energies(block_run, power, activity.cycles, cells.stem),
        *_memory_energies(block_run, netlist, activity),
    ]
    return MeasuredPower(block_run, cells.stem, activity.cycles, power, energies)


def _cell_energies(block_run: BlockRun, power: sta.Power, cycles: int, cells: str) -> Iterator[Energy]:
    """Yield the energy of a cycle in which only the clock toggles, and the additional energy of events."""
    source = f"OpenSTA on the toggles of {block_run.subject}; no wires, no clock gating"
    counts = {event: block_run.counters[event] for event in BLOCKS[block_run.block].adapter.EVENTS}
    total_count = sum(counts.values())
    event_pj = (power.run_pj - power.idle_pj) * cycles / total_count if total_count else 0.0
    shared_source = f"{source}; the mean of {len(counts)} counters" if len(counts) > 1 else source

    def row(event: str, count: int, picojoules: float, source_text: str) -> Energy:
        fields = block_run.component, block_run.block, block_run.parameter_text
        return Energy(*fields, event, count, picojoules, 1000 / power.path_ns, cells, source_text)

    yield row("cycle", cycles, power.idle_pj, source)
    yield from (row(event, count, event_pj, shared_source) for event, count in counts.items() if count)


def memory_accesses(netlist: Netlist, activity: Activity) -> Counter[tuple[str, int, int, str]]:
    """Count enabled reads and writes in a run.

    Args:
        netlist: the module in cells, with its memories.
        activity: the run.

    Returns:
        The counts by name of the memory without its lane, entries, bits of an entry, and ``read`` or
        ``write``. An access to several lanes counts once for each lane.
    """
    counts: Counter[tuple[str, int, int, str]] = Counter()
    for memory in netlist.memories:
        for event, net in (("read", memory.read), ("write", memory.write)):
            if net is not None:
                name = _LANE.sub("", memory.name)
                counts[name, memory.entries, memory.bits, event] += activity.high[net]
    return counts


def _memory_energies(block_run: BlockRun, netlist: Netlist, activity: Activity) -> Iterator[Energy]:
    """Yield an estimate for each access to a memory or to one of its lanes."""
    for (name, entries, bits, event), count in memory_accesses(netlist, activity).items():
        sram = estimate(entries * bits / 8, bits)
        yield Energy(
            block_run.component,
            block_run.block,
            block_run.parameter_text,
            f"{name}.{event}",
            count,
            sram.read_pj if event == "read" else sram.write_pj,
            0.0,
            f"45 nm SRAM, a lane of {entries} x {bits} bits",
            f"estimate by fiberscope.hw.rtl.tools.sram_table; counted of {block_run.subject}",
        )


def write_rows(measured: MeasuredPower, path: Path) -> None:
    """Write the rows as CSV, a column for each field of ``Energy``.

    Raises:
        InputError: the file cannot be written.
    """
    text = io.StringIO()
    rows = csv.DictWriter(text, list(Energy.__dataclass_fields__), lineterminator="\n")
    rows.writeheader()
    for row in measured.energies:
        numbers = {"picojoules": f"{row.picojoules:.4g}", "megahertz": f"{row.megahertz:.0f}"}
        rows.writerow({**asdict(row), **numbers})
    write_text(path, text.getvalue())


def print_power(measured: MeasuredPower) -> None:
    """Print the measured power."""
    power, instance = measured.power, measured.block_run.instance
    print(f"{instance}: {measured.cycles:,} cycles, every register of the cells as in the RTL")
    print(f"{power.run_pj:,.1f} pJ a cycle, of which the clock's are {power.idle_pj:,.1f}")
    clock = f"{1000 / power.path_ns:,.0f} MHz, a period of {power.path_ns:.2f} ns"
    print(f"{power.run_pj / power.path_ns:,.1f} mW at the clock that the cells allow: {clock}")
    table = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False)
    table.add_column("event", no_wrap=True)
    for name in ("count", "pJ each", "nJ"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in measured.energies:
        nanojoules = row.count * row.picojoules / 1000
        table.add_row(row.event, f"{row.count:,}", f"{row.picojoules:,.3g}", f"{nanojoules:,.1f}")
    Console(highlight=False, markup=False).print(table)
    print(f"Cells of {measured.cells}, without wires, by Yosys {version()} and OpenSTA {sta.version()}.")
    if any(row.source.startswith("estimate") for row in measured.energies):
        print("Accesses to memories, or to each of their lanes, are estimated, for 45 nm.")
