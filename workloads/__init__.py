"""Tensors to run: read from files, looked up by name, generated, or stood in for.

``load("wiki-Vote")``, ``load("a/file.mtx.gz")`` and ``load("uniform:rows=100,cols=100,nonzeros=500")`` give
a ``Workload``; ``from_scipy(matrix)`` wraps one from memory, and ``draw("gemm:m=...")`` draws both operands
of a GEMM. Whatever a user can put right is a ``WorkloadError``. All but that are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.errors import WorkloadError
from workloads.first_use import imported_at_first_use

if TYPE_CHECKING:
    from workloads.dense_product import Gemm
    from workloads.gemm import DrawnOperand, Operand, draw, is_gemm
    from workloads.graph_problem import GraphAlgorithm
    from workloads.named_tensor import NamedTensor, load_tensor
    from workloads.problem import Problem, ProblemParameters, Spgemm
    from workloads.readers import read_matrix
    from workloads.registry import Entry, entries, lookup, names
    from workloads.tensor import SparseTensor
    from workloads.vertex_program import VertexProgram, from_root
    from workloads.workload import Workload, file_of, from_scipy, load

__all__ = [
    "DrawnOperand",
    "Entry",
    "Gemm",
    "GraphAlgorithm",
    "NamedTensor",
    "Operand",
    "Problem",
    "ProblemParameters",
    "SparseTensor",
    "Spgemm",
    "VertexProgram",
    "Workload",
    "WorkloadError",
    "draw",
    "entries",
    "file_of",
    "from_root",
    "from_scipy",
    "is_gemm",
    "load",
    "load_tensor",
    "lookup",
    "names",
    "read_matrix",
]

__getattr__ = imported_at_first_use(
    __name__,
    {
        "DrawnOperand": "workloads.gemm",
        "Entry": "workloads.registry",
        "Gemm": "workloads.dense_product",
        "GraphAlgorithm": "workloads.graph_problem",
        "NamedTensor": "workloads.named_tensor",
        "Operand": "workloads.gemm",
        "Problem": "workloads.problem",
        "ProblemParameters": "workloads.problem",
        "SparseTensor": "workloads.tensor",
        "Spgemm": "workloads.problem",
        "VertexProgram": "workloads.vertex_program",
        "Workload": "workloads.workload",
        "draw": "workloads.gemm",
        "entries": "workloads.registry",
        "file_of": "workloads.workload",
        "from_root": "workloads.vertex_program",
        "from_scipy": "workloads.workload",
        "is_gemm": "workloads.gemm",
        "load": "workloads.workload",
        "load_tensor": "workloads.named_tensor",
        "lookup": "workloads.registry",
        "names": "workloads.registry",
        "read_matrix": "workloads.readers",
    },
)
