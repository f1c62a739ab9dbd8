"""Tensors to run: read from files, looked up by name, generated, or stood in for.

``load("wiki-Vote")``, ``load("a/file.mtx.gz")`` and ``load("uniform:rows=100,cols=100,nonzeros=500")`` give
a ``Workload``; ``from_scipy(matrix)`` wraps one from memory. Whatever a user can put right is a
``WorkloadError``.
"""

from workloads.errors import WorkloadError
from workloads.load import Workload, file_of, from_scipy, load
from workloads.problem import Problem, ProblemParameters, Spgemm
from workloads.readers import read_matrix
from workloads.registry import Entry, entries, lookup, names

__all__ = [
    "Entry",
    "Problem",
    "ProblemParameters",
    "Spgemm",
    "Workload",
    "WorkloadError",
    "entries",
    "file_of",
    "from_scipy",
    "load",
    "lookup",
    "names",
    "read_matrix",
]
