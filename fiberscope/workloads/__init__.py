"""Workloads: tensors that are read from files, looked up by name, generated, or replaced by surrogates.

``load("wiki-Vote")``, ``load("a/file.mtx.gz")`` and ``load("uniform:rows=100,cols=100,nonzeros=500")`` return
a ``Workload``. ``from_scipy(matrix)`` wraps a matrix in memory, and ``draw("gemm:m=...")`` draws both
operands of a GEMM. A fault that a user can correct is a ``WorkloadError``. Only this class is imported
eagerly.
"""

from typing import TYPE_CHECKING

from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.first_use import imported_at_first_use

if TYPE_CHECKING:
    from fiberscope.workloads.dense_product import Gemm
    from fiberscope.workloads.files import file_of
    from fiberscope.workloads.gemm import DrawnOperand, Operand, draw, is_gemm
    from fiberscope.workloads.graph_problem import GraphAlgorithm
    from fiberscope.workloads.named_tensor import NamedTensor
    from fiberscope.workloads.opening import load_tensor, open_tensor
    from fiberscope.workloads.problem import Problem, ProblemParameters, Spgemm
    from fiberscope.workloads.readers import read_matrix
    from fiberscope.workloads.registry import Entry, entries, lookup, names
    from fiberscope.workloads.tensor import SparseTensor
    from fiberscope.workloads.vertex_program import VertexProgram, from_root
    from fiberscope.workloads.workload import Workload, from_scipy, load

if __name__ != "fiberscope.workloads":  # a second name would create a second copy of every class
    raise ImportError(f"import fiberscope.{__name__} instead: {__name__} has no other name")

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
    "open_tensor",
    "read_matrix",
]

__getattr__ = imported_at_first_use(
    __name__,
    {
        "DrawnOperand": "fiberscope.workloads.gemm",
        "Entry": "fiberscope.workloads.registry",
        "Gemm": "fiberscope.workloads.dense_product",
        "GraphAlgorithm": "fiberscope.workloads.graph_problem",
        "NamedTensor": "fiberscope.workloads.named_tensor",
        "Operand": "fiberscope.workloads.gemm",
        "Problem": "fiberscope.workloads.problem",
        "ProblemParameters": "fiberscope.workloads.problem",
        "SparseTensor": "fiberscope.workloads.tensor",
        "Spgemm": "fiberscope.workloads.problem",
        "VertexProgram": "fiberscope.workloads.vertex_program",
        "Workload": "fiberscope.workloads.workload",
        "draw": "fiberscope.workloads.gemm",
        "entries": "fiberscope.workloads.registry",
        "file_of": "fiberscope.workloads.files",
        "from_root": "fiberscope.workloads.vertex_program",
        "from_scipy": "fiberscope.workloads.workload",
        "is_gemm": "fiberscope.workloads.gemm",
        "load": "fiberscope.workloads.workload",
        "load_tensor": "fiberscope.workloads.opening",
        "lookup": "fiberscope.workloads.registry",
        "names": "fiberscope.workloads.registry",
        "open_tensor": "fiberscope.workloads.opening",
        "read_matrix": "fiberscope.workloads.readers",
    },
)
