"""All of a machine but its memory as one module, in the machine's place."""

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
from fiberscope.base.progress import Progress, nobody
from fiberscope.hw.memory.axi_rtl import AxiParameters, axi_module, with_axi
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.backend import Backend, PyrtlBackend
from fiberscope.hw.rtl.kit.composition import Composition
from fiberscope.hw.rtl.kit.contract import contract
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.machine_module import Parts, PartsKernel, Seat, SeatKernel, Whole
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
from fiberscope.rtl.cosim_request import Loop, machine
from fiberscope.rtl.runs import (
    TOP,
    Recorder,
    Run,
    benched,
    made_folder,
    recorded,
    simulated,
    with_exercises,
    written,
)
from fiberscope.rtl.substitution import ALL, makers
from fiberscope.sim import Kernel
from fiberscope.workloads import Problem
from fiberscope.workloads.canonical import CsrArray

BENCH = Path(__file__).with_name("axi_bench.py")
MODULE = "top"  # what that is called among the machine's components

Backends = Callable[[Composition], Backend]


class _CompositionCaught(Exception):  # noqa: N818  (no error: it ends the making of a machine that is not to run)
    """All parts of a machine, and how it is composed."""

    def __init__(self, kernel: SeatKernel, composition: Composition) -> None:
        super().__init__(composition.module)
        self.kernel, self.composition = kernel, composition


def whole_of(accelerator: str) -> Whole:
    """The accelerator as one module.

    Raises:
        InputError: there is none.
    """
    accelerators = [name for name in names() if find_spec(_file(name))]
    if accelerator not in accelerators:
        raise InputError(f"{accelerator} does not exist as one module; {' and '.join(accelerators)} does")
    whole: Whole = import_module(_file(accelerator)).WHOLE
    return whole


def _file(accelerator: str) -> str:
    return f"fiberscope.accelerators.{accelerator}.machine_rtl"


def composed(loop: Loop) -> tuple[SeatKernel, Composition]:
    """All parts of the accelerator, and how it is composed, for its operands.

    Raises:
        InputError: of such a machine there is no module.
    """
    whole = whole_of(loop.accelerator)

    def stop_composing(_name: str, kernel: SeatKernel) -> Adapter:
        raise _CompositionCaught(kernel, _composed(whole, kernel))

    try:
        _make(loop, SeatKernel(MODULE, stop_composing), parts=_seats(loop))
    except _CompositionCaught as found_there:
        return found_there.kernel, found_there.composition
    raise AssertionError("a machine was made without its kernel")


def _make(loop: Loop, kernel: Kernel, **options: object) -> tuple[Machine, Problem]:
    """The machine in a kernel, and what it is to solve."""
    kind = machine(loop.accelerator)
    configured, maker = configure(kind, None, parse_settings(loop.settings))
    problem = maker.load(loop.a, loop.b, exact=False, progress=nobody)
    built_machine = cast(
        Machine, kind.models[EVENT](configured, *problem.machine_inputs(), kernel=kernel, **options)
    )
    problem.precision = getattr(built_machine, "value_type", None)
    return built_machine, problem


def _parts(loop: Loop, name: str) -> Parts:
    """The machine's own parts, to run beside its module."""
    noted = PartsKernel()
    _make(loop, noted)
    return Parts(name, noted)


def _composed(whole: Whole, kernel: SeatKernel) -> Composition:
    try:
        return whole.compose(kernel)
    except ValueError as error:
        raise InputError(f"{error}; set the accelerator so that it suits the RTL") from error


def verilog(composition: Composition) -> str:
    """The module and all that it consists of."""
    return hierarchical(composition, composition.module)


def export(loop: Loop, folder: Path) -> tuple[Path, ...]:
    """Write the module with memory in AXI4, a list of files, what a bench has to know, and a bench.

    Raises:
        InputError: as of ``composed``, or the folder cannot be written to.
    """
    kernel, composition = composed(loop)
    try:
        facts = whole_of(loop.accelerator).bench_data(kernel, _product(loop))
    except ValueError as error:
        raise InputError(str(error)) from error
    module = with_axi(composition, AxiParameters(facts["bytes"]["line"]))
    name, rules = composition.module, contract(module.interface(), registered=True)
    texts = {
        f"{name}.v": "\n".join([rules, verilog(module), axi_module(module)]),
        f"{name}.f": f"{name}.v\n",
        f"{name}_told.json": json.dumps(facts),
        f"test_{name}.py": BENCH.read_text(encoding="utf-8"),
    }
    with made_folder(folder):
        for file, text in texts.items():
            write_text(folder / file, text)
    return tuple(folder / file for file in texts)


def _product(loop: Loop) -> CsrArray:
    """What the event model makes of the operands, a sum that is 0 among it.

    Raises:
        InputError: it does not come to the end, or is wrong.
    """
    reference_machine, problem = _make(loop, Kernel())
    reference_machine.kernel.run()
    product = cast(CsrArray, reference_machine.result())
    if not problem.check(product).passed:
        raise InputError(f"{loop.accelerator} itself gets this product wrong; see fiberscope sim")
    return product


def in_pyrtl(recorder: Recorder | None, loop: Loop, progress: Progress | None = None) -> Run:
    """The run with the module in PyRTL's simulation."""

    def backend(composition: Composition) -> Backend:
        interface = composition.interface()
        twin = build(interface, lambda between: flat(composition, between))
        return recorded(composition, PyrtlBackend(twin, watched=recorder is not None), recorder)

    return run_with(loop, backend, progress)


def verilated(folder: Path, recorder: Recorder | None, loop: Loop, progress: Progress | None = None) -> Run:
    """With the module compiled into this process."""

    def backend(composition: Composition) -> Backend:
        sources, interface = _sources(loop, composition, folder, Verilator.name)
        module = VerilatedModule(sources, interface, folder, watched=recorder is not None)
        return recorded(composition, VerilatedBackend(module), recorder)

    run = run_with(loop, backend, progress)
    run[0].write(folder / "report.json")
    return run


def in_hdl(loop: Loop, simulator: str, folder: Path) -> Run:
    """The run in an HDL simulator, in a process of its own."""
    folder, (_kernel, composition) = folder.resolve(), composed(loop)
    sources, interface = _sources(loop, composition, folder, simulator)
    bench = Bench(sources, TOP, (interface,), "fiberscope.rtl.machine_module_bench", {}, folder)
    return benched(loop, bench, simulator)


def _sources(
    loop: Loop, composition: Composition, folder: Path, simulator: str
) -> tuple[tuple[Path, ...], Interface]:
    """The files of the module, or the user's, and of the harness around it; and its ports."""
    interface = replace(composition.interface(), module=loop.module or composition.module)
    top = {f"{TOP}.v": harness(TOP, {composition.module: interface})}
    if not loop.sources:
        return written(top | {f"{composition.module}.v": verilog(composition)}, folder), interface
    own, written_files = tuple(map(Path, loop.sources)), written(top, folder)
    check_ports(interface, find_simulator(simulator).ports(own, interface.module, folder))
    return (*own, *written_files), interface


def run_with(loop: Loop, backend: Backends, progress: Progress | None = None) -> Run:
    """The accelerator with the module in its place."""
    whole, adapters = whole_of(loop.accelerator), dict[str, Adapter]()

    def make(name: str, kernel: SeatKernel) -> Adapter:
        composition = _composed(whole, kernel)
        adapter = whole.adapter(name, composition.interface(), backend(composition))
        adapter.configure(kernel)
        adapter.shadow = partial(_parts, loop, name)
        adapters[name] = adapter
        return adapter

    return with_exercises(lambda: _simulated(loop, make, progress), adapters)


def _simulated(loop: Loop, make: Callable[[str, SeatKernel], Adapter], progress: Progress | None) -> Report:
    """The run in a kernel of seats."""
    kind = machine(loop.accelerator)

    def model(*arguments: object, **options: object) -> Machine:
        kernel = SeatKernel(f"{kind.name}.{MODULE}", make, sleep=not loop.is_in_lock_step)
        return cast(Machine, kind.models[EVENT](*arguments, kernel=kernel, **options))

    as_module = replace(kind, models={**kind.models, EVENT: model}, workers=MODULE, stages=(), limits=())
    return simulated(loop, _seats(loop), progress, as_module)


def _seats(loop: Loop) -> dict[str, Callable[..., Seat]]:
    """What makes a seat of each part that exists as RTL."""
    return {
        name: partial(Seat, block=maker.block) for name, maker in makers(loop.accelerator, (ALL,), {}).items()
    }
