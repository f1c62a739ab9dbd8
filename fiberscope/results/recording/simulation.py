"""Simulation of a machine that records waveforms, states, memory traces and the samples of a report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.accelerators.machine import Machine
from fiberscope.base.progress import Progress
from fiberscope.results.recording.files import StateFiles
from fiberscope.results.recording.memory_trace import record_requests
from fiberscope.results.recording.waveform import Waveform, record_waveform
from fiberscope.results.report import timeline
from fiberscope.sim import DeadlockError, Kernel, Run

if TYPE_CHECKING:
    from fiberscope.accelerators.request_check import RequestCheck


@dataclass(frozen=True)
class Recorders:
    """Files that a simulation writes, and the function that runs the machine.

    Args:
        waveform, memory_trace, states: files to write; None for no file.
        drive: a function that replaces ``timeline.run``, as in the debugger.
        only_unfinished_states: write states only if the run does not complete, as in all phases of a graph
            except the last.
    """

    waveform: Waveform | None = None
    memory_trace: Path | None = None
    states: StateFiles | None = None
    drive: timeline.Drive | None = None
    only_unfinished_states: bool = False


NO_RECORDERS = Recorders()


@dataclass(frozen=True)
class RecordedRun:
    """Outcome of a simulation.

    Args:
        run: cycles, simulated seconds and the reason of the end.
        deadlock: the error of a deadlock, or None.
        unwritten: the reason why a file could not be written, or None. Of several files, the waveform is
            named first, then the memory trace, then the states. The others are written all the same.
        misplaced_requests: a line for each fault that the check of memory requests found.
    """

    run: Run
    deadlock: DeadlockError | None
    unwritten: str | None
    misplaced_requests: Sequence[str] = ()


def run_recorded(
    machine: Machine,
    watch: timeline.Watch,
    recorders: Recorders,
    cycle_limit: int | None,
    report_progress: Progress,
    *,
    check_requests: bool = False,
) -> RecordedRun:
    """Run a machine to its end, to a deadlock or to the cycle limit, and write the recorded files.

    Deadlocks and write errors are returned, so that the report of a blocked machine can be written. Other
    errors of the run are raised.

    Args:
        machine: a machine with a built kernel; the run continues from the current state. With files of
            states, this must be the first run, see ``StateFiles.watch``.
        watch: collects the samples of the report.
        recorders: files to write, and the function that runs the machine.
        cycle_limit: cycle of the first clock at which the run ends incomplete; None for no limit.
        report_progress: called periodically with the stage, the work done and the total (0: unknown).
        check_requests: whether to check memory requests against the layouts of their tensors.

    Raises:
        InputError, ConfigurationError: a recorder or the check is not supported, or a file cannot be created.
    """

    def progress(cycle: int) -> None:
        report_progress("simulating", *machine.progress())
        report_progress("cycles", cycle, cycle_limit or 0)

    deadlock = None
    kernel, files = machine.kernel, recorders.states
    states = files.watch(kernel) if files else None
    observers: list[timeline.Observer] = [watch, *([states] if states else [])]
    with (
        record_waveform(kernel, recorders.waveform) as waveform,
        record_requests(kernel, recorders.memory_trace) as close_trace,
        _request_check(machine) if check_requests else nullcontext() as check,
    ):
        try:
            run = (recorders.drive or timeline.run)(machine, observers, cycle_limit, progress)
        except DeadlockError as error:
            run, deadlock = _build_deadlocked_run(kernel), error
        unwritten = close_trace()  # in the context, which deletes a trace that was not completed
    if files and states and not (run.complete and recorders.only_unfinished_states):
        unwritten = next(filter(None, [unwritten, files.write(states)]), None)  # also if the trace failed
    requests = check.ended(complete=run.complete) if check else ()
    # the fault of the waveform is known only after the context, which closes it
    return RecordedRun(run, deadlock, waveform.fault or unwritten, requests)


def _request_check(machine: Machine) -> AbstractContextManager[RequestCheck]:
    from fiberscope.accelerators.request_check import checked_requests  # noqa: PLC0415  (it loads the memory models)

    return checked_requests(machine)


def _build_deadlocked_run(kernel: Kernel) -> Run:
    """Return the outcome that ``Kernel.run`` would return, had it not raised ``DeadlockError``."""
    seconds = float(Fraction(kernel.end) / kernel.base_hertz)
    return Run(False, "deadlock", kernel.length(kernel.clocks[0]), kernel.end, seconds)
