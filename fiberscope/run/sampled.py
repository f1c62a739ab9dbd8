"""Sampled runs: checks of the request, and the report of an estimate."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from fiberscope import accelerators
from fiberscope.accelerators.configuration import Configuration
from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.accelerators.sampling import CONFIDENCE, Sample, Sampled, SingleWindow, WindowSampler
from fiberscope.base.errors import InputError
from fiberscope.results.errors import VerificationError
from fiberscope.results.report import parts
from fiberscope.results.report.document import Report
from fiberscope.results.report.frame import (
    build_report,
    collect_traffic_by_tensor,
    describe_problem,
    summarize_memory,
    verification,
    workload,
)
from fiberscope.results.report.host import Timing
from fiberscope.run.execute import RunOptions, execute
from fiberscope.sim.errors import BuildError, SimulationError
from fiberscope.workloads import Operand, Problem, from_scipy
from fiberscope.workloads.errors import suggest

UNAVAILABLE = ("product", "components", "timeline", "energy")  # report fields that windows cannot estimate
MIN_WIDTH, MAX_WIDTH = 0.001, 0.5  # requested half-width of the interval, as a fraction of the cycles
MIN_WINDOWS = 5  # smallest number of windows in a request


def parse_requested_sample(value: object) -> Sample | None:
    """Return the sampling request for the argument ``sample``; None if the run is not sampled.

    Args:
        value: None or False, True, a ``Sample``, a half-width (see ``parse_width``), or the fields of a
            ``Sample`` other than ``window`` by name, as in a study.

    Raises:
        InputError: the width or a key is invalid, or a number of a ``Sample`` is out of range.
    """
    if value is None or value is False:
        return None
    if value is True:
        return Sample()
    if isinstance(value, Mapping):
        value = _sample_from_keys(value)
    request = value if isinstance(value, Sample) else Sample(half_width=parse_width(value))
    for name, minimum in (("windows", MIN_WINDOWS), ("window_cycles", 100), ("seed", 0), ("window", 1)):
        number = getattr(request, name)
        if number is not None and (type(number) is not int or number < minimum):  # a bool is an int, too
            raise InputError(f"sample.{name}={number!r}: it should be a whole number from {minimum} on")
    parse_width(request.half_width)
    return request


def _sample_from_keys(keys: Mapping[str, Any]) -> Sample:
    """Return the sampling request of a mapping; an unknown key with the value None is ignored.

    Raises:
        InputError: a key is unknown, or the width is invalid.
    """
    names = [field.name for field in fields(Sample) if field.name != "window"]
    keys = {key: value for key, value in keys.items() if key in names or value is not None}
    if "over" in keys:
        raise InputError("sampled runs have no over; random designs are under random:")
    for key in (key for key in keys if key not in names):
        raise InputError(f"sampled runs have no {key}; {suggest(key, names)}")
    width = {"half_width": parse_width(keys["half_width"])} if "half_width" in keys else {}
    return Sample(**{**keys, **width})


def parse_width(value: object) -> float:
    """Return the half-width of an interval as a fraction, from a number or a text such as ``1%``.

    Raises:
        InputError: the value is no half-width, or is not from ``MIN_WIDTH`` to ``MAX_WIDTH``.
    """
    match = re.fullmatch(r"(\d*\.?\d+)\s*(%?)", str(value))
    width = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    if not MIN_WIDTH <= width <= MAX_WIDTH:
        limits = f"{MIN_WIDTH:.1%} to {MAX_WIDTH:.0%}"
        raise InputError(f"sample {value}: it should be a width from {limits}, as in 1%")
    return width


def check_machine(accelerator: Accelerator[Any]) -> None:
    """Check that a machine can be sampled.

    Raises:
        InputError: the machine has no sampler; the message says why, and names the machines that have one.
    """
    if accelerator.sampler is None:
        names = [name for name in accelerators.names() if accelerators.find(name).sampler is not None]
        is_shipped = accelerator.name in accelerators.names()
        reason = accelerator.unsampled or ("" if is_shipped else "its descriptor has no sampler")
        reason = f", as {reason}" if reason else ""
        raise InputError(
            f"{accelerator.name} cannot be sampled{reason}; machines that can be: {', '.join(names)}"
        )


def check_sampled(
    accelerator: Accelerator[Any], options: RunOptions, further_requests: Mapping[str, object]
) -> None:
    """Check that a machine can be sampled and that no option needs a full run.

    Args:
        accelerator, options: the machine, and the options of the run.
        further_requests: further requests that need a full run, by their names in messages; false if not
            requested.

    Raises:
        InputError: the machine has no sampler, or an option needs a full run or another model.
    """
    check_machine(accelerator)
    if options.fidelity != EVENT:
        raise InputError(f"sample is for the {EVENT} model; a {options.fidelity} one is fast as it is")
    window_options = {
        "a waveform": options.recorders.waveform,
        "a timeline": options.recorders.states,
        "a memory trace": options.recorders.memory_trace,
        "a cycle limit": options.cycle_limit,
        "histograms": options.histograms,
    }
    full_run_options = {
        "checked": options.checked,
        "parts of one's own": options.parts,
        "a comparison of values only": options.values_only,
        **further_requests,
    }
    reason = "needs a whole run, but a sampled run simulates windows; leave one of them out"
    for name in (name for name, value in full_run_options.items() if value):
        raise InputError(f"{name} {reason}")
    has_single_window = options.sample is not None and options.sample.window is not None
    if has_single_window and not hasattr(accelerator.sampler, "single_window"):
        raise InputError(f"{accelerator.name} has no single windows; leave out --window")
    for name in (name for name, value in window_options.items() if value and not has_single_window):
        raise InputError(f"{name} {reason}, or give one window, as in --window 7")


def execute_sampled(
    accelerator: Accelerator[Any],
    configured: Configuration,
    problem: Problem,
    options: RunOptions,
    source: parts.Source | None = None,
) -> Report:
    """Estimate a run from windows, simulate a short run in full, or simulate the single window of a request.

    Args:
        accelerator, configured: the accelerator, which has a sampler, and the parameters of the machine.
        problem: the problem with its loaded operands.
        options: options of the run, with ``sample``; call ``check_sampled`` first.
        source: provenance of the sources, for the report.

    Raises:
        InputError, ConfigurationError, BuildError: the machine or the problem cannot be sampled.
        VerificationError: the simulated part of the answer is wrong; else the errors of ``execute``.
    """
    assert accelerator.sampler is not None
    assert options.sample is not None
    start = time.perf_counter()
    try:
        sampler = accelerator.sampler(
            configured, *problem.machine_inputs(), options.sample, options.report_progress
        )
        if options.sample.window is not None:
            return _execute_window(accelerator, configured, problem, options, sampler, source)
        reason = sampler.full_run_reason()
        if reason:
            section = _describe_sampling(options.sample, 0, 0, 0, 0, 1.0, 0.0, note=reason)
            report = execute(accelerator, configured, problem, options, source)
            return report.model_copy(update={"sampling": section})
        result: Sampled = sampler.sampled()
    except BuildError:
        raise
    except SimulationError as error:
        raise InputError(f"{accelerator.name}: {error}") from error
    options.report_progress("verifying", 0, 0)
    comparison = result.check(problem)
    seconds = time.perf_counter() - start
    timing = Timing(seconds, seconds)
    report = _build_report(accelerator, configured, problem, options.sample, result, timing, source)
    checked = verification(result.reference, [comparison], problem.tolerance)
    report = report.model_copy(update={"verification": checked})
    if not comparison.passed:
        raise VerificationError(f"the machine's {problem.answer} is wrong in the simulated part", report)
    return report


def _execute_window(
    accelerator: Accelerator[Any],
    configured: Configuration,
    problem: Problem,
    options: RunOptions,
    sampler: WindowSampler,
    source: parts.Source | None,
) -> Report:
    """Simulate one window with its neighbours; a waveform without a window of its own covers the window.

    The cycles of the report are those of the window and its neighbours together.
    """
    assert options.sample is not None
    assert options.sample.window is not None
    window: SingleWindow = sampler.single_window(options.sample.window)
    operands = list(problem.operands.values())
    last_row = window.first_row + int(window.rows.shape[0]) - 1
    rows = from_scipy(window.rows, f"rows {window.first_row} to {last_row} of {operands[0].name}")
    factors: list[Operand] = [rows, operands[-1]]
    window_problem = type(problem)(factors)
    accelerator = replace(accelerator, models={**accelerator.models, EVENT: window.build})
    recorders, waveform = options.recorders, options.recorders.waveform
    if waveform is not None and (waveform.window, waveform.trigger) == (None, None):
        recorders = replace(recorders, waveform=replace(waveform, window=window.cycles))
    report = execute(accelerator, configured, window_problem, replace(options, recorders=recorders), source)
    first, last = window.window.start, window.window.stop - 1
    note = (
        f"window {options.sample.window} of {window.count}: rows {first} to {last} of {operands[0].name}, "
        f"cycles {window.cycles[0]} to {window.cycles[1]} of this run"
    )
    simulated = window.cycles[1] - window.cycles[0]
    sampling = _describe_sampling(options.sample, 1, simulated, 0, report.cycles, 1.0, 0.0, note=note)
    return report.model_copy(update={"sampling": sampling})


def _describe_sampling(
    request: Sample,
    windows: int,
    window_cycles: int,
    strata: int,
    simulated: int,
    fraction: float,
    half_width: float,
    **further_fields: Any,  # noqa: ANN401  (fields of ``Sampling``)
) -> parts.Sampling:
    return parts.Sampling(
        windows=windows,
        window_cycles=window_cycles,
        strata=strata,
        cycles_simulated=simulated,
        fraction=fraction,
        confidence=CONFIDENCE,
        half_width=half_width,
        seed=request.seed,
        **further_fields,
    )


def _build_report(
    accelerator: Accelerator[Any],
    configured: Any,  # noqa: ANN401  (the parameters of any machine with a clock)
    problem: Problem,
    request: Sample,
    result: Sampled,
    timing: Timing,
    source: parts.Source | None,
) -> Report:
    cycles, half_width = round(result.cycles.cycles), result.cycles.half_width
    seconds = cycles / float(configured.clock)
    traffic = collect_traffic_by_tensor(result.traffic)
    sampling = _describe_sampling(
        request,
        result.windows,
        result.window_cycles,
        result.strata,
        result.cycles_simulated,
        result.cycles_simulated / cycles,
        half_width / cycles,
        traffic_ratio=result.traffic_ratio,
        rows=result.rows,
        deviations=result.cycles.deviations,
        degrees=result.cycles.degrees,
        exact=result.exact,
        estimated=result.estimated,
        unavailable=UNAVAILABLE,
    )
    return build_report(
        timing,
        result.operations.get("multiply"),
        accelerator=accelerator.name,
        complete="sampled",
        ending="done",
        workload=workload(problem.operands.values()),
        problem=describe_problem(problem),
        config=(result.parameters or configured).model_dump(mode="json"),
        cycles=cycles,
        cycles_interval=(round(cycles - half_width), round(cycles + half_width)),
        seconds=seconds,
        operations=dict(result.operations),
        traffic=traffic,
        traffic_minimum_bytes=result.traffic_minimum_bytes,
        memory=summarize_memory(result.memory, traffic, seconds),
        verification=verification(result.reference, [], problem.tolerance),
        bottleneck="",
        sampling=sampling,
        source=source,
    )
