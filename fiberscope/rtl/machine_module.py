"""Execution and export of a machine, without its memory, as one RTL module.

The machine is constructed with a placeholder for each component that exists as RTL; the module then
replaces all placeholders (``fiberscope.hw.rtl.kit.machine_module``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from fiberscope.accelerators import names
from fiberscope.accelerators.configuration import parse_settings
from fiberscope.accelerators.machine import EVENT, Machine
from fiberscope.accelerators.problem_settings import configure
from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress, ignore_progress
from fiberscope.hw.memory.axi_rtl import AxiParameters, axi_module, axi_names, with_axi
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.backend import Backend, PyrtlBackend
from fiberscope.hw.rtl.kit.composition import Composition
from fiberscope.hw.rtl.kit.contract import contract
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.machine_module import (
    MachineModule,
    ModuleKernel,
    Placeholder,
    RecordedMachine,
    RecordingKernel,
)
from fiberscope.hw.rtl.kit.twin import build
from fiberscope.hw.rtl.kit.wrapper import flat, hierarchical
from fiberscope.hw.rtl.tools.harness import harness
from fiberscope.hw.rtl.tools.hdl import Bench
from fiberscope.hw.rtl.tools.hdl import find as find_simulator
from fiberscope.hw.rtl.tools.ports import check_ports
from fiberscope.hw.rtl.tools.verilated import VerilatedBackend, VerilatedModule
from fiberscope.hw.rtl.tools.verilator import Verilator
from fiberscope.results.report.document import Report
from fiberscope.results.report.files import write_text
from fiberscope.rtl.cosim_request import CosimRequest, find_cosim_machine
from fiberscope.rtl.cosim_runs import (
    TOP,
    CosimRun,
    Recorder,
    run_and_collect,
    run_bench,
    simulate_request,
    wrap_backend,
    writable_folder,
    write_sources,
)
from fiberscope.rtl.handover.export import Handover, twin_sections, write_handover
from fiberscope.rtl.handover.readme import check_readme
from fiberscope.rtl.line_coverage import keep_counts
from fiberscope.rtl.substitution import ALL, makers
from fiberscope.sim import Kernel
from fiberscope.workloads import Problem
from fiberscope.workloads.canonical import CsrArray

BENCH = Path(__file__).with_name("axi_bench.py")
MODULE = "top"  # name among the machine's components

Backends = Callable[[Composition], Backend]


class _CompositionFound(Exception):  # noqa: N818  (stops a construction)
    """Stop the construction of a machine, as its parts and its composition are known."""

    def __init__(self, kernel: ModuleKernel, composition: Composition) -> None:
        super().__init__(composition.module)
        self.kernel, self.composition = kernel, composition


def build_module(accelerator: str) -> MachineModule:
    """Return the accelerator as one module.

    Raises:
        InputError: there is no such module.
    """
    accelerators = [name for name in names() if find_spec(_file(name))]
    if accelerator not in accelerators:
        raise InputError(f"{accelerator} does not exist as one module; {' and '.join(accelerators)} does")
    module: MachineModule = import_module(_file(accelerator)).WHOLE
    return module


def _file(accelerator: str) -> str:
    return f"fiberscope.accelerators.{accelerator}.machine_rtl"


def compose_parts(request: CosimRequest) -> tuple[ModuleKernel, Composition]:
    """Return all parts of the accelerator, and its composition, for its operands.

    The construction of the machine is stopped by an exception as soon as its kernel knows all parts.

    Raises:
        InputError: there is no module of such a machine, or its settings do not suit the RTL.
        ConfigurationError, WorkloadError: a setting or an operand is invalid.
    """
    module = build_module(request.accelerator)

    def stop_composing(_name: str, kernel: ModuleKernel) -> Adapter:
        raise _CompositionFound(kernel, _compose(module, kernel))

    # The kernel calls the function in ``build``, when all parts and channels are known.
    try:
        _make(request, ModuleKernel(MODULE, stop_composing), parts=_placeholders(request))
    except _CompositionFound as composed:
        return composed.kernel, composed.composition
    raise AssertionError("a machine was made without its kernel")


def _make(request: CosimRequest, kernel: Kernel, **options: object) -> tuple[Machine, Problem]:
    """Return the machine in a kernel, and its problem, whose answer is checked in the machine's precision."""
    accelerator = find_cosim_machine(request.accelerator)
    configured, maker = configure(accelerator, None, parse_settings(request.settings))
    problem = maker.load(request.a, request.b, exact=False, progress=ignore_progress)
    built_machine = cast(
        Machine, accelerator.models[EVENT](configured, *problem.machine_inputs(), kernel=kernel, **options)
    )
    problem.precision = getattr(built_machine, "value_type", None)
    return built_machine, problem


def _reference_parts(request: CosimRequest, name: str) -> RecordedMachine:
    """Return the components of the machine, to run beside its module and be compared."""
    kernel = RecordingKernel()
    _make(request, kernel)
    return RecordedMachine(name, kernel)


def _compose(module: MachineModule, kernel: ModuleKernel) -> Composition:
    try:
        return module.compose(kernel)
    except ValueError as error:
        raise InputError(f"{error}; set the accelerator so that it suits the RTL") from error


def verilog(composition: Composition) -> str:
    """Return the Verilog of the module and its parts."""
    return hierarchical(composition, composition.module)


def export(request: CosimRequest, folder: Path, period: float | None = None) -> tuple[Path, ...]:
    """Write the module with AXI4 memory, a cocotb bench, the bench's parameters, and a README.

    Args:
        request: the machine and its operands.
        folder: folder of the files.
        period: clock period in ns; None for the period of the machine.

    Raises:
        InputError: see ``compose_parts``; or the product is wrong, the bench does not support the machine, or
            the folder cannot be written to or has a README of other origin.
        ConfigurationError, WorkloadError: see ``compose_parts``.
        DeadlockError: the machine deadlocks on the operands.
    """
    check_readme(folder)  # before the machine is composed and run, which takes long
    kernel, composition = compose_parts(request)
    try:
        bench_data = build_module(request.accelerator).bench_data(kernel, _product(request))
    except ValueError as error:
        raise InputError(str(error)) from error
    module = with_axi(composition, AxiParameters(bench_data["bytes"]["line"]))
    name, port_contract = composition.module, contract(module.interface(), registered=True)
    texts = {
        f"{name}.v": "\n".join([port_contract, verilog(module), axi_module(module)]),
        f"{name}_told.json": json.dumps(bench_data),
        f"test_{name}.py": BENCH.read_text(encoding="utf-8"),
    }
    with writable_folder(folder):
        for file, text in texts.items():
            write_text(folder / file, text)
        handover = Handover(
            name,
            f"{name}_axi",
            f"the accelerator {request.accelerator} without its memory, which is behind ports of AXI4",
            texts[f"{name}.v"],
            period or float(10**9 / kernel.clocks[0].hertz),  # in ns, of the machine's own clock
            dict(setting.split("=", 1) for setting in request.settings),
            twin_sections(
                build(module.interface(), lambda streams: flat(module, streams)), axi_names(module)
            ),
            {
                f"{name}_told.json": "contents of memory, loads and the product, for the bench",
                f"test_{name}.py": "cocotb bench, with the memory models of cocotbext-axi",
            },
        )
        handover_files = write_handover(handover, folder)
    return (*(folder / file for file in texts), *handover_files)


def _product(request: CosimRequest) -> CsrArray:
    """Compute the product with the event model. Explicit zeros stay.

    Raises:
        InputError: the product is wrong.
        DeadlockError: the machine deadlocks.
        KeyboardInterrupt: the run was interrupted.
    """
    reference_machine, problem = _make(request, Kernel())
    if not reference_machine.kernel.run().complete:
        raise KeyboardInterrupt
    product = cast(CsrArray, reference_machine.result())
    if not problem.check(product).passed:
        raise InputError(f"{request.accelerator} itself gets this product wrong; see fiberscope sim")
    return product


def run_in_pyrtl(
    recorder: Recorder | None, request: CosimRequest, progress: Progress | None = None
) -> CosimRun:
    """Run with the module in PyRTL's simulator; see ``run_with``.

    Args:
        recorder: wraps the backend of the module, whose inner wires it then sees; None for none.
        request: the run.
        progress: called with the progress of the run.
    """

    def backend(composition: Composition) -> Backend:
        interface = composition.interface()
        twin = build(interface, lambda streams: flat(composition, streams))
        return wrap_backend(composition, PyrtlBackend(twin, watched=recorder is not None), recorder)

    return run_with(request, backend, progress)


def run_verilated(
    folder: Path, recorder: Recorder | None, request: CosimRequest, progress: Progress | None = None
) -> CosimRun:
    """Run with the module, which Verilator compiles into this process; see ``run_with``.

    The report, and the counts of lines if the request asks for them, are written into ``folder`` too.

    Args:
        folder: folder of Verilog, the compiled module and results.
        recorder: wraps the backend of the module, whose inner wires it then sees; None for none.
        request: the run.
        progress: called with the progress of the run.

    Raises:
        HdlError: Verilator does not accept the module.
        InputError, FailedRunError: the folder cannot be written to; or see ``run_with``.
    """
    modules: list[VerilatedModule] = []

    def backend(composition: Composition) -> Backend:
        sources, interface = _sources(request, composition, folder, Verilator.name)
        options = {"watched": recorder is not None, "covered": request.line_coverage}
        modules.append(VerilatedModule(sources, interface, folder, **options))
        return wrap_backend(composition, VerilatedBackend(modules[-1]), recorder)

    run = run_with(request, backend, progress)
    run[0].write(folder / "report.json")
    if request.line_coverage:
        keep_counts(modules, folder)
    return run


def run_in_hdl(request: CosimRequest, simulator: str, folder: Path) -> CosimRun:
    """Run with the module in an HDL simulator, in a separate process.

    Args:
        request: the run.
        simulator: name of the HDL simulator.
        folder: folder of Verilog, logs and results.

    Raises:
        InputError: there is no module of such a machine, or the folder cannot be written to.
        HdlError, FailedRunError, SimulationError: see ``fiberscope.rtl.cosim_runs.run_bench``.
    """
    folder, (_kernel, composition) = folder.resolve(), compose_parts(request)
    sources, interface = _sources(request, composition, folder, simulator)
    bench = Bench(sources, TOP, (interface,), "fiberscope.rtl.machine_module_bench", {}, folder)
    return run_bench(request, bench, simulator)


def _sources(
    request: CosimRequest, composition: Composition, folder: Path, simulator: str
) -> tuple[tuple[Path, ...], Interface]:
    """Return the Verilog files of the module, or the user's, and of the harness; and the module's ports.

    Raises:
        InputError: the user's module lacks status outputs, or there is no such simulator.
        SimulationError: the user's module has other ports.
    """
    interface = replace(composition.interface(), module=request.module or composition.module)
    top = {f"{TOP}.v": harness(TOP, {composition.module: interface})}
    if not request.sources:
        return write_sources(top | {f"{composition.module}.v": verilog(composition)}, folder), interface
    user_sources, written_files = tuple(map(Path, request.sources)), write_sources(top, folder)
    # The harness connects the ports of the interface by name, so the user's module must have them.
    ports = find_simulator(simulator).ports(user_sources, interface.module, folder)
    # Unlike that of a block, the adapter of a machine does without none of its status outputs.
    missing = set(interface.status_widths) - set(check_ports(interface, ports).status_widths)
    if missing:
        raise InputError(
            f"the module {interface.module} lacks the status outputs {', '.join(sorted(missing))}, which say "
            "when the machine is done and what it has counted"
        )
    return (*user_sources, *written_files), interface


def run_with(request: CosimRequest, backend: Backends, progress: Progress | None = None) -> CosimRun:
    """Run the accelerator with the module in place of its components.

    Args:
        request: the run.
        backend: creates the backend of the module, given its composition.
        progress: called with the progress of the run.

    Raises:
        InputError: there is no module of such a machine.
        FailedRunError: the run failed; the message has the first difference of the module.
    """
    module, adapters = build_module(request.accelerator), dict[str, Adapter]()

    def make(name: str, kernel: ModuleKernel) -> Adapter:
        composition = _compose(module, kernel)
        adapter = module.adapter(name, composition.interface(), backend(composition))
        adapter.configure(kernel)
        if request.coverage:
            adapter.cover()
        adapter.shadow = partial(_reference_parts, request, name)
        adapters[name] = adapter
        return adapter

    return run_and_collect(lambda: _simulate(request, make, progress), adapters)


def _simulate(
    request: CosimRequest, make: Callable[[str, ModuleKernel], Adapter], progress: Progress | None
) -> Report:
    """Run the accelerator in a kernel in which ``make`` creates the module that replaces the placeholders."""
    accelerator = find_cosim_machine(request.accelerator)

    def model(*arguments: object, **options: object) -> Machine:
        kernel = ModuleKernel(f"{accelerator.name}.{MODULE}", make, sleep=not request.is_in_lock_step)
        return cast(Machine, accelerator.models[EVENT](*arguments, kernel=kernel, **options))

    # The module is the only worker. Stages and limits name components that are inside the module.
    as_module = replace(
        accelerator, models={**accelerator.models, EVENT: model}, workers=MODULE, stages=(), limits=()
    )
    return simulate_request(request, _placeholders(request), progress, as_module)


def _placeholders(request: CosimRequest) -> dict[str, Callable[..., Placeholder]]:
    """Return a factory of placeholders for each part that exists as RTL."""
    return {
        name: partial(Placeholder, block=maker.block)
        for name, maker in makers(request.accelerator, (ALL,), {}).items()
    }
