"""Compiler settings, which the project's and users' modules must share, as they determine object layouts."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

DIRECTIVES = {
    "language_level": 3,
    "infer_types": True,  # locals take the C type of their values
    "annotation_typing": False,  # the .pxd has the types of the annotations
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "nonecheck": False,
    "overflowcheck": False,
    "cdivision": True,
    "embedsignature": True,
    "auto_pickle": False,  # machines are not pickled; saves a sixth of the compile time
}

# Dimensions of an array view in an object: one is used, and Cython needs one more. The default of eight would
# spread an object over far more cache lines of the host.
DIMENSIONS = 2

# The flags of -O2 that make runs faster; its other flags only double the compile time. Debug symbols would
# take a third of the compile time.
FLAGS = ["-O1", "-finline-small-functions", "-fipa-cp", "-fthread-jumps", "-g0", "-fno-strict-aliasing"]

HELPERS = "fiberscope.sim._cyutility"  # Cython's own helper code, compiled once instead of into every module


def find_missing_tool() -> str | None:
    """Return one line about a missing compiler or header; None if nothing is missing."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return (
            f"compiling needs a C compiler, and there is no {compiler} "
            "(on Debian: apt install gcc); to use another, set CC, as in CC=clang"
        )
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return f"compiling needs the headers of {sys.executable} (on Debian: apt install python3-dev)"
    return None
