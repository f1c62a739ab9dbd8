"""Python entry point of a run: ``fiberscope.simulate("gamma", "wiki-Vote")``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.accelerators.sampling import Sample
from fiberscope.base.errors import InputError
from fiberscope.base.notebook import open_progress_callback
from fiberscope.base.progress import Progress, ignore_progress
from fiberscope.results.provenance.source_digest import (
    find_operand_name,
    format_named_parts,
    list_given_settings,
)
from fiberscope.results.recording.files import StateFiles
from fiberscope.results.recording.simulation import Recorders
from fiberscope.results.recording.waveform import Waveform, list_files
from fiberscope.results.report.document import Report
from fiberscope.results.report.files import check_outputs
from fiberscope.results.report.parts import RecordedRequest
from fiberscope.results.report.timeline import Drive
from fiberscope.run.arguments import check_options, check_types, merge_settings
from fiberscope.run.chains.chain import Chain
from fiberscope.run.configure import ResolvedRun, execute_converted, resolve_run
from fiberscope.run.execute import RunOptions
from fiberscope.run.find_machine import find
from fiberscope.run.machine_names import MachineName
from fiberscope.run.sampled import check_sampled, parse_requested_sample
from fiberscope.sim import Component
from fiberscope.workloads import file_of
from fiberscope.workloads.ranked_names import split_ranks
from fiberscope.workloads.text import STANDARD_INPUT

__all__ = ["Progress", "StateFiles", "Waveform", "simulate"]

_UNCHECKED = ("a", "b", "sample", "parameters")  # not by check_types; each is checked where it is used


def simulate(
    accelerator: MachineName | str | Accelerator[Any],
    a: object = None,
    b: object = None,
    *,
    tensors: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    config: str | Path | None = None,
    exact: bool = False,
    cycle_limit: int | None = None,
    waveform: Waveform | str | Path | None = None,
    memory_trace: str | Path | None = None,
    timeline: StateFiles | str | Path | None = None,
    parts: Mapping[str, Callable[..., Component]] | None = None,
    histograms: bool = False,
    checked: bool = False,
    values_only: bool = False,
    fidelity: str = EVENT,
    chain: str | None = None,
    sample: Sample | float | str | bool | None = None,
    progress: Progress | bool | None = None,
    drive: Drive | None = None,
    **parameters: object,
) -> Report:
    """Solve a problem on an accelerator, usually A times B, verify the answer and return the report.

    Args:
        accelerator: a name, ``spec:NAME`` or a YAML file for a specification's machine, or a descriptor.
        a, b, tensors: scipy matrices, workloads, names or paths: in order (b is a by default), or by name.
        settings, parameters, config: ``{"pe.count": 64}``; ``pe__count=64``; a YAML file or report as base.
        exact, cycle_limit, histograms: refuse surrogates; end in this cycle, incomplete; record occupancy.
        waveform, memory_trace, timeline: files for a VCD waveform, memory requests and component states.
        parts, checked: user blocks by names of ``Accelerator.parts``; check requests against their tensors.
        values_only, chain: accept a missing entry for a zero; run products in order, ``Y = A X; Z = Y W``.
        fidelity, drive: name of the model; a function that runs the machine in place of ``timeline.run``.
        sample, progress: True, a half-width as 0.01 or "1%", or a ``Sample``; called with stage, done, total.

    Raises:
        ConfigurationError, WorkloadError, InputError, FailedRunError: invalid input; a wrong or failed run.
    """
    check_types({name: value for name, value in locals().items() if name not in _UNCHECKED})
    descriptor, named = _find_machine(accelerator, (a, b), tensors or {}, parameters, chain)
    entries = merge_settings(descriptor, settings or {}, parameters, inspect.signature(simulate).parameters)
    run = resolve_run(descriptor, entries, config, None if chain is None else Chain.parse(chain))
    recorders, blocks = _to_recorders(waveform, memory_trace, timeline, drive), descriptor.merge_parts(parts)
    options = RunOptions(fidelity, cycle_limit, histograms, checked, blocks, ignore_progress, recorders)
    options = _add_sampling(descriptor, replace(options, values_only=values_only), sample, chain, run.formats)
    operands = _check_operands(descriptor, options, named or {"A": a, "B": b}, config)
    request = _describe(accelerator, operands, bool(named), entries, config, exact, options, parts, chain)
    return _run_resolved(run, a, b, named, replace(options, request=request), progress)


def _add_sampling(
    accelerator: Accelerator[Any],
    options: RunOptions,
    sample: Sample | float | str | bool | None,
    chain: str | None,
    formats: object,
) -> RunOptions:
    """Add a sampling request to the options, after a check for conflicting requests.

    Raises:
        InputError: the machine cannot be sampled, or another request needs a full run.
    """
    request = parse_requested_sample(sample)
    if request is None:
        return options
    options = replace(options, sample=request)
    drive = options.recorders.drive
    check_sampled(
        accelerator, options, {"a chain": chain, "a debugger": drive, "a format of memory": formats}
    )
    return options


def _run_resolved(
    resolved: ResolvedRun,
    a: object,
    b: object,
    named: Mapping[str, object],
    options: RunOptions,
    progress: Progress | bool | None,
) -> Report:
    """Run one problem, or a chain of products.

    Raises:
        InputError: ``values_only`` for a chain; else the errors of ``simulate``.
    """
    request = options.request
    assert request is not None  # simulate has set it
    with open_progress_callback(progress) as report:
        options = replace(options, report_progress=report)
        if resolved.chain is None:
            return execute_converted(
                resolved, resolved.maker.load(a, b, request.exact, report, named), options
            )
        if options.values_only:
            raise InputError("--values-only is for a single product, not for a chain; leave one out")
        from fiberscope.run.chains.run import execute_chain  # noqa: PLC0415  (needed for chains only)

        return execute_chain(resolved, named, options)


def _find_machine(
    machine: str | Accelerator[Any],
    factors: tuple[object, object],
    tensors: Mapping[str, object],
    parameters: dict[str, object],
    chain: str | None,
) -> tuple[Accelerator[Any], dict[str, object]]:
    """Return the machine, and its operands by name, none for operands in order.

    Operands that are keywords, such as ``A`` or ``A_MK``, are removed from ``parameters``, which then has
    only settings.

    Raises:
        InputError: there is no such machine; operands are given both in order and by name, or not at all; or
            a chain has operands in order.
    """
    accelerator = find(machine) if isinstance(machine, str) else machine
    operand_names = {name for problem in accelerator.solves for name in problem.tensors}
    operand_names |= {
        name for problem in accelerator.solves for name in parameters if split_ranks(name, problem.ranks)[1]
    }
    if chain is not None:  # its operands have the names of the chain, not of the machine's problem
        operand_names = set(Chain.parse(chain).operands)
    named = {**tensors, **{name: parameters.pop(name) for name in operand_names & parameters.keys()}}
    in_order = any(factor is not None for factor in factors)
    if in_order == bool(named):
        advice = "give operands in order or by name, not both" if named else "it needs operands, as in A=a"
        raise InputError(f"{accelerator.name}: {advice}")
    if chain is not None and in_order:
        raise InputError(f"{accelerator.name}: a chain has operands by name, as in A=a")
    # Sorted, as the order of a set of names differs between processes.
    return accelerator, dict(sorted(named.items()))


def _describe(
    machine: str | Accelerator[Any],
    operands: Mapping[str, object],
    by_name: bool,
    entries: Mapping[str, Any],
    config: str | Path | None,
    exact: bool,
    options: RunOptions,
    parts: Mapping[str, Callable[..., Component]] | None,
    chain: str | None,
) -> RecordedRequest:
    """Return the recorded request of the run."""
    named = {name: find_operand_name(operand) for name, operand in operands.items()}
    return RecordedRequest(
        command="sim",
        machine=machine if isinstance(machine, str) else machine.name,
        factors=() if by_name else tuple(named.values()),
        tensors=named if by_name else {},
        settings=list_given_settings(entries, config),
        exact=exact,
        parts=format_named_parts(parts or {}),
        cycle_limit=options.cycle_limit,
        histograms=options.histograms,
        checked=options.checked,
        chain=chain,
        sample=options.sample,
        values_only=options.values_only,
    )


def _to_recorders(
    waveform: Waveform | str | Path | None,
    memory_trace: str | Path | None,
    timeline: StateFiles | str | Path | None,
    drive: Drive | None,
) -> Recorders:
    """Return the files of a run, with paths for names, and the function that runs the machine."""
    waveform_file = Waveform(Path(waveform)) if isinstance(waveform, str | Path) else waveform
    if waveform_file is not None:
        check_types(vars(waveform_file), prefix="waveform.")
        waveform_file = replace(waveform_file, path=Path(waveform_file.path))
    states = StateFiles(Path(timeline)) if isinstance(timeline, str | Path) else timeline
    return Recorders(waveform_file, None if memory_trace is None else Path(memory_trace), states, drive)


def _check_operands(
    accelerator: Accelerator[Any],
    options: RunOptions,
    operands: Mapping[str, object],
    config: str | Path | None,
) -> Mapping[str, object]:
    """Return the operands that are not None, after a check of options, inputs and output files.

    Raises:
        InputError: an option does not suit the machine, two inputs are standard input, or two files conflict.
    """
    operands = {name: operand for name, operand in operands.items() if operand is not None}
    check_options(accelerator, options)
    inputs = {
        f"the matrix {name}": file_of(operand) if isinstance(operand, str | Path) else None
        for name, operand in operands.items()
    }
    # Standard input can be read only once.
    if list(inputs.values()).count(Path(STANDARD_INPUT)) > 1:
        raise InputError("-: standard input can be A or B, not both")
    outputs = {"the memory trace": options.recorders.memory_trace}
    outputs |= list_files(options.recorders.waveform.path) if options.recorders.waveform else {}
    outputs |= options.recorders.states.outputs if options.recorders.states else {}
    check_outputs(outputs, {**inputs, "the config": Path(config) if config else None})
    return operands
