"""Execution of one run: build the model, simulate, verify the answer and return the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from fiberscope.accelerators.configuration import Configuration, ConfigurationError
from fiberscope.accelerators.machine import EVENT, Accelerator, Estimate, Machine, Model
from fiberscope.accelerators.sampling import Sample
from fiberscope.accelerators.user_parts import check_part
from fiberscope.base.collector import pause_collector
from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress
from fiberscope.models.tiles.machines import set_tiles
from fiberscope.results.errors import raise_fault
from fiberscope.results.recording.simulation import NO_RECORDERS, RecordedRun, Recorders, run_recorded
from fiberscope.results.report import collect
from fiberscope.results.report.collect import CheckedAnswer
from fiberscope.results.report.costs import load_prices
from fiberscope.results.report.document import Report
from fiberscope.results.report.host import Timing
from fiberscope.results.report.parts import RecordedRequest, Source
from fiberscope.results.report.timeline import Watch
from fiberscope.sim import BuildError, Component, Run, SimulationError
from fiberscope.sim.lookahead import remove_lookahead
from fiberscope.workloads import Problem


@dataclass(frozen=True)
class RunOptions:
    """Options of a run, checked and converted from the arguments of ``fiberscope.simulate``.

    Args:
        fidelity: name of the model in ``Accelerator.models``; only ``EVENT`` simulates components.
        cycle_limit: cycle of the first clock at which the run ends incomplete; None for no limit.
        histograms: whether the report has histograms of channel occupancy.
        checked: whether to check memory requests against the layouts of their tensors.
        parts: factories of the user's components, by name of the machine's part.
        report_progress: progress callback with the stage, the work done and the total work.
        recorders: files that the simulation writes, and the function that runs the machine.
        request: the recorded request for the report; None for a run within another run.
        sample: parameters of a sampled run; None simulates in full. ``execute`` ignores this field.
        values_only: whether a missing entry of the answer equals an explicit zero.
    """

    fidelity: str
    cycle_limit: int | None
    histograms: bool
    checked: bool
    parts: Mapping[str, Callable[..., Component]]
    report_progress: Progress
    recorders: Recorders = NO_RECORDERS
    request: RecordedRequest | None = None
    sample: Sample | None = None
    values_only: bool = False


def execute(
    accelerator: Accelerator[Any],
    configured: Configuration,
    problem: Problem,
    options: RunOptions,
    source: Source | None = None,
) -> Report:
    """Run a problem on a machine, verify the answer and return the report.

    A run that ends by the cycle limit or Ctrl-C returns a report whose ``complete`` is false.

    Args:
        accelerator, configured: the accelerator, and the parameters of the machine.
        problem: the problem with its loaded operands; ``build_model`` sets two of its fields.
        options: options of the run.
        source: provenance of the sources, for the report.

    Raises:
        InputError, ConfigurationError: the machine cannot be built for this problem, or not recorded.
        BuildError: the machine is wired incorrectly.
        DeadlockedRunError, VerificationError, MisplacedRequestsError: the machine failed; the most severe
            error is raised, with the report as ``report``.
        UnwrittenFileError: the machine was correct, but a recorded file could not be written.
    """
    start = time.perf_counter()
    prices = load_prices(accelerator, configured)  # detects faults before the run
    model = build_model(accelerator, configured, problem, options)
    simulation_start = time.perf_counter()
    recorded, watch = _simulate(model, options)
    simulation_seconds = time.perf_counter() - simulation_start
    run, answer = _compare_answer(problem, model, recorded.run, options.report_progress)
    timing = Timing(time.perf_counter() - start, simulation_seconds)
    if model.parameters != configured:  # tiles may have been chosen for the operands
        prices = load_prices(accelerator, model.parameters)
    inputs = collect.RunInputs(options.fidelity, options.parts, source, prices)
    report = collect.report(accelerator, problem, model, run, answer, timing, watch, inputs)
    mismatch = None
    if answer is not None and not answer.comparison.passed:
        mismatch = f"the machine's {problem.answer} is wrong: {answer.comparison.differences}"
    raise_fault(
        report,
        deadlock=recorded.deadlock,
        wrong=mismatch,
        misplaced=recorded.misplaced_requests,
        unwritten=recorded.unwritten,
    )
    return report


def _simulate(model: Model, options: RunOptions) -> tuple[RecordedRun, Watch | None]:
    """Run a machine with its recorders; an estimate is complete at once, without samples over time."""
    if options.fidelity != EVENT:
        estimate = cast(Estimate, model)  # without a kernel: its base ticks are its cycles
        run = Run(True, "done", estimate.cycles, estimate.cycles, estimate.seconds)
        return RecordedRun(run, None, None), None
    machine = cast(Machine, model)
    if options.histograms:  # a lookahead model leaves inner channels empty, so they would count no tokens
        remove_lookahead(machine.kernel)
    watch = Watch(machine, histograms=options.histograms)
    limits = options.recorders, options.cycle_limit, options.report_progress
    return run_recorded(machine, watch, *limits, check_requests=options.checked), watch


@pause_collector()
def build_model(
    accelerator: Accelerator[Any], configured: Configuration, problem: Problem, options: RunOptions
) -> Model:
    """Build the model of a machine for a problem.

    At fidelity ``EVENT`` this also builds the kernel. As a side effect it sets ``precision`` and
    ``values_only`` of the problem, which control the verification.

    Args:
        accelerator: the accelerator.
        configured: parameters of the machine, before the choice of tiles.
        problem: the problem with its loaded operands.
        options: options of the run; ``fidelity``, ``parts`` and ``values_only`` are used.

    Raises:
        InputError, ConfigurationError: the parameters do not fit the problem, or each other.
        BuildError: the machine is wired incorrectly, for instance by a user's part.
    """
    if options.values_only and not problem.counts_entries:
        raise InputError(
            f"--values-only: the {problem.answer} of {accelerator.name} has no entries to count; leave it out"
        )
    parts = {"parts": check_part(options.parts, accelerator.parts)} if options.parts else {}
    try:
        tiled = set_tiles(accelerator, configured, problem.machine_inputs())
        model = accelerator.models[options.fidelity](tiled, *problem.machine_inputs(), **parts)
        problem.precision = getattr(model, "value_type", None)
        problem.values_only = options.values_only
        if options.fidelity == EVENT:
            _build_kernel(accelerator, cast(Machine, model))
    except BuildError:  # a SimulationError too, but a fault of the wiring, not of the input
        raise
    except ConfigurationError as error:
        surrogates = [operand.name for operand in problem.operands.values() if operand.source == "surrogate"]
        if not surrogates:
            raise
        # A surrogate is a generated matrix, so a parameter that fits the real matrix may fail here.
        names = " and ".join(surrogates)
        raise ConfigurationError(f"{error} ({names}: a surrogate, the real matrix may do)") from error
    except SimulationError as error:
        raise InputError(f"{accelerator.name}: {error}") from error
    return model


def _build_kernel(accelerator: Accelerator[Any], machine: Machine) -> None:
    if not machine.kernel.built:
        machine.kernel.build()
    accelerator.check_families(machine)


def _compare_answer(
    problem: Problem, model: Model, run: Run, report_progress: Progress
) -> tuple[Run, CheckedAnswer | None]:
    """Compare the answer with the reference; a model of a lower fidelity may have no answer.

    A run whose comparison is interrupted is incomplete.
    """
    if not run.complete:
        return run, None
    report_progress("verifying", 0, 0)
    try:
        answer = model.result()
        return run, None if answer is None else CheckedAnswer.compare(problem, answer)
    except KeyboardInterrupt:
        return replace(run, complete=False, reason="interrupted"), None
