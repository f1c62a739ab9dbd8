"""Blocks in the loop: an accelerator with some of its components replaced by RTL, compared with itself."""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import accelerators
from accelerators.configuration import parse_settings
from accelerators.machine import EVENT, Accelerator
from fiberscope.api import simulate
from fiberscope.commands.options import matrices
from fiberscope.errors import FailedRunError, InputError
from fiberscope.report.document import Report
from fiberscope.report.files import check_outputs
from fiberscope.rtl.beside import Beside, TooLongError
from fiberscope.rtl.places import Maker, Place, choose, makers
from fiberscope.solve import Progress
from fiberscope.waveform import Waveform
from hw.rtl.catalogue import BLOCKS
from hw.rtl.kit.adapter import Adapter
from hw.rtl.kit.backend import Backend, PyrtlBackend
from hw.rtl.kit.exercise import Exercise
from hw.rtl.kit.parameters import Parameters
from hw.rtl.tools.harness import harness
from hw.rtl.tools.hdl import FILES, SIMULATORS, Bench, HdlError, find, read_order, run
from hw.rtl.tools.simulator import check_sources
from hw.rtl.tools.verilated import VerilatedBackend, VerilatedModule
from hw.rtl.tools.verilator import Verilator
from sim import Component, Kernel, SimulationError
from workloads.errors import nearest

__all__ = ["Loop", "Outcome", "Recorder", "compare", "simulate_in_bench"]

PYRTL = "pyrtl"  # the backend that needs no HDL simulator
TOP = "fiberscope_loop"  # the module around all others, in an HDL simulator
RESULTS = ("report.json", "fault.txt", "exercised.json")  # of a run in an HDL simulator
OWN_DRAIN = 64  # cycles for which Verilog of one's own may act by itself after its last token
Run: TypeAlias = "tuple[Report, Mapping[str, Exercise]]"
Recorder: TypeAlias = "Callable[[Place, Backend], Backend]"
NOT_COMPARED = (
    "host",
    "parts",
)  # what of a report may differ: the host's speed, and that a part was replaced


@dataclass(frozen=True)
class Loop:
    """What is run.

    Args:
        blocks: the parts that are replaced, names in the catalogue of RTL.
        accelerator: its name.
        a, b: the operands; A again if there is no B.
        settings: parameters of the accelerator, ``key=value``.
        at: the components to replace, by instance name; of a block of which none is named, the first.
        sources: Verilog files of one's own, for one block; the twins' if there are none.
        module: the module among them; the block's name if None.
        cycle_limit: where a run is stopped, None for nowhere.
        lock_step: whether the RTL runs one cycle in every cycle of the machine; else it may sleep as a
            component does, and runs the cycles slept through when it wakes.
        waveform: of the run with RTL, which is in lock-step then.
    """

    blocks: tuple[str, ...]
    accelerator: str
    a: str
    b: str | None = None
    settings: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    module: str | None = None
    cycle_limit: int | None = None
    lock_step: bool = False
    waveform: Waveform | None = None

    @property
    def inputs(self) -> dict[str, Path | None]:
        """Files that no output may overwrite, by what they are called in a message."""
        return {
            **matrices(self.a, self.b),
            **{f"--verilog {source}": Path(source) for source in self.sources},
        }

    @property
    def model(self) -> Accelerator[Any]:
        """The accelerator, in lock-step if it is to be: in a kernel in which no component ever sleeps."""
        kind = accelerators.find(self.accelerator)
        if not self.lock_step and self.waveform is None:
            return kind
        machine = kind.models[EVENT]
        if "kernel" not in inspect.signature(machine).parameters:
            raise InputError(f"{kind.name} takes no kernel, which lock-step and waveforms with RTL need")
        awake = partial(machine, kernel=Kernel(sleep=False))
        return replace(kind, models={**kind.models, EVENT: awake})


@dataclass(frozen=True)
class Outcome:
    """The report with the components, that with RTL in their places, and what the run exercised of each."""

    component: Report
    rtl: Report
    exercised: Mapping[str, Exercise]

    @property
    def at(self) -> tuple[str, ...]:
        """The places."""
        return tuple(self.exercised)

    def entries(self) -> int:
        """How many entries were compared."""
        return len(_entries(self.component)) - len(self.untold())

    def untold(self) -> list[str]:
        """The counters of the replaced components for which a module of the user's lacks a status output."""
        told, counters = _entries(self.rtl), tuple(f"components.{at}.counters." for at in self.at)
        return [key for key in _entries(self.component) if key not in told and key.startswith(counters)]

    def differences(self) -> list[str]:
        """One line for each entry that differs."""
        first, second = _entries(self.component), _entries(self.rtl)
        for key in self.untold():
            del first[key]
        return [
            f"{key}: {first.get(key, 'absent')} with the component, {second.get(key, 'absent')} with RTL"
            for key in {**first, **second}
            if first.get(key) != second.get(key)
        ]


def compare(loop: Loop, simulator: str, folder: Path, recorder: Recorder | None = None) -> Outcome:
    """Run the accelerator as it is and with RTL in it, where RTL runs in this process both at once.

    RTL that never comes to an end is stopped at twice the cycles that it should take.

    Args:
        loop: what to run.
        simulator: ``pyrtl`` or an HDL simulator of ``hw.rtl.tools.hdl``.
        folder: where Verilog, logs and the report of the second run are put.
        recorder: goes around what runs each module, in this process, with the wires within shown.

    Raises:
        InputError: for what the user can put right, the ports of a module among it.
        FailedRunError: the accelerator went wrong, by itself or with RTL in it.
    """
    noted = makers(loop.accelerator, loop.blocks, {})
    _check(loop, simulator)
    plain = replace(loop, waveform=None, lock_step=False)
    _simulate(replace(plain, cycle_limit=1), noted)  # until the parts are made
    places = choose(loop.accelerator, noted, loop.at, loop.module)
    if simulator != PYRTL:
        _check_folder(loop, places, folder)
    with Beside(lambda: _simulate(plain, noted)) as component:
        try:
            if loop.sources:
                places = _fitted(loop, places, simulator, folder)
            if simulator == PYRTL:
                rtl, exercised = _limited(loop, component, partial(_simulate_in_pyrtl, places, recorder))
            elif simulator == Verilator.name:
                in_library = partial(_simulate_verilated, places, folder, recorder)
                rtl, exercised = _limited(loop, component, in_library)
            else:
                limited = replace(loop, cycle_limit=component.limit)
                rtl, exercised = _simulate_in_hdl(limited, places, simulator, folder)
        except FailedRunError as failed:
            component.report()  # what goes wrong without RTL is none of its faults
            at = ", ".join(place.at for place in places)
            raise FailedRunError(f"with RTL at {at}: {failed}", failed.report) from failed
        except SimulationError as error:
            raise InputError(str(error)) from error
        return Outcome(component.report(), rtl, exercised)


def _limited(loop: Loop, component: Beside, simulate: Callable[[Loop, Progress | None], Run]) -> Run:
    """The run with RTL in this process; again up to the limit, if it goes on behind it."""
    try:
        return simulate(loop, component.hold)
    except TooLongError:
        return simulate(replace(loop, cycle_limit=component.limit), None)


def _check(loop: Loop, simulator: str) -> None:
    """Refuse what cannot be run with RTL before the run without it."""
    if loop.module is not None and not loop.sources:
        raise InputError(f"--module {loop.module}: say by --verilog in which file it is")
    if len(loop.blocks) > 1 and loop.sources:
        raise InputError(f"--verilog is for one block, not for {' and '.join(loop.blocks)}")
    if simulator not in (*SIMULATORS, PYRTL):
        raise InputError(f"no simulator {simulator}; {nearest(simulator, (*SIMULATORS, PYRTL))}")
    if simulator == PYRTL and loop.sources:
        raise InputError("PyRTL runs the twin only; Verilog of your own needs --sim icarus or verilator")
    try:
        if simulator != PYRTL:
            find(simulator)
        check_sources([Path(source) for source in loop.sources])
    except HdlError as error:
        raise InputError(str(error)) from error


def _check_folder(loop: Loop, places: Sequence[Place], folder: Path) -> None:
    """Refuse to write over what the run is made of."""
    twins = () if loop.sources else (f"{place.module}.v" for place in places)
    for name in (f"{TOP}.v", *twins, *RESULTS, *FILES):
        if (folder / name).exists():
            check_outputs({"a file of --output": folder / name}, loop.inputs)


def _fitted(loop: Loop, places: Sequence[Place], simulator: str, folder: Path) -> tuple[Place, ...]:
    """The places with the user's module in them, which may lack status outputs."""
    with _folder(folder):
        sources = [Path(source) for source in loop.sources]
        found = {place.module: find(simulator).ports(sources, place.module, folder) for place in places}
    return tuple(place.fitted(found[place.module]) for place in places)


def simulate_in_bench(backend: Callable[[Place, bool], Backend]) -> None:
    """The second run, within an HDL simulator; leaves its report, or what went wrong, where it was told."""
    order = read_order()
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in order["loop"].items()
    }
    places = [
        Place(**{**place, "parameters": BLOCKS[place["block"]].parameters(**place["parameters"])})
        for place in order["places"]
    ]
    if given["waveform"] is not None:
        given["waveform"] = Waveform(**{**given["waveform"], "path": Path(given["waveform"]["path"])})
    with contextlib.chdir(order["here"]), _reported(order["report"], order["fault"]):
        report, exercised = _simulate_with(Loop(**given), places, backend)
        told = {at: asdict(exercise) for at, exercise in exercised.items()}
        Path(order["exercised"]).write_text(json.dumps(told), encoding="utf-8")
        report.write(order["report"])


@contextlib.contextmanager
def _reported(report: str, fault: str) -> Iterator[None]:
    """Leave what went wrong, and what is known of a run that failed."""
    try:
        yield
    except Exception as error:
        if isinstance(error, FailedRunError):
            error.report.write(report)
        Path(fault).write_text(str(error), encoding="utf-8")
        raise


def _simulate_in_pyrtl(
    places: Sequence[Place], recorder: Recorder | None, loop: Loop, progress: Progress | None
) -> Run:
    def backend(place: Place, watched: bool) -> Backend:
        twin = BLOCKS[place.block].twin(place.parameters)
        return _recorded(place, PyrtlBackend(twin, watched=watched or recorder is not None), recorder)

    return _simulate_with(loop, places, backend, progress)


def _recorded(place: Place, backend: Backend, recorder: Recorder | None) -> Backend:
    return backend if recorder is None else recorder(place, backend)


def _simulate_verilated(
    places: Sequence[Place], folder: Path, recorder: Recorder | None, loop: Loop, progress: Progress | None
) -> Run:
    """With the modules compiled into this process."""
    with _folder(folder):
        sources = _sources(loop, places, folder)
    interfaces = {_key(place): place.interface for place in places}
    watched = loop.waveform is not None or recorder is not None
    modules = {
        key: VerilatedModule(sources, interface, folder, watched=watched)
        for key, interface in interfaces.items()
    }

    def backend(place: Place, _watched: bool) -> Backend:
        return _recorded(place, VerilatedBackend(modules[_key(place)]), recorder)

    run = _simulate_with(loop, places, backend, progress)
    run[0].write(folder / "report.json")
    return run


def _key(place: Place) -> tuple[str, Parameters]:
    """Places of the same module for the same parameters share it."""
    return place.module, place.parameters


def _simulate_in_hdl(loop: Loop, places: Sequence[Place], simulator: str, folder: Path) -> Run:
    folder = folder.resolve()
    report, fault, exercised = (folder / name for name in RESULTS)
    with _folder(folder):
        for old in (report, fault):
            old.unlink(missing_ok=True)
        sources = _sources(loop, places, folder)
    order = {
        "loop": json.loads(json.dumps(asdict(loop), default=str)),  # paths as text
        "places": [asdict(place) for place in places],
        "here": str(Path.cwd()),
        "report": str(report),
        "fault": str(fault),
        "exercised": str(exercised),
    }
    interfaces = tuple({_key(place): place.interface for place in places}.values())
    bench = Bench(sources, TOP, interfaces, "fiberscope.rtl.bench", order, folder)
    try:
        run(bench, simulator)
    except HdlError as error:
        if not fault.is_file():
            raise
        message = fault.read_text(encoding="utf-8")
        if report.is_file():
            raise FailedRunError(message, Report.read(report)) from error
        raise SimulationError(message) from error
    told = json.loads(exercised.read_text(encoding="utf-8"))
    return Report.read(report), {at: Exercise(**exercise) for at, exercise in told.items()}


@contextlib.contextmanager
def _folder(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to: {error.strerror}") from error


def _sources(loop: Loop, places: Sequence[Place], folder: Path) -> tuple[Path, ...]:
    """The Verilog files; those of twins and of the harness around all modules are written now."""
    texts = {f"{TOP}.v": harness(TOP, {place.instance: place.interface for place in places})}
    if not loop.sources:
        for module, place in {place.module: place for place in places}.items():
            texts[f"{module}.v"] = BLOCKS[place.block].verilog(place.parameters, module)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return (*map(Path, loop.sources), *(folder / name for name in texts))


def _simulate_with(
    loop: Loop,
    places: Sequence[Place],
    backend: Callable[[Place, bool], Backend],
    progress: Progress | None = None,
) -> Run:
    """The accelerator with RTL at some places; ``backend`` is told whether the RTL is watched."""
    watched = loop.waveform is not None
    adapters: dict[str, Adapter] = {}

    def stand_in(place: Place) -> Callable[..., Component]:
        component = accelerators.find(loop.accelerator).parts[place.block]

        def make(name: str, *arguments: object) -> Component:
            adapter = BLOCKS[place.block].stand_in(name, place.interface, backend(place, watched))
            if loop.sources:
                adapter.drain = OWN_DRAIN
            if watched:
                adapter.shadow = partial(component, name, *arguments)
            adapters[name] = adapter
            return adapter

        return make

    rtl = {place.at: stand_in(place) for place in places}
    report = _simulate(loop, makers(loop.accelerator, loop.blocks, rtl), progress)
    return report, {place.at: adapters[place.at].exercise() for place in places}


def _simulate(loop: Loop, parts: Mapping[str, Maker], progress: Progress | None = None) -> Report:
    return simulate(
        loop.model,
        loop.a,
        loop.b,
        settings=parse_settings(loop.settings),
        cycle_limit=loop.cycle_limit,
        waveform=loop.waveform,
        parts=parts,
        progress=progress,
    )


def _entries(report: Report) -> dict[str, object]:
    """What is compared, by dotted key."""
    return dict(_flattened("", report.model_dump(mode="json", exclude=set(NOT_COMPARED))))


def _flattened(prefix: str, entry: object) -> Iterator[tuple[str, object]]:
    if isinstance(entry, dict) and entry:
        for key, inner in entry.items():
            yield from _flattened(f"{prefix}.{key}" if prefix else str(key), inner)
    else:
        yield prefix, entry
