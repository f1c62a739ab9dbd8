"""Run a graph of stream blocks: ``fiberscope.models.graphs.run(graph, {"B": "wiki-Vote", "c": "ones"})``."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fiberscope.accelerators.configuration import layers, validate
from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress, ignore_progress
from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.cut_tensors import join_tensor
from fiberscope.models.graphs.deadlock import advice
from fiberscope.models.graphs.expression import Assignment, accesses_in, expressions_of
from fiberscope.models.graphs.faults import Unreadable
from fiberscope.models.graphs.gv_reader import read_gv
from fiberscope.models.graphs.gv_writer import gv_text
from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.models.graphs.netlist import Graph
from fiberscope.models.graphs.operands import load_operands, sizes_of
from fiberscope.models.graphs.prepared import PreparedGraph
from fiberscope.models.graphs.report import GraphRun, report
from fiberscope.models.graphs.result import (
    WriterContents,
    carried,
    compare,
    counted,
    ones_at,
    reference,
)
from fiberscope.models.graphs.settings import SHIPPED, GraphParameters
from fiberscope.models.graphs.storage import StoredTensor
from fiberscope.results.errors import raise_fault
from fiberscope.results.provenance.source_digest import Roots, given_settings, operand_name, source_entry
from fiberscope.results.recording.files import StateFiles
from fiberscope.results.recording.simulation import NO_RECORDERS, Recorders, run_recorded
from fiberscope.results.recording.waveform import Waveform
from fiberscope.results.report.document import Report
from fiberscope.results.report.host import Timing
from fiberscope.results.report.parts import RecordedRequest
from fiberscope.results.report.timeline import Drive, Watch
from fiberscope.sim import BuildError, Kernel, Run, SimulationError
from fiberscope.workloads.expressions.expression import Split
from fiberscope.workloads.expressions.points import Points
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.verification import EXACT, Rounding

__all__ = ["graph_settings", "prepare", "roots_of", "run"]


@dataclass(frozen=True)
class RunOptions:
    """Options of a run; the names are those of the arguments of ``run``."""

    cycle_limit: int | None = None
    histograms: bool = False
    tell: Progress = ignore_progress
    recorders: Recorders = NO_RECORDERS
    drive_phase: Drive | None = None


def run(
    graph: Graph | str | Path,
    tensors: Mapping[str, object],
    settings: Mapping[str, object] | None = None,
    config: str | Path | None = None,
    *,
    exact: bool = False,
    cycle_limit: int | None = None,
    waveform: Waveform | None = None,
    memory_trace: Path | None = None,
    timeline: StateFiles | None = None,
    histograms: bool = False,
    progress: Progress | None = None,
    drive: Drive | None = None,
    drive_phase: Drive | None = None,
) -> Report:
    """Run a graph on tensors, verify the results and return the report.

    Args:
        graph: a graph, or the path of its file.
        tensors: operands by name: a path, a folder, a name or generator, ``ones``, a number, or an array.
        settings, config: parameters by key, as in ``{"depth": 4}``, and a YAML file of lower precedence.
        exact: refuse a surrogate of a matrix that cannot be downloaded.
        cycle_limit: cycle in which the run stops, with a report marked incomplete.
        waveform, memory_trace, timeline: files to write; with several phases, those of the last phase.
        histograms: report the distribution of channel occupancies.
        progress: called with the stage, the completed work and the total work.
        drive, drive_phase: run the last phase, as a debugger does, and each earlier phase.

    Raises:
        InputError, ConfigurationError, WorkloadError: an argument is invalid.
        VerificationError, DeadlockedRunError: the run failed; the exception has the report.
    """
    parameters = graph_settings(settings or {}, config)
    _check_memory(parameters, memory_trace)
    asked = RecordedRequest(
        command="graph",
        machine="graph" if isinstance(graph, Graph) else str(graph),
        tensors={name: operand_name(tensor) for name, tensor in tensors.items()},
        settings=given_settings(settings, config),
        exact=exact,
        cycle_limit=cycle_limit,
        histograms=histograms,
        graph=gv_text(graph) if isinstance(graph, Graph) else None,
    )
    source = source_entry(roots_of(None if isinstance(graph, Graph) else str(graph)), asked)
    recorders = Recorders(waveform, memory_trace, timeline, drive)
    options = RunOptions(cycle_limit, histograms, progress or ignore_progress, recorders, drive_phase)
    ready = prepare(graph, tensors, exact=exact, progress=options.tell).timed(parameters.timing)
    return PhaseRuns(ready, parameters, source, options=options).report()


def roots_of(path: str | None) -> Roots:
    """Return the roots of the sources that determine a run: the code of the blocks, and the graph file."""
    return Roots(frozenset({__name__}), () if path is None else (path,), path)


def graph_settings(settings: Mapping[str, object], config: str | Path | None = None) -> GraphParameters:
    """Return the parameters of a run.

    Raises:
        ConfigurationError: a key or a value is invalid.
    """
    return validate(GraphParameters, layers(SHIPPED, name="graph", file=config, settings=settings), "graph")


def _check_memory(parameters: GraphParameters, trace: Path | None) -> None:
    """Refuse a memory trace of a graph without a memory before the operands are loaded."""
    if trace is not None and not parameters.scratchpad.latency:
        raise InputError(
            "the graph has no memory whose requests could be written; give --set scratchpad.latency=N"
        )


def prepare(
    graph: Graph | str | Path,
    tensors: Mapping[str, object],
    *,
    exact: bool = False,
    progress: Progress = ignore_progress,
) -> PreparedGraph:
    """Check a graph and load its operands; the arguments are those of ``run``.

    Raises:
        InputError, WorkloadError: an argument is invalid.
    """
    name = "graph" if isinstance(graph, Graph) else Path(graph).stem
    read = graph if isinstance(graph, Graph) else read_gv(graph)
    check(read, tensors)
    operands = load_operands(
        read, tensors, exact=exact, progress=lambda done, total: progress("loading", done, total)
    )
    try:
        meant, unread = tuple(expressions_of(read)), ""
    except Unreadable as error:
        meant, unread = (), str(error)
    return PreparedGraph(name, read, operands, sizes_of(read, operands), meant, unread)


@dataclass
class PhaseRuns(GraphRun):
    """The runs of a graph, phase by phase.

    Args:
        options: options of the run.
    """

    options: RunOptions = field(default_factory=RunOptions)
    deadlock: str | None = None
    unwritten: str | None = None

    def report(self) -> Report:
        """Run all phases, and return the report.

        Raises:
            VerificationError, DeadlockedRunError, UnwrittenFileError: the run failed.
        """
        start, simulating = time.perf_counter(), 0.0
        self._tensors = {name: operand.stored for name, operand in self.ready.operands.items()}
        self._meant: dict[str, SparseTensor | Points] = {
            name: operand.entries() for name, operand in self.ready.operands.items()
        }
        self._terms = {name: ones_at(tensor) for name, tensor in self._meant.items()}
        for phase in self.ready.graph.phases:
            began = time.perf_counter()
            self.ended = self._run_phase(phase)
            simulating += time.perf_counter() - began
            if not self.ended.complete:
                break
            self.options.tell("verifying", 0, 0)
            self._take_results(self.machines[-1])
        self.timing = Timing(time.perf_counter() - start, simulating)
        result = report(self)
        failed = ((name, each) for name, each in self.comparisons.items() if not each.passed)
        wrong = next((f"{name} is wrong: {comparison.differences}" for name, comparison in failed), None)
        raise_fault(result, deadlock=self.deadlock, wrong=wrong, unwritten=self.unwritten)
        return result

    def _run_phase(self, phase: int) -> Run:
        machine = self._built(phase, kernel=Kernel() if self.options.histograms else None)
        self.machines.append(machine)
        self.watch = Watch(machine, histograms=self.options.histograms)
        recorders = self.options.recorders
        if phase != self.ready.graph.phases[-1]:
            drive = self.options.drive_phase
            recorders = Recorders(states=recorders.states, drive=drive, only_unfinished_states=True)
        limit, tell = self.options.cycle_limit, self.options.tell
        try:
            recorded = run_recorded(machine, self.watch, recorders, limit, tell)
        except SimulationError as error:
            raise InputError(f"{self.ready.name}: {error}{_noted(error)}") from error
        if recorded.deadlock is not None:
            advised = advice(machine, self._unbounded(phase), self._deeper(phase))
            self.deadlock = f"{recorded.deadlock}\n{advised}"
        self.unwritten = recorded.unwritten
        return recorded.run

    def _built(
        self, phase: int, parameters: GraphParameters | None = None, kernel: Kernel | None = None
    ) -> GraphMachine:
        ready = self.ready
        self._check_read(phase)
        arguments = parameters or self.parameters, ready.graph, self._tensors, ready.meant, ready.sizes
        try:
            return GraphMachine(*arguments, phase, kernel)
        except BuildError:
            raise
        except SimulationError as error:
            raise InputError(f"{ready.name}: {error}") from error

    def _check_read(self, phase: int) -> None:
        """Refuse to read a result of an earlier phase whose values have no coordinates."""
        for name, stored in self.results.items():
            read = (node for node in self.ready.graph.nodes.values() if node["tensor"] == name)
            if stored is None and any(node.phase == phase for node in read):
                raise InputError(
                    f"{self.ready.name}: {name} has zeros whose coordinates were dropped, as the public "
                    f"simulator has it (quirks 15, 16): phase {phase} cannot read it; run timing=machine"
                )

    def _take_results(self, machine: GraphMachine) -> None:
        """Verify the results of a phase, and store the results for later phases."""
        for name, written in machine.result().items():
            assignment = next(
                (meaning for meaning in self.ready.meant if meaning.result.tensor == name), None
            )
            stored = self._stored(written, assignment)
            if stored is not None:
                self._tensors[name] = stored
            stored_result = self.results[name] = self._joined(stored, assignment)
            if assignment is not None:
                expected = self._meant[name] = reference(assignment, self._meant, self.ready.sizes)
                if written.values is not None:
                    asked = assignment.result, expected, self.ready.sizes, self.ready.graph.splits
                    self.comparisons[name] = compare(
                        written, stored_result, *asked, self._rounding(assignment)
                    )

    def _rounding(self, assignment: Assignment) -> Rounding:
        """Return the accepted rounding error of a result."""
        kind = self.parameters.value_type
        if not kind.floats:
            return EXACT
        terms = counted(assignment, self._terms, self.ready.sizes)
        self._terms[assignment.result.tensor] = terms
        return Rounding.estimate(kind, terms.sizes.max(initial=1.0), len(accesses_in(self.ready.meant)))

    def _joined(self, stored: StoredTensor | None, assignment: Assignment | None) -> SparseTensor | None:
        """Return a written tensor in undivided dimensions."""
        if stored is None:
            return None
        if assignment is None:
            return stored.entries()
        variables, splits = assignment.result.variables, self.ready.graph.splits
        return join_tensor(stored.entries(), variables, self.ready.sizes, splits)

    def _stored(self, written: WriterContents, assignment: Assignment | None) -> StoredTensor | None:
        if written.values is None and assignment is not None and isinstance(assignment.expression, Split):
            return carried(written, self._tensors[assignment.expression.operand.tensor].values)
        return written.stored()

    def _unbounded(self, phase: int) -> Callable[[], GraphMachine]:
        unbounded = self.parameters.model_copy(update={"depth": 0})
        return lambda: self._built(phase, unbounded, Kernel())

    def _deeper(self, phase: int) -> Callable[[int], GraphMachine]:
        return lambda depth: self._built(phase, self.parameters.model_copy(update={"depth": depth}))


def _noted(error: Exception) -> str:
    return "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
