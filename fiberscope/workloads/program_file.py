"""Reader of a user's vertex program in a Python file."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np

from fiberscope.workloads import synchronous
from fiberscope.workloads.canonical import CsrArray, Values
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.synchronous import GraphTask
from fiberscope.workloads.vertex_program import VertexProgram

NAME = "PROGRAM"


def read_program(path: Path) -> VertexProgram:
    """Return the ``PROGRAM`` of the file.

    Raises:
        WorkloadError: the file is missing, fails, or has no program.
    """
    if not path.is_file():
        raise WorkloadError("there is no such file; a vertex program is a Python file", location=str(path))
    try:
        program = runpy.run_path(str(path)).get(NAME)
    except (Exception, SystemExit) as error:
        raise WorkloadError(f"{type(error).__name__}: {error}", location=str(path)) from error
    if not isinstance(program, VertexProgram):
        raise WorkloadError(f"it should have a VertexProgram, called {NAME}", location=str(path))
    return program


def try_out(graph: CsrArray, task: GraphTask, location: str) -> None:
    """Run the first iteration of a program in the plain loop, to find its faults before the simulation.

    Args:
        graph: the graph in CSR.
        task: the program and its root.
        location: name of the program's file, for errors.

    Raises:
        WorkloadError: the program fails, or breaks a rule that machines rely on.
    """
    try:
        old = task.program.start(np.diff(graph.indptr), task.root)
        if not (isinstance(old, np.ndarray) and old.shape == graph.shape[:1] and old.dtype.kind in "iuf"):
            raise TypeError(f"start gives {old!r:.40}; it should be an array of a number for each vertex")
        new = synchronous.run(graph, replace(task, iterations=1)).properties
        if not task.program.all_active:
            _check_unreached(graph, task, old, new)
    except Exception as error:
        raise WorkloadError(f"{type(error).__name__}: {error}", location=location) from error


def _check_unreached(graph: CsrArray, task: GraphTask, old: Values, new: Values) -> None:
    """Check that vertices without a message keep their property, as most designs do not apply them."""
    unreached = new != old
    unreached[graph.indices[graph.indptr[task.root] : graph.indptr[task.root + 1]]] = False
    if unreached.any():
        vertex = int(np.argmax(unreached))
        raise ValueError(
            f"apply makes {new[vertex]:g} of {old[vertex]:g} at vertex {vertex}, which no message has "
            "reached; it should leave it as it is"
        )
