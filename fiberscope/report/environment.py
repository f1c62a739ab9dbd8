"""What a run was made with, besides sources: Python, the libraries that compute, the engine's build."""

from __future__ import annotations

import hashlib
import platform
import sys
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np
import scipy

from fiberscope.report.parts import Environment
from fiberscope.sim import mode

__all__ = ["environment"]


@cache
def environment() -> Environment:
    """That of this process."""
    compiled = mode.compiled()
    return Environment(
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        numpy=np.__version__,
        scipy=scipy.__version__,
        compiled=compiled,
        build=_build(Path(str(sys.modules["fiberscope.sim.kernel"].__file__)).parent) if compiled else None,
    )


def _build(folder: Path) -> str:
    """The digest of the engine's compiled modules."""
    modules = sorted(folder.glob(f"*{EXTENSION_SUFFIXES[0]}"))
    return hashlib.sha256(b"".join(module.read_bytes() for module in modules)).hexdigest()
