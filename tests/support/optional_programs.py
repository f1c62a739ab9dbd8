"""Skip tests of programs that are not installed: the one place that knows which programs are optional.

A test that needs one is marked ``@needs("icarus")``; within a fixture or a test, ``require("icarus")`` skips.
Both say what is missing and how to install it.
"""

import os
import re
import shutil
from collections.abc import Callable, Mapping
from functools import cache

import pytest

HIDDEN = "FIBERSCOPE_HIDDEN"  # environment variable of ``bare.py``
COMMANDS = re.compile(  # that may start an optional program
    r"\brtl\b|\bgraph export\b|\bcosim\b|\bwave\b|\.fst\b|--live\b|\bmint\b|\bcosts\b|\bvalidation\b"
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def needs(*names: str) -> pytest.MarkDecorator:
    """Return the mark that skips a test where one of the programs is missing."""
    reasons = [reason for name in names if (reason := missing(name))]
    return pytest.mark.skipif(bool(reasons), reason="; ".join(reasons))


def require(*names: str) -> None:
    """Skip the test that runs where one of the programs is missing."""
    for name in names:
        if reason := missing(name):
            pytest.skip(reason)


def missing(name: str) -> str | None:
    """Return why a program cannot be used, None where it can."""
    return _missing(name, os.environ.get("PATH", os.defpath))


def is_tried(commands: str) -> bool:
    """Return whether commands are run here: where all programs are hidden, those that may start one."""
    return HIDDEN not in os.environ or bool(COMMANDS.search(commands))


def browser() -> str | None:
    """Return the program of a browser that draws pages."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@cache
def _missing(name: str, _path: str) -> str | None:
    return PROGRAMS.get(name, _simulator(name))()


def _program(program: str, package: str) -> Callable[[], str | None]:
    """Return the check for a program on the PATH."""

    def reason() -> str | None:
        return None if shutil.which(program) else f"there is no {program} (on Debian: apt install {package})"

    return reason


def _refused(check: Callable[[], object]) -> str | None:
    """Return what a check of the simulator's own says is missing."""
    try:
        from fiberscope.hw.rtl.tools.simulator import HdlError
    except ModuleNotFoundError:
        return "the extra rtl is not installed"
    try:
        check()
    except HdlError as error:
        return str(error)
    return None


def _simulator(name: str) -> Callable[[], str | None]:
    def check() -> None:
        from fiberscope.hw.rtl.tools.hdl import choose, find

        find(choose(name))

    return lambda: _refused(check)


def _lint() -> str | None:
    """Verilator that reads Verilog; to run it a compiler of C++ would be needed too."""

    def check() -> None:
        from fiberscope.hw.rtl.tools.verilator import Verilator

        Verilator().require_reader()

    return _refused(check)


def _yosys() -> str | None:
    def check() -> None:
        from fiberscope.hw.rtl.tools.area import require

        require()

    return _refused(check)


def _sta() -> str | None:
    def check() -> None:
        from fiberscope.hw.rtl.tools.sta import require

        require()

    return _refused(check)


def _cells() -> str | None:
    def check() -> None:
        from fiberscope.hw.rtl.tools.area import library

        library("osu018")

    return _refused(check)


PROGRAMS: Mapping[str, Callable[[], str | None]] = {
    "hdl": _simulator("auto"),  # any simulator of Verilog
    "icarus": _simulator("icarus"),
    "verilator": _simulator("verilator"),
    "lint": _lint,
    "yosys": _yosys,
    "sta": _sta,
    "cells": _cells,
    "browser": lambda: None if browser() else "there is no Chromium (on Debian: apt install chromium)",
    "vcd2fst": _program("vcd2fst", "gtkwave"),
    "fst2vcd": _program("fst2vcd", "gtkwave"),
    "git": _program("git", "git"),
    "gcc": _program("gcc", "gcc"),
}
