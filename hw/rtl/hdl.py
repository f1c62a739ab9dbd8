"""HDL simulators: whether they are there, what ports a module of Verilog has, and running a cocotb bench."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

from hw.rtl.interface import Interface, Wire, check_ports
from sim.errors import SimulationError

ORDER = "FIBERSCOPE_BENCH"  # environment variable: the file that tells a bench what to do, in JSON
LOG_LINES = 15  # of a failed run that are shown
SIMULATORS = {"icarus": ("iverilog", "vvp")}  # the programs that each needs
PACKAGES = {"icarus": "iverilog"}

_MODULE = re.compile(r'\.scope module, "(?P<name>[^"]+)"')
_PORT = re.compile(r'\.port_info \d+ /(?P<direction>\w+) (?P<width>\d+) "(?P<name>[^"]+)"')
_DIRECTIONS: dict[str, Literal["input", "output", "inout"]] = {
    "INPUT": "input",
    "OUTPUT": "output",
    "INOUT": "inout",
}


class HdlError(SimulationError):
    """An HDL simulator is missing, does not accept a source, or a bench failed in it."""


def require(simulator: str) -> None:
    """Make sure that a simulator is there, and cocotb.

    Raises:
        HdlError: saying how to get it, or which there are.
    """
    if simulator not in SIMULATORS:
        raise HdlError(f"no HDL simulator {simulator}; known: {', '.join(SIMULATORS)}")
    if importlib.util.find_spec("cocotb") is None:
        raise HdlError("cocotb is not installed, which benches need: pip install 'fiberscope[rtl]'")
    missing = [program for program in SIMULATORS[simulator] if shutil.which(program) is None]
    if missing:
        raise HdlError(
            f"the simulator {simulator} is not installed: no {missing[0]} on the PATH "
            f"(on Debian: apt install {PACKAGES[simulator]})"
        )


def ports(sources: Sequence[Path], module: str, folder: Path) -> list[Wire]:
    """The ports of a module as Icarus sees them, whatever Verilog they are written in.

    Args:
        sources: Verilog files.
        module: the one whose ports are wanted.
        folder: where to put what is compiled.

    Raises:
        HdlError: if a file cannot be read or compiled, or there is no such module.
    """
    require("icarus")
    for source in sources:
        if not source.is_file():
            raise HdlError(f"{source}: no such Verilog file")
    folder.mkdir(parents=True, exist_ok=True)
    compiled = folder / f"{module}.vvp"
    command = ["iverilog", "-g2012", "-s", module, "-o", str(compiled), *map(str, sources)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode:
        raise HdlError(f"iverilog does not accept module {module}:\n{outcome.stderr.strip()}")
    return _top_ports(compiled.read_text(encoding="utf-8"), module)


def _top_ports(compiled: str, module: str) -> list[Wire]:
    """The ports listed behind the module's scope in a compiled file."""
    found: list[Wire] = []
    inside = False
    for line in compiled.splitlines():
        scope = _MODULE.search(line)
        if scope or ".scope" in line:
            if inside:
                break
            inside = scope is not None and scope["name"] == module
        port = _PORT.search(line)
        if inside and port:
            found.append(Wire(port["name"], _DIRECTIONS[port["direction"]], int(port["width"])))
    return found


@dataclass(frozen=True)
class Bench:
    """A module and the cocotb tests that are run on it.

    Args:
        sources: Verilog files.
        interface: the module and the ports that it must have.
        tests: Python module of the cocotb tests.
        order: what they are told, see ``read_order``.
        folder: where everything is built and run.
    """

    sources: tuple[Path, ...]
    interface: Interface
    tests: str
    order: Mapping[str, Any]
    folder: Path


def run(bench: Bench, simulator: str = "icarus") -> int:
    """Compile the module, run all tests, and give how many there were.

    Raises:
        SimulationError: if the module's ports are not those expected.
        HdlError: if the simulator is missing, a source does not compile, a test fails, or there is none.
    """
    require(simulator)
    check_ports(bench.interface, ports(bench.sources, bench.interface.module, bench.folder))
    tests, failed = _run(bench, simulator)
    if failed:
        raise HdlError(f"{failed} of {tests} tests of {bench.tests} failed under {simulator}:\n{_log(bench)}")
    if tests == 0:
        raise HdlError(f"{bench.tests} ran no test under {simulator}:\n{_log(bench)}")
    return tests


def read_order() -> dict[str, Any]:
    """What the bench that runs in this process was told."""
    order: dict[str, Any] = json.loads(Path(os.environ[ORDER]).read_text(encoding="utf-8"))
    return order


def _run(bench: Bench, simulator: str) -> tuple[int, int]:
    """Tests run and tests failed."""
    from cocotb_tools.runner import get_runner  # noqa: PLC0415  (only benches need cocotb)

    folder = bench.folder.resolve()
    module, order, results = bench.interface.module, folder / "order.json", folder / "results.xml"
    results.unlink(missing_ok=True)
    order.write_text(json.dumps(bench.order), encoding="utf-8")
    runner = get_runner(simulator)
    try:
        runner.build(
            sources=[source.resolve() for source in bench.sources],
            hdl_toplevel=module,
            always=True,
            build_dir=folder,
            timescale=("1ns", "1ps"),
            log_file=folder / "build.log",
        )
        runner.test(
            test_module=bench.tests,
            hdl_toplevel=module,
            hdl_toplevel_lang="verilog",
            build_dir=folder,
            test_dir=folder,
            results_xml=str(results),
            seed=0,
            extra_env={ORDER: str(order)},
            log_file=folder / "run.log",
        )
    except (SystemExit, subprocess.CalledProcessError) as error:
        if not results.is_file():
            raise HdlError(f"{simulator} came to no result for {module}:\n{_log(bench)}") from error
    return _count(results)


def _count(results: Path) -> tuple[int, int]:
    """Tests that ran, and those of them that failed."""
    cases = list(ElementTree.parse(results).getroot().iter("testcase"))
    ran = [case for case in cases if case.find("skipped") is None]
    failed = [case for case in ran if case.find("failure") is not None or case.find("error") is not None]
    return len(ran), len(failed)


def _log(bench: Bench) -> str:
    """The end of what the simulator said."""
    for name in ("run.log", "build.log"):
        path = bench.folder / name
        if path.is_file():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            return "\n".join(lines[-LOG_LINES:])
    return "it left no log"
