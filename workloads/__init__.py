"""Tensors to run: read from files, looked up by name, generated, or stood in for.

``load("wiki-Vote")``, ``load("a/file.mtx.gz")`` and ``load("uniform:rows=100,cols=100,nonzeros=500")`` give
a ``Workload``; ``from_scipy(matrix)`` wraps one from memory, and ``draw("gemm:m=...")`` draws both operands
of a GEMM. Whatever a user can put right is a
``WorkloadError``.
"""

from workloads.dense_product import Gemm
from workloads.errors import WorkloadError
from workloads.gemm import DrawnOperand, Operand, draw, is_gemm
from workloads.graph_problem import GraphAlgorithm
from workloads.load import Workload, file_of, from_scipy, load
from workloads.load_tensor import NamedTensor, load_tensor
from workloads.problem import Problem, ProblemParameters, Spgemm
from workloads.readers import read_matrix
from workloads.registry import Entry, entries, lookup, names
from workloads.tensor import SparseTensor
from workloads.vertex_program import VertexProgram, from_root

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
