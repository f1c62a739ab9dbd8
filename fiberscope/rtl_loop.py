"""A block in the loop: an accelerator with one of its components replaced by RTL, compared with itself."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import accelerators
from accelerators.configuration import parse_settings
from fiberscope.api import simulate
from fiberscope.errors import FailedRunError, InputError
from fiberscope.report import Report
from hw.rtl.backend import Backend, PyrtlBackend
from hw.rtl.block import RtlBlock
from hw.rtl.catalogue import BLOCKS
from hw.rtl.hdl import Bench, HdlError, find, read_order, run
from hw.rtl.interface import Interface
from hw.rtl.parameters import Parameters
from hw.rtl.simulator import check_sources
from sim import Component, SimulationError
from workloads.errors import nearest

__all__ = ["Loop", "Outcome", "compare", "simulate_in_bench"]

PYRTL = "pyrtl"  # the backend that needs no HDL simulator
OWN_DRAIN = 64  # cycles for which Verilog of one's own may act by itself after its last token
NOT_COMPARED = (
    "host",
    "parts",
)  # what of a report may differ: the host's speed, and that a part was replaced


@dataclass(frozen=True)
class Loop:
    """What is run.

    Args:
        block: the part that is replaced, a name in the catalogue of RTL.
        accelerator: its name.
        a, b: the operands; A again if there is no B.
        settings: parameters of the accelerator, ``key=value``.
        at: the component to replace, by instance name; the first of its kind if None.
        sources: Verilog files of one's own; the twin's if there are none.
        module: the module among them; the block's name if None.
        cycle_limit: where a run is stopped, None for nowhere.
    """

    block: str
    accelerator: str
    a: str
    b: str | None = None
    settings: tuple[str, ...] = ()
    at: str | None = None
    sources: tuple[str, ...] = ()
    module: str | None = None
    cycle_limit: int | None = None


@dataclass(frozen=True)
class Outcome:
    """The report with the component and that with RTL in its place, which was ``at``."""

    at: str
    component: Report
    rtl: Report

    def entries(self) -> int:
        """How many entries were compared."""
        return len(_entries(self.component))

    def differences(self) -> list[str]:
        """One line for each entry that differs."""
        first, second = _entries(self.component), _entries(self.rtl)
        return [
            f"{key}: {first.get(key, 'absent')} with the component, {second.get(key, 'absent')} with RTL"
            for key in {**first, **second}
            if first.get(key) != second.get(key)
        ]


class _Placement:
    """Makes the parts of one kind: notes them all, and puts RTL at one place."""

    def __init__(self, kind: Callable[..., Component], rtl: Mapping[str, Callable[..., Component]]) -> None:
        self.kind = kind
        self.rtl = rtl
        self.made: dict[str, tuple[Any, ...]] = {}  # arguments by instance name

    def __call__(self, name: str, *arguments: object) -> Component:
        self.made[name] = arguments
        return self.rtl.get(name, self.kind)(name, *arguments)


def compare(loop: Loop, simulator: str, folder: Path) -> Outcome:
    """Run the accelerator as it is and with RTL in it.

    RTL that never comes to an end is stopped at twice the cycles that it should take.

    Args:
        loop: what to run.
        simulator: ``pyrtl`` or an HDL simulator of ``hw.rtl.hdl``.
        folder: where Verilog, logs and the report of the second run are put.

    Raises:
        InputError: for what the user can put right, the ports of a module among it.
        FailedRunError: the accelerator went wrong, by itself or with RTL in it.
    """
    noted = _placement(loop, {})
    _check(loop, simulator)
    component = _simulate(loop, noted)
    at = _chosen(loop, noted)
    parameters = _parameters(loop, noted.made[at])
    located = replace(loop, at=at, cycle_limit=2 * component.cycles + 1000)
    try:
        if simulator == PYRTL:
            rtl = _simulate_in_pyrtl(located, parameters)
        else:
            rtl = _simulate_in_hdl(located, parameters, simulator, folder)
    except FailedRunError as failed:
        raise FailedRunError(f"with RTL at {at}: {failed}", failed.report) from failed
    except SimulationError as error:
        raise InputError(str(error)) from error
    return Outcome(at, component, rtl)


def _check(loop: Loop, simulator: str) -> None:
    """Refuse what cannot be run with RTL before the run without it."""
    if loop.module is not None and not loop.sources:
        raise InputError(f"--module {loop.module}: say by --verilog in which file it is")
    if simulator == PYRTL and loop.sources:
        raise InputError("PyRTL runs the twin only; Verilog of your own needs --sim icarus or verilator")
    try:
        if simulator != PYRTL:
            find(simulator)
        check_sources([Path(source) for source in loop.sources])
    except HdlError as error:
        raise InputError(str(error)) from error


def simulate_in_bench(backend: Callable[[Interface], Backend]) -> None:
    """The second run, within an HDL simulator; leaves its report, or what went wrong, where it was told."""
    order = read_order()
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in order["loop"].items()
    }
    loop = Loop(**given)
    parameters = BLOCKS[loop.block].parameters(**order["parameters"])
    with contextlib.chdir(order["here"]), _reported(order["report"], order["fault"]):
        _simulate_with(loop, parameters, backend).write(order["report"])


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


def _simulate_in_pyrtl(loop: Loop, parameters: Parameters) -> Report:
    twin = BLOCKS[loop.block].twin(parameters)
    return _simulate_with(loop, parameters, lambda _interface: PyrtlBackend(twin))


def _simulate_in_hdl(loop: Loop, parameters: Parameters, simulator: str, folder: Path) -> Report:
    folder = folder.resolve()
    report, fault = folder / "report.json", folder / "fault.txt"
    with _folder(folder):
        for old in (report, fault):
            old.unlink(missing_ok=True)
        sources = _sources(loop, parameters, folder)
    order = {
        "loop": asdict(loop),
        "parameters": asdict(parameters),
        "here": str(Path.cwd()),
        "report": str(report),
        "fault": str(fault),
    }
    bench = Bench(sources, _interface(loop, parameters), "fiberscope.rtl_bench", order, folder)
    try:
        run(bench, simulator)
    except HdlError as error:
        if not fault.is_file():
            raise
        message = fault.read_text(encoding="utf-8")
        if report.is_file():
            raise FailedRunError(message, Report.read(report)) from error
        raise SimulationError(message) from error
    return Report.read(report)


@contextlib.contextmanager
def _folder(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to: {error.strerror}") from error


def _sources(loop: Loop, parameters: Parameters, folder: Path) -> tuple[Path, ...]:
    """The Verilog files; the twin's is written now."""
    if loop.sources:
        return tuple(Path(source) for source in loop.sources)
    path = folder / f"{loop.block}.v"
    path.write_text(BLOCKS[loop.block].verilog(parameters), encoding="utf-8")
    return (path,)


def _interface(loop: Loop, parameters: Parameters) -> Interface:
    expected = BLOCKS[loop.block].interface(parameters)
    return dataclasses.replace(expected, module=loop.module or expected.module)


def _simulate_with(loop: Loop, parameters: Parameters, backend: Callable[[Interface], Backend]) -> Report:
    """The accelerator with RTL at one place."""
    block, interface = BLOCKS[loop.block], _interface(loop, parameters)

    def stand_in(name: str, *_arguments: object) -> Component:
        adapter = block.stand_in(name, interface, backend(interface))
        if loop.sources:
            adapter.drain = OWN_DRAIN
        return adapter

    return _simulate(loop, _placement(loop, {str(loop.at): stand_in}))


def _simulate(loop: Loop, placement: _Placement) -> Report:
    settings = parse_settings(loop.settings)
    return simulate(
        loop.accelerator,
        loop.a,
        loop.b,
        settings=settings,
        cycle_limit=loop.cycle_limit,
        parts={loop.block: placement},
    )


def _placement(loop: Loop, rtl: Mapping[str, Callable[..., Component]]) -> _Placement:
    kind = accelerators.find(loop.accelerator)
    if loop.block not in kind.parts:
        known = kind.parts.keys() & BLOCKS.keys()
        advice = nearest(loop.block, known) if known else "none of its parts exists as RTL"
        raise InputError(f"{kind.name} has no part {loop.block} to replace; {advice}")
    return _Placement(kind.parts[loop.block], rtl)


def _chosen(loop: Loop, noted: _Placement) -> str:
    """The instance to replace."""
    if loop.at is None:
        return next(iter(noted.made))
    if loop.at not in noted.made:
        raise InputError(
            f"{loop.accelerator} has no {loop.block} named {loop.at}; {nearest(loop.at, noted.made)}"
        )
    return loop.at


def _parameters(loop: Loop, arguments: tuple[Any, ...]) -> Parameters:
    block: RtlBlock = BLOCKS[loop.block]
    try:
        return block.matching(*arguments)
    except ValueError as error:
        raise InputError(f"{error}; set the accelerator so that it suits the RTL") from error


def _entries(report: Report) -> dict[str, object]:
    """What is compared, by dotted key."""
    return dict(_flattened("", report.model_dump(mode="json", exclude=set(NOT_COMPARED))))


def _flattened(prefix: str, entry: object) -> Iterator[tuple[str, object]]:
    if isinstance(entry, dict) and entry:
        for key, inner in entry.items():
            yield from _flattened(f"{prefix}.{key}" if prefix else str(key), inner)
    else:
        yield prefix, entry
