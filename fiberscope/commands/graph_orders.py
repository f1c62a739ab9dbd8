"""``fiberscope graph orders`` and ``cascade``: loop orders by estimated cost, and graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fiberscope.commands.graph_source import Expression, Formats, GraphFile, Tensors, tensors_by_name
from fiberscope.commands.options import Exact, Settings
from fiberscope.results.report.files import check_outputs

_Specification = Annotated[
    str,
    typer.Argument(
        metavar="SPECIFICATION", help="Specification: gamma, outerspace, extensor, or a YAML file."
    ),
]


def orders(
    expression: Expression, tensors: Tensors = None, formats: Formats = None, exact: Exact = False
) -> None:
    """Estimate the cycles of every order of an expression's loops.

    The estimate uses statistics of the tensors, runs nothing, and is a guess. Operands whose format names no
    order of levels (C:ss, not C:ss:10) are stored as each order requires. --order auto takes the first order
    of the list.

    \b
    Examples:
      fiberscope graph orders "x(i) = B(i,j) * c(j)" --format x:s,B:ss,c:s B=wiki-Vote c=ones
    """
    from fiberscope.commands.output import show
    from fiberscope.models.graphs.compiler.choice import build_candidates_table, list_text_candidates

    orders_by_cost = list_text_candidates(expression, formats or [], tensors_by_name(tensors), exact=exact)
    show([build_candidates_table(orders_by_cost)], markdown=False)
    print(f"Choice: {','.join(orders_by_cost[0].order)} (a guess from statistics, not a run)")


def cascade(specification: _Specification, settings: Settings = None, output: GraphFile = None) -> None:
    """Write the Einsums of a specification as a graph.

    Each Einsum is a phase of the graph, in the specified order of loops.

    \b
    Examples:
      fiberscope graph cascade gamma -o gamma.gv
    """
    from fiberscope.accelerators.configuration import parse_settings
    from fiberscope.models.graphs.compiler.cascades import build_cascade_graph
    from fiberscope.models.graphs.gv_writer import write_gv
    from fiberscope.models.trace.api import load_outline

    path = output or Path(f"{Path(specification).stem}.gv")
    check_outputs({"the graph": path}, {})
    graph = build_cascade_graph(load_outline(specification, parse_settings(settings or [])))
    write_gv(graph.graph, path)
    for name, order in graph.orders.items():
        print(f"{name}: loops {','.join(order)}")
    for sentence in graph.left_out:
        print(f"Left out: {sentence}")
    print(f"Written: {path}")
