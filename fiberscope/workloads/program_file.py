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

VARIABLE = "PROGRAM"  # of the file


def read_program(path: Path) -> VertexProgram:
    """Execute a Python file, and return its ``PROGRAM``.

    Raises:
        WorkloadError: the file is missing, raises an exception, or defines no program.
    """
    if not path.is_file():
        raise WorkloadError("there is no such file; a vertex program is a Python file", location=str(path))
    try:
        program = runpy.run_path(str(path)).get(VARIABLE)
    except (Exception, SystemExit) as error:
        raise WorkloadError(f"{type(error).__name__}: {error}", location=str(path)) from error
    if not isinstance(program, VertexProgram):
        raise WorkloadError(f"the file defines no VertexProgram named {VARIABLE}", location=str(path))
    return program


def check_program(graph: CsrArray, task: GraphTask, location: str) -> None:
    """Run the first iteration of a program with ``synchronous.run``, to find faults before the simulation.

    Args:
        graph: the graph in CSR.
        task: the problem; its number of iterations is ignored. ``start`` is called twice.
        location: name of the program's file, for errors.

    Raises:
        WorkloadError: the program raises an exception; ``start`` does not return one number for each vertex;
            or ``apply`` changes the property of a vertex without a message, although not all are active.
    """
    try:
        initial = task.program.start(np.diff(graph.indptr), task.root)
        is_array = isinstance(initial, np.ndarray) and initial.dtype.kind in "iuf"
        if not (is_array and initial.shape == graph.shape[:1]):
            raise TypeError(f"start returns {initial!r:.40}; it should return an array, a number per vertex")
        applied = synchronous.run(graph, replace(task, iterations=1)).properties
        if not task.program.all_active:
            _check_untouched(graph, task, initial, applied)
    except Exception as error:
        raise WorkloadError(f"{type(error).__name__}: {error}", location=location) from error


def _check_untouched(graph: CsrArray, task: GraphTask, initial: Values, applied: Values) -> None:
    """Check that vertices without a message keep their property, as most designs do not apply them.

    Raises:
        ValueError: a vertex has another property, or NaN, which differs from itself.
    """
    changed = applied != initial
    # In the first iteration only the root sends messages.
    changed[graph.indices[graph.indptr[task.root] : graph.indptr[task.root + 1]]] = False
    if changed.any():
        vertex = int(np.argmax(changed))
        raise ValueError(
            f"apply changes the property of vertex {vertex} from {initial[vertex]:g} to {applied[vertex]:g}, "
            "but no message reached this vertex; it should return the old property"
        )
