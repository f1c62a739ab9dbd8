"""Stream graphs: tensor algebra as a graph of the blocks of the Sparse Abstract Machine.

from fiberscope.models.graphs import read_gv, run

print(run("examples/graphs/fig12_ikj.gv", {"B": "wiki-Vote", "C": "wiki-Vote"}).summary())
"""

from typing import TYPE_CHECKING

from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.gv_reader import graph_from_text, read_gv
from fiberscope.models.graphs.gv_writer import gv_text, write_gv
from fiberscope.models.graphs.netlist import Graph, Node, Stream
from fiberscope.workloads.first_use import imported_at_first_use

if TYPE_CHECKING:
    from fiberscope.models.graphs.compiler.compile import CompiledExpression, compile_expression
    from fiberscope.models.graphs.execution import run

__all__ = [
    "CompiledExpression",
    "Graph",
    "Node",
    "Stream",
    "check",
    "compile_expression",
    "graph_from_text",
    "gv_text",
    "read_gv",
    "run",
    "write_gv",
]

_COMPILER = "fiberscope.models.graphs.compiler.compile"
_HOMES = {
    "CompiledExpression": _COMPILER,
    "compile_expression": _COMPILER,
    "run": "fiberscope.models.graphs.execution",
}

__getattr__ = imported_at_first_use(__name__, _HOMES)
