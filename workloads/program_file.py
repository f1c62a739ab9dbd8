"""A vertex program of a user's own, from a Python file."""

from __future__ import annotations

import runpy
from pathlib import Path

from workloads.errors import WorkloadError
from workloads.vertex_program import VertexProgram

__all__ = ["read_program"]

NAME = "PROGRAM"


def read_program(path: Path) -> VertexProgram:
    """What the file calls ``PROGRAM``.

    Raises:
        WorkloadError: there is no such file, it fails, or it has no program.
    """
    if not path.is_file():
        raise WorkloadError("there is no such file; a vertex program is a Python file", where=str(path))
    try:
        found = runpy.run_path(str(path)).get(NAME)
    except (Exception, SystemExit) as error:
        raise WorkloadError(f"{type(error).__name__}: {error}", where=str(path)) from error
    if not isinstance(found, VertexProgram):
        raise WorkloadError(f"it should have a VertexProgram, called {NAME}", where=str(path))
    return found
