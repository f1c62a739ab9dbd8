"""Run a graph of stream blocks: ``fiberscope.models.graphs.run(graph, {"B": "wiki-Vote", "c": "ones"})``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fiberscope.accelerators.configuration import layers, validate
from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress, ignore_progress
from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.cut_tensors import join_tensor
from fiberscope.models.graphs.deadlock import explain_deadlock
from fiberscope.models.graphs.expression import Assignment, list_accesses, list_expressions
from fiberscope.models.graphs.faults import Unreadable
from fiberscope.models.graphs.gv_reader import read_gv
from fiberscope.models.graphs.gv_writer import gv_text
from fiberscope.models.graphs.machine import GraphMachine
from fiberscope.models.graphs.netlist import Graph
from fiberscope.models.graphs.operands import determine_sizes, load_operands
from fiberscope.models.graphs.prepared import PreparedGraph
from fiberscope.models.graphs.report import GraphRun, report
from fiberscope.models.graphs.result import (
    WriterContents,
    attach_values,
    compare,
    count_terms,
    count_unpaired,
    reference,
    unit_values,
)
from fiberscope.models.graphs.settings import DEFAULTS, GraphParameters
from fiberscope.models.graphs.storage import StoredTensor
from fiberscope.results.errors import raise_fault
from fiberscope.results.provenance.source_digest import (
    Roots,
    build_source_entry,
    find_operand_name,
    list_given_settings,
)
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
from fiberscope.workloads.verification import DOUBLE_LIMITS, Comparison, Rounding


@dataclass(frozen=True)
class RunOptions:
    """Options of a run.

    Args:
        cycle_limit, histograms, drive_phase: the arguments of ``run`` with these names.
        report_progress: the argument ``progress`` of ``run``; ignores reports by default.
        recorders: recorders of the last phase: waveform, memory trace, timeline, and ``drive``.
    """

    cycle_limit: int | None = None
    histograms: bool = False
    report_progress: Progress = ignore_progress
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
        tensors: all operands by name: a path, a folder, a name, a generator, ``ones``, a number or an array.
        settings, config: parameters by key, as in ``{"depth": 4}``, and a YAML file of lower precedence.
        exact: refuse a surrogate of a matrix that cannot be downloaded.
        cycle_limit: cycle of a phase in which the run stops, with a report marked incomplete.
        waveform, memory_trace, timeline: files to write: of the last phase, ``timeline`` of a failed one too.
        histograms: report the distribution of channel occupancies.
        progress: called with the stage, the completed work and the total work.
        drive, drive_phase: run the last phase, and each earlier phase, in place of ``timeline.run``.

    Raises:
        InputError, ConfigurationError, WorkloadError: an argument is invalid.
        VerificationError, DeadlockedRunError, UnwrittenFileError: the run failed; the error has the report.
    """
    parameters = graph_settings(settings or {}, config)
    _check_memory(parameters, memory_trace)
    request = RecordedRequest(
        command="graph",
        machine="graph" if isinstance(graph, Graph) else str(graph),
        tensors={name: find_operand_name(tensor) for name, tensor in tensors.items()},
        settings=list_given_settings(settings, config),
        exact=exact,
        cycle_limit=cycle_limit,
        histograms=histograms,
        graph=gv_text(graph) if isinstance(graph, Graph) else None,
    )
    source = build_source_entry(find_roots(None if isinstance(graph, Graph) else str(graph)), request)
    recorders = Recorders(waveform, memory_trace, timeline, drive)
    options = RunOptions(cycle_limit, histograms, progress or ignore_progress, recorders, drive_phase)
    prepared = prepare(graph, tensors, exact=exact, progress=options.report_progress)
    return PhaseRuns(prepared.with_timing(parameters.timing), parameters, source, options=options).execute()


def find_roots(path: str | None) -> Roots:
    """Return the roots of the sources that determine a run: this module's imports, and the graph file.

    Args:
        path: path of the graph file; None for a graph in memory.
    """
    return Roots(frozenset({__name__}), () if path is None else (path,), path)


def graph_settings(settings: Mapping[str, object], config: str | Path | None = None) -> GraphParameters:
    """Return the parameters of a run.

    Args:
        settings: parameters by dotted key; they take precedence over the file.
        config: path of a YAML file, which takes precedence over the defaults; None for no file.

    Raises:
        ConfigurationError: a key or a value is invalid.
    """
    return validate(GraphParameters, layers(DEFAULTS, name="graph", file=config, settings=settings), "graph")


def _check_memory(parameters: GraphParameters, trace: Path | None) -> None:
    """Refuse a memory trace of a graph without a memory, before the operands are loaded.

    Raises:
        InputError: a trace is requested, and ``scratchpad.latency`` is 0.
    """
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
    """Check a graph, load its operands, and read its expression.

    A graph whose expression cannot be determined has no assignments, but a reason for it.

    Args:
        graph, tensors, exact: the arguments of ``run``.
        progress: called during a download with ``loading``, the bytes read so far and the bytes in total.

    Raises:
        InputError, WorkloadError: an argument is invalid.
    """
    name = "graph" if isinstance(graph, Graph) else Path(graph).stem
    loaded = graph if isinstance(graph, Graph) else read_gv(graph)
    check(loaded, tensors)
    operands = load_operands(
        loaded, tensors, exact=exact, progress=lambda completed, total: progress("loading", completed, total)
    )
    try:
        assignments, unreadable_reason = tuple(list_expressions(loaded)), ""
    except Unreadable as error:
        assignments, unreadable_reason = (), str(error)
    return PreparedGraph(
        name, loaded, operands, determine_sizes(loaded, operands), assignments, unreadable_reason
    )


@dataclass
class PhaseRuns(GraphRun):
    """The runs of a graph, phase by phase.

    Args:
        options: options of the run.
        deadlock: explanation of a deadlock, with advice on channel depths; None without a deadlock.
        unwritten: the file that could not be written, and the reason; None if all files were written.
    """

    options: RunOptions = field(default_factory=RunOptions)
    deadlock: str | None = None
    unwritten: str | None = None

    def execute(self) -> Report:
        """Run all phases, verify their results and return the report; call this method once.

        A phase that does not complete is the last one that runs.

        Raises:
            VerificationError, DeadlockedRunError, UnwrittenFileError: the run failed; the error has the
                report.
            InputError: a phase cannot read the result of an earlier phase, or a block refuses its input.
        """
        start, simulation_seconds = time.perf_counter(), 0.0
        self._tensors = {name: operand.stored for name, operand in self.prepared.operands.items()}
        # entries of the reference only: a wrong result does not change what later phases should compute
        self._expected: dict[str, SparseTensor | Points] = {
            name: operand.entries() for name, operand in self.prepared.operands.items()
        }
        # number of terms in each entry of a tensor, which bounds its rounding error; an operand has one
        self._terms = {name: unit_values(tensor) for name, tensor in self._expected.items()}
        for phase in self.prepared.graph.phases:
            phase_start = time.perf_counter()
            self.last_run = self._run_phase(phase)
            simulation_seconds += time.perf_counter() - phase_start
            if not self.last_run.complete:
                break
            self.options.report_progress("verifying", 0, 0)
            self._take_results(self.machines[-1])
        self.timing = Timing(time.perf_counter() - start, simulation_seconds)
        result = report(self)
        # the error names the first wrong tensor only
        wrong = (
            f"{name} is wrong: {comparison.differences}"
            for name, comparison in self.comparisons.items()
            if not comparison.passed
        )
        raise_fault(result, deadlock=self.deadlock, wrong=next(wrong, None), unwritten=self.unwritten)
        return result

    def _run_phase(self, phase: int) -> Run:
        """Run a phase; record a deadlock with its explanation, and files that could not be written."""
        # occupancies need a kernel that runs all blocks in step, not each ahead of its consumers
        machine = self._build(phase, kernel=Kernel() if self.options.histograms else None)
        self.machines.append(machine)
        self.watch = Watch(machine, histograms=self.options.histograms)
        recorders = self.options.recorders
        if phase != self.prepared.graph.phases[-1]:
            # a waveform and a trace are of the last phase; states of an earlier phase only if it fails
            drive = self.options.drive_phase
            recorders = Recorders(states=recorders.states, drive=drive, only_unfinished_states=True)
        limit, report_progress = self.options.cycle_limit, self.options.report_progress
        try:
            recorded = run_recorded(machine, self.watch, recorders, limit, report_progress)
        except SimulationError as error:
            raise InputError(f"{self.prepared.name}: {error}{_list_notes(error)}") from error
        if recorded.deadlock is not None:
            explanation = explain_deadlock(
                machine,
                # in step, as the explanation reads how many tokens each channel had to hold at once
                lambda: self._build_with_depth(0, phase, Kernel()),
                lambda depth: self._build_with_depth(depth, phase),
            )
            self.deadlock = f"{recorded.deadlock}\n{explanation}"
        self.unwritten = recorded.unwritten
        return recorded.run

    def _build(
        self, phase: int, parameters: GraphParameters | None = None, kernel: Kernel | None = None
    ) -> GraphMachine:
        """Return the machine of a phase, by default with the parameters of the run."""
        prepared = self.prepared
        self._check_readable(phase)
        arguments = (
            parameters or self.parameters,
            prepared.graph,
            self._tensors,
            prepared.assignments,
            prepared.sizes,
        )
        try:
            return GraphMachine(*arguments, phase, kernel)
        except BuildError:
            # faulty wiring is a defect of the machine, not of the graph or its operands
            raise
        except SimulationError as error:
            raise InputError(f"{prepared.name}: {error}") from error

    def _check_readable(self, phase: int) -> None:
        """Refuse to read a result of an earlier phase whose values have no coordinates."""
        for name, result in self.results.items():
            readers = (node for node in self.prepared.graph.nodes.values() if node["tensor"] == name)
            if result is None and any(node.phase == phase for node in readers):
                if not self.parameters.has_unpaired_values:
                    fault = f"{name} has values without coordinates, or coordinates without values"
                    raise InputError(f"{self.prepared.name}: {fault}")
                raise InputError(
                    f"{self.prepared.name}: {name} has zeros whose coordinates were dropped, as the public "
                    f"simulator has it (quirks 15, 16): phase {phase} cannot read it; run timing=machine"
                )

    def _take_results(self, machine: GraphMachine) -> None:
        """Store the results of a phase for later phases, and compare those with an expression.

        A result without values, the coordinates of a split tensor, is not compared: its values are those of
        the tensor.
        A failed comparison is stored in ``comparisons``, and raises no error here.
        """
        for name, contents in machine.result().items():
            assignment = next(
                (candidate for candidate in self.prepared.assignments if candidate.result.tensor == name),
                None,
            )
            tensor = self._assemble_result(contents, assignment)
            # ``_check_readable`` refuses a later phase that reads a tensor without coordinates
            if tensor is not None:
                self._tensors[name] = tensor
            stored_result = self.results[name] = self._join_splits(tensor, assignment)
            if assignment is not None:
                self._expected[name] = reference(assignment, self._expected, self.prepared.sizes)
                if contents.values is not None:
                    self.comparisons[name] = self._compare(contents, stored_result, assignment)

    def _compare(
        self, contents: WriterContents, result: SparseTensor | None, assignment: Assignment
    ) -> Comparison:
        """Compare a result with the expected result of its assignment."""
        rounding = self._find_rounding(assignment)
        # with quirk 15 or 16, values without coordinates are expected, and ``compare`` compares lists
        if result is None and not self.parameters.has_unpaired_values:
            return count_unpaired(contents)
        expected = self._expected[assignment.result.tensor]
        assert isinstance(expected, Points)
        request = assignment.result, expected, self.prepared.sizes, self.prepared.graph.splits
        return compare(contents, result, *request, rounding)

    def _find_rounding(self, assignment: Assignment) -> Rounding:
        """Return the accepted rounding error of a result."""
        value_type = self.parameters.value_type
        # integers and ``auto`` are computed in doubles, as the reference is
        if not value_type.floats:
            return DOUBLE_LIMITS
        terms = count_terms(assignment, self._terms, self.prepared.sizes)
        self._terms[assignment.result.tensor] = terms
        return Rounding.estimate(
            value_type, terms.sizes.max(initial=1.0), len(list_accesses(self.prepared.assignments))
        )

    def _join_splits(self, tensor: StoredTensor | None, assignment: Assignment | None) -> SparseTensor | None:
        """Return a written tensor in undivided dimensions; None if its values have no coordinates."""
        if tensor is None:
            return None
        if assignment is None:
            return tensor.entries()
        variables, splits = assignment.result.variables, self.prepared.graph.splits
        return join_tensor(tensor.entries(), variables, self.prepared.sizes, splits)

    def _assemble_result(
        self, contents: WriterContents, assignment: Assignment | None
    ) -> StoredTensor | None:
        """Return what the writers hold as ``assemble`` does; a split tensor has the values of its operand."""
        if contents.values is None and assignment is not None and isinstance(assignment.expression, Split):
            return attach_values(contents, self._tensors[assignment.expression.operand.tensor].values)
        return contents.assemble(has_unpaired_values=self.parameters.has_unpaired_values)

    def _build_with_depth(self, depth: int, phase: int, kernel: Kernel | None = None) -> GraphMachine:
        """Build the machine of a phase with channels of this depth in tokens; 0 means without bounds."""
        return self._build(phase, self.parameters.model_copy(update={"depth": depth}), kernel)


def _list_notes(error: Exception) -> str:
    return "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
