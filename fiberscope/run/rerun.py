"""A run again, as its report says that it was asked for, by the same sources and on the same operands."""

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

__all__ = ["check_same", "debug_again", "rerun"]

MOST_NAMED = 5  # modules, in a line


def rerun(path: Path, progress: Progress | None = None, *, anyway: bool = False) -> tuple[Report, Report]:
    """The report in a file, and that of its run again.

    Args:
        path: the path of the report.
        progress: told of stage, work done and work in all.
        anyway: also by other sources, and on other operands.

    Raises:
        ConfigurationError, WorkloadError, InputError: it cannot be run again, or not by the same.
        VerificationError, DeadlockedRunError: it went wrong; they have the report.
    """
    tell = progress or ignore_progress
    before, again, options = requested_again(path, tell, anyway=anyway)
    return before, again.run(**options, progress=tell)


def debug_again(path: Path, cycle: int, *, anyway: bool = False) -> Session:
    """Start the run of a report under the debugger, and go to a cycle.

    Args:
        path: of the report.
        cycle: of the first clock.
        anyway: also by other sources, and on other operands.

    Raises:
        ConfigurationError, WorkloadError, InputError: as of ``rerun``; or the run has no cycles to stop in.
    """
    before, again, options = requested_again(path, ignore_progress, anyway=anyway)
    whole = isinstance(again, SimulationRequest | GraphRequest) and before.fidelity == EVENT
    if not whole or getattr(again, "chain", None) or "sample" in options:
        raise InputError(f"{path}: --to stops simulations of one product, and this report is of another run")
    options.pop("fidelity", None)
    session = Session(again, options)
    try:
        session.goto(cycle)
    except BaseException:
        session.close()
        raise
    return session


def requested_again(
    path: Path, progress: Progress, *, anyway: bool
) -> tuple[Report, RunRequest, dict[str, Any]]:
    """Return the report in a file, its run and the options of that run."""
    before = Report.read(path)
    if before.source is None:
        raise InputError(
            f"{path}: written by {before.version}, which did not record the request; "
            "run its command again with --json, and compare the two with fiberscope diff"
        )
    asked = before.source.asked
    if None in (*asked.factors, *asked.tensors.values()):
        raise InputError(f"{path}: an operand was in memory; only what has a name or a file can be had again")
    again, options = _asked_again(before, asked)
    if not anyway:
        parts = options.get("parts", {}).values()
        check_same(path, before, again.roots(parts).sources(), again.digests(progress))
    return before, again, options


def check_same(path: Path, before: Report, sources: Sources, operands: Sequence[str]) -> None:
    """Refuse other sources and other operands than those of a report.

    Args:
        path: that of the report or of its archive, for messages.
        before: the report.
        sources: those of the run now.
        operands: the digests of the operands now.

    Raises:
        InputError: naming them.
    """
    source = before.source
    assert source is not None  # else there is nothing to run again
    if sources.digest != source.digest:
        now = {name: digest[:12] for name, digest in sources.modules.items()}
        changed = _listed(sorted(name for name, _digest in now.items() ^ source.modules.items()))
        raise InputError(f"{path}: it was run by other sources: {changed}; --anyway runs it by these")
    were = [operand.digest for operand in before.workload.operands]
    if list(dict.fromkeys(operands)) != list(dict.fromkeys(were)):
        names = ", ".join(
            operand.name for operand in before.workload.operands if operand.digest not in operands
        )
        raise InputError(f"{path}: operands are others than they were: {names}; --anyway runs it on these")


def _listed(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    rest = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _asked_again(before: Report, asked: RecordedRequest) -> tuple[RunRequest, dict[str, Any]]:
    """The run that a report is of, and its options."""
    names = ("cycle_limit", "histograms", "checked", "sample", "values_only")
    options: dict[str, Any] = {name: getattr(asked, name) for name in names}
    if asked.parts:
        options["parts"] = parse_parts([f"{name}={place}" for name, place in asked.parts.items()])
    if asked.graph is not None:
        from fiberscope.models.graphs.gv_reader import graph_from_text  # noqa: PLC0415  (it takes time to load)

        machine: object = graph_from_text(asked.graph)
    else:
        machine = MINT if asked.machine == MINT.name and asked.command == "sim" else asked.machine
    chain = {} if asked.chain is None else {"chain": asked.chain}
    request = machine, asked.factors, asked.tensors, asked.settings
    run = RUNS[asked.command](*request, exact=asked.exact, **chain)
    if isinstance(run, SimulationRequest):
        options["fidelity"] = before.fidelity if before.fidelity in run.accelerator.models else EVENT
    return run, {name: value for name, value in options.items() if value}
