"""One run: build the model, run it, check its answer, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias, cast

from accelerators.configuration import Configuration, ConfigurationError
from accelerators.machine import EVENT, Accelerator, Estimate, Machine, Model
from fiberscope.errors import DeadlockedRunError, InputError, UnwrittenFileError, VerificationError
from fiberscope.memory_trace import tracing
from fiberscope.parts import checked
from fiberscope.report import collect, timeline
from fiberscope.report.collect import Checked, Timing
from fiberscope.report.document import Report
from fiberscope.report.timeline import Watch
from fiberscope.states.files import StateFiles
from fiberscope.tiling.machines import with_tiles
from fiberscope.waveform import Waveform, recording
from sim import BuildError, Component, DeadlockError, Kernel, Run, SimulationError
from workloads import Problem
from workloads.verification import Comparison

__all__ = ["Course", "Progress", "solve"]

# Stage, work done, work in all (0 where unknown); called now and then. While "simulating" is how much of the
# work is done, "cycles" is the cycle that it has come to, and the limit.
Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Course:
    """How a machine is run; the fields are those of ``fiberscope.simulate``."""

    fidelity: str
    cycle_limit: int | None
    waveform: Waveform | None
    memory_trace: Path | None
    histograms: bool
    parts: Mapping[str, Callable[..., Component]]
    tell: Progress
    states: StateFiles | None = None


def solve(kind: Accelerator[Any], configured: Configuration, problem: Problem, course: Course) -> Report:
    """Run a problem on a machine; one that went wrong is raised with its report.

    Raises:
        InputError, ConfigurationError: the machine cannot be built for this problem.
        VerificationError, DeadlockedRunError: it went wrong.
    """
    start = time.perf_counter()
    model = _build(kind, configured, problem, course)
    watch, ended, simulation_start = None, None, time.perf_counter()
    if course.fidelity == EVENT:
        machine = cast(Machine, model)
        watch = Watch(machine, histograms=course.histograms)
        ended = _run(machine, watch, course)
    run = ended.run if ended else _estimated(cast(Estimate, model))
    simulation_seconds = time.perf_counter() - simulation_start
    answer = _check(problem, model, course.tell) if run.complete else None
    timing = Timing(time.perf_counter() - start, simulation_seconds)
    report = collect.report(kind, problem, model, run, answer, timing, watch, course.parts, course.fidelity)
    _raise(ended, answer, report, problem)
    return report


def _raise(ended: _Ended | None, answer: Checked | None, report: Report, problem: Problem) -> None:
    """Raise what went wrong, the worst of it first."""
    if ended is not None and ended.deadlock is not None:
        raise DeadlockedRunError(str(ended.deadlock), report) from ended.deadlock
    if answer is not None and not answer.comparison.passed:
        raise VerificationError(_wrong(problem, answer.comparison), report)
    if ended is not None and ended.unwritten is not None:
        raise UnwrittenFileError(ended.unwritten, report)


def _build(kind: Accelerator[Any], configured: Configuration, problem: Problem, course: Course) -> Model:
    """The model, its kernel built; parameters that only the engine finds at odds are the user's to mend."""
    parts = {"parts": checked(course.parts)} if course.parts else {}
    try:
        tiled = with_tiles(kind, configured, problem.given())
        model = kind.models[course.fidelity](tiled, *problem.given(), **parts)
        if course.fidelity == EVENT:
            _complete(kind, cast(Machine, model))
    except BuildError:
        raise
    except ConfigurationError as error:
        stand_ins = [one.name for one in problem.operands.values() if one.source == "surrogate"]
        if not stand_ins:
            raise
        names = " and ".join(stand_ins)
        raise ConfigurationError(f"{error} ({names}: a surrogate, the real matrix may do)") from error
    except SimulationError as error:
        raise InputError(f"{kind.name}: {error}") from error
    return model


def _complete(kind: Accelerator[Any], machine: Machine) -> None:
    if not machine.kernel.built:
        machine.kernel.build()
    kind.check_families(machine)


@dataclass(frozen=True)
class _Ended:
    """How a simulation ended; ``unwritten`` says why a file that was asked for of it is not there."""

    run: Run
    deadlock: DeadlockError | None
    unwritten: str | None


def _run(machine: Machine, watch: Watch, course: Course) -> _Ended:
    def progress(cycle: int) -> None:
        course.tell("simulating", *machine.progress())
        course.tell("cycles", cycle, course.cycle_limit or 0)

    deadlock = None
    kernel, unwritten = machine.kernel, None
    states = course.states.watch(kernel) if course.states else None
    lookers: list[timeline.Looker] = [watch, *([states] if states else [])]
    with recording(kernel, course.waveform) as recorded, tracing(kernel, course.memory_trace) as kept:
        try:
            run = timeline.run(machine, lookers, course.cycle_limit, progress)
        except DeadlockError as error:
            run, deadlock = _standstill(kernel), error
        unwritten = kept()
    if course.states and states:
        unwritten = unwritten or course.states.write(states)
    return _Ended(run, deadlock, recorded.fault or unwritten)


def _standstill(kernel: Kernel) -> Run:
    seconds = float(Fraction(kernel.end) / kernel.base_hertz)
    return Run(False, "deadlock", kernel.length(kernel.clocks[0]), kernel.end, seconds)


def _estimated(estimate: Estimate) -> Run:
    return Run(True, "done", estimate.cycles, estimate.cycles, estimate.seconds)


def _check(problem: Problem, model: Model, tell: Progress) -> Checked | None:
    """Compare the answer with the reference; a model of a lower fidelity may have none."""
    tell("verifying", 0, 0)
    answer = model.result()
    return None if answer is None else Checked.of(problem, answer)


def _wrong(problem: Problem, comparison: Comparison) -> str:
    return (
        f"the machine's {problem.answer} is wrong: relative error {comparison.max_relative_error:.3g}, "
        f"{comparison.missing} entries missing, {comparison.extra} too many"
    )
