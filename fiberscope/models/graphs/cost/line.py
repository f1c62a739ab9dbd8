"""An estimate as a line, and as a table of streams."""

from __future__ import annotations

from fiberscope.models.graphs.cost.estimate import Estimate
from fiberscope.models.graphs.netlist import Graph
from fiberscope.report.table import Table

__all__ = ["cost_line", "cost_table"]


def cost_line(graph: Graph, found: Estimate) -> str:
    """What is expected in all, and of which block the most."""
    return (
        f"Expected: {found.tokens:,.0f} tokens, about {found.cycles:,.0f} cycles, most of them of "
        f"{graph.nodes[found.busiest]} (a guess from statistics, not a run)"
    )


def cost_table(graph: Graph, found: Estimate) -> Table:
    """Of each stream the tokens that are expected."""
    table = Table("Expected tokens", ("stream", "data", "stops", "empties"))
    for (name, output), stream in found.streams.items():
        counts = (stream.count, stream.stops, stream.missing)
        table.add(f"{graph.nodes[name].label} {output}", *(f"{count:,.0f}" for count in counts))
    return table
