"""Compilation of the project's and of users' modules, which must agree on the layout of objects."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

__all__ = ["DIMENSIONS", "DIRECTIVES", "FLAGS", "HELPERS", "lacking"]

DIRECTIVES = {
    "language_level": 3,
    "infer_types": True,  # locals take the C type of what is assigned to them
    "annotation_typing": False,  # annotations are for people and mypy; from them the .pxd is written
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "nonecheck": False,
    "overflowcheck": False,
    "cdivision": True,
    "embedsignature": True,
    "auto_pickle": False,  # a machine is not pickled; the code for it is a sixth of the compiler's work
}

# An array's view in a component or channel has room for so many dimensions: one is used, and one more is what
# Cython asks for. With eight, as it comes, an object is spread over far more lines of the host's cache.
DIMENSIONS = 2

# Of -O2 what runs are faster for: the rest takes as long again to compile, and shows in no run. No symbols: a
# third of the time.
FLAGS = ["-O1", "-finline-small-functions", "-fipa-cp", "-fthread-jumps", "-g0", "-fno-strict-aliasing"]

HELPERS = "fiberscope.sim._cyutility"  # Cython's own helper code, compiled once instead of into every module


def lacking() -> str | None:
    """Describe what is missing to compile with, in one line; None if nothing is."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return (
            f"compiling needs a C compiler, and there is no {compiler} "
            "(on Debian: apt install gcc); to use another, set CC, as in CC=clang"
        )
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return f"compiling needs the headers of {sys.executable} (on Debian: apt install python3-dev)"
    return None
