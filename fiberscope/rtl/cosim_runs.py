"""Runs of an accelerator with or without RTL, in PyRTL, Verilator or an HDL simulator."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from fiberscope.accelerators.configuration import parse_settings
from fiberscope.accelerators.machine import Accelerator
from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.backend import Backend, PyrtlBackend
from fiberscope.hw.rtl.kit.exercise import Exercise, earliest
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.tools.harness import harness
from fiberscope.hw.rtl.tools.hdl import Bench, HdlError, read_order, run
from fiberscope.hw.rtl.tools.verilated import VerilatedBackend, VerilatedModule
from fiberscope.results.errors import FailedRunError
from fiberscope.results.recording.waveform import Waveform
from fiberscope.results.report.document import Report
from fiberscope.rtl.cosim_request import CosimRequest, find_cosim_machine
from fiberscope.rtl.line_coverage import keep_counts
from fiberscope.rtl.substitution import Replacement, makers
from fiberscope.rtl.units import units
from fiberscope.run.api import simulate
from fiberscope.sim import Component, SimulationError
from fiberscope.sim.interrupt import on_interrupt

TOP = "fiberscope_loop"  # the top module in an HDL simulator
RESULT_FILES = ("report.json", "fault.txt", "exercised.json")  # files of a run in an HDL simulator
PID_FILE = "simulator.pid"  # process number of a simulator that accepts Ctrl-C
SAME_OUTPUTS = "every output is that of the component, in its cycle"
USER_DRAIN_CYCLES = 64  # cycles in which the user's Verilog may continue after its last token
Recorder: TypeAlias = "Callable[[Any, Backend], Backend]"  # of a replacement, or of a machine as one module


class CosimRun(NamedTuple):
    """A run with RTL: its report, and by instance name the port statistics and mismatch of each module."""

    report: Report
    exercises: Mapping[str, Exercise]


def simulate_in_bench(backend: Callable[[Replacement, bool], Backend]) -> None:
    """Run the machine of the order file with RTL in an HDL simulator; write the report or the error.

    The bench in the simulator calls this (``fiberscope.rtl.cosim_bench``).

    Args:
        backend: creates the backend of a replacement; its second argument tells whether to record signals.
    """

    def run_replaced(request: CosimRequest) -> CosimRun:
        replacements = [_parse_replacement(entry) for entry in read_order()["replacements"]]
        return _with_rtl(request, replacements, backend)

    run_in_bench(run_replaced)


def _parse_replacement(entry: Mapping[str, Any]) -> Replacement:
    unit = units(entry["accelerator"])[entry["block"]]
    return Replacement(**{**entry, "parameters": unit.parameters(**entry["parameters"])})


def run_in_bench(run: Callable[[CosimRequest], CosimRun]) -> None:
    """Execute ``run`` on the request in the order file; write its results to the files that the order names.

    A run that fails writes its error, and its report if it has one; the error is raised again.
    """
    order = read_order()
    options: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in order["request"].items()
    }
    if options["waveform"] is not None:
        options["waveform"] = Waveform(**{**options["waveform"], "path": Path(options["waveform"]["path"])})
    with contextlib.chdir(order["directory"]), _report_errors(order["report"], order["fault"]):
        report, exercised = run(CosimRequest(**options))
        exercises = {name: asdict(exercise) for name, exercise in exercised.items()}
        Path(order["exercised"]).write_text(json.dumps(exercises), encoding="utf-8")
        report.write(order["report"])


@contextlib.contextmanager
def _report_errors(report: str, fault: str) -> Iterator[None]:
    """Write the error and the report of a run that fails."""
    try:
        yield
    except Exception as error:
        if isinstance(error, FailedRunError):
            error.report.write(report)
        Path(fault).write_text(str(error), encoding="utf-8")
        raise


def run_in_pyrtl(
    replacements: Sequence[Replacement],
    recorder: Recorder | None,
    request: CosimRequest,
    progress: Progress | None,
) -> CosimRun:
    """Run with twins in PyRTL's simulator.

    Args:
        replacements: the components that RTL replaces.
        recorder: wraps the backend of each module, whose inner wires it then sees; None for none.
        request: the run.
        progress: progress callback.

    Raises:
        FailedRunError: the run failed.
    """

    def backend(replacement: Replacement, watched: bool) -> Backend:
        twin = replacement.unit.twin(replacement.parameters)
        return wrap_backend(
            replacement, PyrtlBackend(twin, watched=watched or recorder is not None), recorder
        )

    return _with_rtl(request, replacements, backend, progress)


def wrap_backend(module: object, backend: Backend, recorder: Recorder | None) -> Backend:
    """Return the backend of a module, wrapped in the recorder if there is one."""
    return backend if recorder is None else recorder(module, backend)


def run_verilated(
    replacements: Sequence[Replacement],
    folder: Path,
    recorder: Recorder | None,
    request: CosimRequest,
    progress: Progress | None,
) -> CosimRun:
    """Run with modules that Verilator compiles into this process.

    The report, and the counts of lines if the request asks for them, are written into ``folder`` too.

    Args:
        replacements: the components that RTL replaces.
        folder: folder of Verilog, compiled modules and results.
        recorder: wraps the backend of each module, whose inner wires it then sees; None for none.
        request: the run.
        progress: progress callback.

    Raises:
        HdlError: Verilator does not accept a module.
        InputError: the folder cannot be written to.
        FailedRunError: the run failed.
    """
    sources = _sources(request, replacements, folder)
    interfaces = {_key(replacement): replacement.interface for replacement in replacements}
    watched = request.waveform is not None or recorder is not None
    modules = {
        key: VerilatedModule(sources, interface, folder, watched=watched, covered=request.line_coverage)
        for key, interface in interfaces.items()
    }

    def backend(replacement: Replacement, _watched: bool) -> Backend:
        return wrap_backend(replacement, VerilatedBackend(modules[_key(replacement)]), recorder)

    run = _with_rtl(request, replacements, backend, progress)
    run.report.write(folder / "report.json")
    if request.line_coverage:
        keep_counts(modules.values(), folder)
    return run


def _key(replacement: Replacement) -> tuple[str, Parameters]:
    """Return a key that replacements with the same module and parameters share."""
    return replacement.module, replacement.parameters


def run_in_hdl(
    request: CosimRequest, replacements: Sequence[Replacement], simulator: str, folder: Path
) -> CosimRun:
    """Run in an HDL simulator, in a separate process.

    Args:
        request: the run.
        replacements: the components that RTL replaces.
        simulator: name of the HDL simulator.
        folder: folder of Verilog, logs and results.

    Raises:
        InputError: the folder cannot be written to.
        HdlError, FailedRunError, SimulationError: see ``run_bench``.
    """
    folder = folder.resolve()
    sources = _sources(request, replacements, folder)
    interfaces = tuple({_key(replacement): replacement.interface for replacement in replacements}.values())
    bench = Bench(
        sources,
        TOP,
        interfaces,
        "fiberscope.rtl.cosim_bench",
        {"replacements": [*map(asdict, replacements)]},
        folder,
    )
    return run_bench(request, bench, simulator)


def run_bench(request: CosimRequest, bench: Bench, simulator: str) -> CosimRun:
    """Start an HDL simulator with a bench, which reads the request from a file; return the run's results.

    Results of an earlier run in the folder of the bench are deleted first.

    Raises:
        FailedRunError: the run failed and has a report.
        SimulationError: the run failed without a report.
        HdlError: the simulator failed otherwise.
    """
    folder = bench.folder
    report, fault, exercised = (folder / name for name in RESULT_FILES)
    process = folder / PID_FILE
    for file in (report, fault, exercised, process):
        file.unlink(missing_ok=True)
    order = {
        **bench.order,
        "request": json.loads(json.dumps(asdict(request), default=str)),  # paths as text
        "directory": str(Path.cwd()),
        "report": str(report),
        "fault": str(fault),
        "exercised": str(exercised),
        "process": str(process),
    }
    try:
        with on_interrupt(partial(_interrupt_simulator, process)):
            run(replace(bench, order=order), simulator)
    except HdlError as error:
        if not fault.is_file():
            raise
        message = fault.read_text(encoding="utf-8")
        if report.is_file():
            raise FailedRunError(message, Report.read(report)) from error
        raise SimulationError(message) from error
    finally:
        process.unlink(missing_ok=True)
    exercises = json.loads(exercised.read_text(encoding="utf-8"))
    return CosimRun(Report.read(report), {name: Exercise(**exercise) for name, exercise in exercises.items()})


def _interrupt_simulator(process: Path) -> None:
    """Make the simulator end its run and write the report.

    Raises:
        KeyboardInterrupt: no simulator runs.
    """
    try:
        os.kill(int(process.read_text(encoding="utf-8")), signal.SIGINT)
    except (OSError, ValueError) as error:
        raise KeyboardInterrupt from error


@contextlib.contextmanager
def writable_folder(folder: Path) -> Iterator[None]:
    """Create a folder, and convert each OSError of the body.

    Raises:
        InputError: the folder, or a file in the body, cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to: {error.strerror}") from error


def _sources(request: CosimRequest, replacements: Sequence[Replacement], folder: Path) -> tuple[Path, ...]:
    """Return the Verilog files; write those of twins and of the harness around all modules."""
    texts = {
        f"{TOP}.v": harness(
            TOP, {replacement.instance: replacement.interface for replacement in replacements}
        )
    }
    if not request.sources:
        for module, replacement in {replacement.module: replacement for replacement in replacements}.items():
            texts[f"{module}.v"] = replacement.unit.verilog(replacement.parameters, module)
    return (*map(Path, request.sources), *write_sources(texts, folder))


def write_sources(texts: Mapping[str, str], folder: Path) -> tuple[Path, ...]:
    """Write Verilog files by name into a folder, which is created if it is missing.

    Raises:
        InputError: the folder cannot be written to.
    """
    with writable_folder(folder):
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    return tuple(folder / name for name in texts)


def _with_rtl(
    request: CosimRequest,
    replacements: Sequence[Replacement],
    backend: Callable[[Replacement, bool], Backend],
    progress: Progress | None = None,
) -> CosimRun:
    """Run the accelerator with RTL.

    Args:
        replacements: the components that RTL replaces.
        backend: creates the backend of a replacement; its second argument tells whether to record signals.
        progress: progress callback.
    """
    is_recorded = request.waveform is not None
    adapters: dict[str, Adapter] = {}

    def substitute(replacement: Replacement) -> Callable[..., Component]:
        factory = {**find_cosim_machine(request.accelerator).parts, **request.parts}[replacement.block]

        def make(name: str, *arguments: object, **options: object) -> Component:
            adapter = replacement.unit.adapter(name, replacement.interface, backend(replacement, is_recorded))
            adapter.configure(*arguments, **options)
            if request.sources:
                adapter.drain = USER_DRAIN_CYCLES
            if request.coverage:
                adapter.cover()
            # The adapter also runs the original component, to compare the outputs.
            adapter.shadow = partial(factory, name, *arguments, **options)
            adapters[name] = adapter
            return adapter

        return make

    rtl = {replacement.at: substitute(replacement) for replacement in replacements}
    parts = makers(request.accelerator, request.blocks, rtl, request.parts)
    report, exercises = run_and_collect(lambda: simulate_request(request, parts, progress), adapters)
    return CosimRun(report, {replacement.at: exercises[replacement.at] for replacement in replacements})


def run_and_collect(run: Callable[[], Report], adapters: Mapping[str, Adapter]) -> CosimRun:
    """Run a machine; return its report, and for each module its port statistics and first mismatch.

    Args:
        run: simulates the machine and returns its report.
        adapters: the replacements of the machine's components, by instance name, added during the run.

    Raises:
        FailedRunError: the run failed; the message has the first violation of the protocol, and the first
            wrong output of a module.
    """
    try:
        report = run()
    except FailedRunError as failed:
        exercises = [adapter.exercise(USER_DRAIN_CYCLES) for adapter in adapters.values()]
        violation = earliest(exercise.violation for exercise in exercises)
        broken = violation and f"PROTOCOL VIOLATION: {violation}"
        output = earliest(exercise.output for exercise in exercises) or SAME_OUTPUTS
        message = "; ".join(filter(None, [broken, str(failed), output]))
        raise FailedRunError(message, failed.report) from failed
    return CosimRun(report, {name: adapter.exercise() for name, adapter in adapters.items()})


def simulate_request(
    request: CosimRequest,
    parts: Mapping[str, Callable[..., Component]],
    progress: Progress | None = None,
    accelerator: Accelerator[Any] | None = None,
) -> Report:
    """Run an accelerator on the operands of a request, and return its report.

    Args:
        request: the run: operands, settings, cycle limit, waveform, and the user's components.
        parts: further factories of components by part, in place of those of the request.
        progress: progress callback.
        accelerator: the accelerator to run in place of ``request.model``.

    Raises:
        FailedRunError: the run failed.
    """
    return simulate(
        accelerator or request.model,
        request.a,
        request.b,
        settings=parse_settings(request.settings),
        cycle_limit=request.cycle_limit,
        waveform=request.waveform,
        parts={**request.parts, **parts},
        progress=progress,
    )
