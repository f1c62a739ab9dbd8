"""Repetition of a run from its report, with the same sources and operands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fiberscope.accelerators.machine import EVENT
from fiberscope.accelerators.user_parts import parse_parts
from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress, ignore_progress
from fiberscope.converters.mint import MINT
from fiberscope.results.provenance.sources import Sources
from fiberscope.results.report.document import Report
from fiberscope.results.report.parts import RecordedRequest
from fiberscope.run.debug.session import Session
from fiberscope.run.request import RUNS, GraphRequest, RunRequest, SimulationRequest

MAX_NAMED = 5  # changed modules that a message names


def rerun(path: Path, progress: Progress | None = None, *, anyway: bool = False) -> tuple[Report, Report]:
    """Repeat the run of a report.

    Args:
        path: the path of the report.
        progress: a callback with stage, work done and total work.
        anyway: accept changed sources and operands.

    Returns:
        The report in the file, and the report of the new run.

    Raises:
        ConfigurationError, WorkloadError, InputError: the run cannot be repeated, or its inputs have changed.
        VerificationError, DeadlockedRunError: the run failed; the error has the report.
    """
    report_progress = progress or ignore_progress
    report, request, options = read_recorded_run(path, report_progress, anyway=anyway)
    return report, request.run(**options, progress=report_progress)


def open_report_in_debugger(path: Path, cycle: int, *, anyway: bool = False) -> Session:
    """Start the run of a report in the debugger, and go to a cycle; the caller closes the session.

    Args:
        path: the path of the report.
        cycle: a cycle of the first clock.
        anyway: accept changed sources and operands.

    Raises:
        ConfigurationError, WorkloadError, InputError: the run cannot be repeated, its inputs have changed, or
            it is sampled, a chain, or not of the event model.
    """
    report, request, options = read_recorded_run(path, ignore_progress, anyway=anyway)
    is_event_run = isinstance(request, SimulationRequest | GraphRequest) and report.fidelity == EVENT
    if not is_event_run or getattr(request, "chain", None) or "sample" in options:
        raise InputError(f"{path}: --to stops simulations of one product, and this report is of another run")
    options.pop("fidelity", None)
    session = Session(request, options)
    try:
        session.goto(cycle)
    except BaseException:
        session.close()
        raise
    return session


def read_recorded_run(
    path: Path, progress: Progress, *, anyway: bool
) -> tuple[Report, RunRequest, dict[str, Any]]:
    """Return the report in a file, the request of its run and the options of the run.

    Args:
        path: the path of the report.
        progress: a callback with stage, work done and total work, for the digests of the operands.
        anyway: do not compare sources and operands with those of the report.

    Raises:
        ConfigurationError, WorkloadError, InputError: the report has no request, an operand was in memory, or
            sources or operands differ.
    """
    report = Report.read(path)
    if report.source is None:
        raise InputError(
            f"{path}: written by {report.version}, which did not record the request; "
            "run its command again with --json, and compare the two with fiberscope diff"
        )
    recorded = report.source.asked
    if None in (*recorded.factors, *recorded.tensors.values()):
        raise InputError(f"{path}: an operand was in memory; only a name or a file can be read again")
    request, options = _rebuild_request(report, recorded)
    if not anyway:
        parts = options.get("parts", {}).values()
        check_same(path, report, request.find_roots(parts).sources(), request.digests(progress))
    return report, request, options


def check_same(path: Path, report: Report, sources: Sources, operands: Sequence[str]) -> None:
    """Check that sources and operands are those of a report.

    Args:
        path: the path of the report or its archive, for messages.
        report: the report.
        sources: the current sources.
        operands: the digests of the current operands.

    Raises:
        InputError: sources or operands differ; the message names them.
    """
    source = report.source
    assert source is not None
    if sources.digest != source.digest:
        # A report has the first 12 digits of each module's digest.
        current = {name: digest[:12] for name, digest in sources.modules.items()}
        changed = _name_list(sorted(name for name, _digest in current.items() ^ source.modules.items()))
        raise InputError(f"{path}: it was run with other sources: {changed}; --anyway ignores this")
    previous = [operand.digest for operand in report.workload.operands]
    if list(dict.fromkeys(operands)) != list(dict.fromkeys(previous)):
        changed_operands = [
            operand.name for operand in report.workload.operands if operand.digest not in operands
        ] or [operand.name for operand in report.workload.operands]  # the same ones in another order
        names = ", ".join(changed_operands)
        raise InputError(f"{path}: operands have changed: {names}; --anyway ignores this")


def _name_list(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    further = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {further} more" if further > 0 else "")


def _rebuild_request(report: Report, recorded: RecordedRequest) -> tuple[RunRequest, dict[str, Any]]:
    """Return the request of a report's run, and its options."""
    names = ("cycle_limit", "histograms", "checked", "sample", "values_only")
    options: dict[str, Any] = {name: getattr(recorded, name) for name in names}
    if recorded.parts:
        options["parts"] = parse_parts([f"{name}={location}" for name, location in recorded.parts.items()])
    if recorded.graph is not None:
        from fiberscope.models.graphs.gv_reader import graph_from_text  # noqa: PLC0415  (it takes time to load)

        machine: object = graph_from_text(recorded.graph)
    else:
        machine = MINT if recorded.machine == MINT.name and recorded.command == "sim" else recorded.machine
    chain = {} if recorded.chain is None else {"chain": recorded.chain}
    request = machine, recorded.factors, recorded.tensors, recorded.settings
    run = RUNS[recorded.command](*request, exact=recorded.exact, **chain)
    if isinstance(run, SimulationRequest):
        options["fidelity"] = report.fidelity if report.fidelity in run.accelerator.models else EVENT
    return run, {name: value for name, value in options.items() if value}
