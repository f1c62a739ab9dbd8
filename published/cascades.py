"""Cascades of TeAAL as stream graphs, traces of specifications, and hand-written machines.

    python published/cascades.py [MATRIX [MACHINE ...]]

Without a matrix, a small random matrix is used. The graph has unbounded channels, and is run as lowered and
with the rewrites ``locate`` and ``dead-droppers``.
"""

from __future__ import annotations

import sys

from fiberscope.explore.tables import simulate_to_end
from fiberscope.models.graphs import run
from fiberscope.models.graphs.compiler.cascades import build_cascade_graph, count_additions
from fiberscope.models.graphs.rewrites import apply_rewrites
from fiberscope.models.trace.api import load_outline, model
from fiberscope.results.errors import refuse_interrupted

MACHINES = ("gamma", "outerspace", "extensor")
RANDOM = "uniform:rows=200,cols=200,nonzeros=1200,seed=1"
REWRITES = ("locate", "dead-droppers")


def rows(name: str, matrix: str) -> list[str]:
    """Return a machine's rows of the table: the counts and cycles of each model."""
    graph = build_cascade_graph(load_outline(name, {})).graph
    operands, unbounded = {"A": matrix, "B": matrix}, {"depth": 0}
    figures = []
    for title, variant in (("graph", graph), ("graph, rewritten", apply_rewrites(graph, REWRITES))):
        report = refuse_interrupted(run(variant, operands, unbounded))
        figures.append((title, report.operations["multiply"], count_additions(report), report.cycles))
    trace = refuse_interrupted(model(name, matrix))
    for title, report in (("trace", trace), ("machine", simulate_to_end(name, matrix))):
        counts = report.operations
        figures.append((title, counts["multiply"], counts.get("add", 0), report.cycles))
    return [f"| {name} | {title} | {m:,} | {a:,} | {c:,} |" for title, m, a, c in figures]


def main(matrix: str = RANDOM, *machines: str) -> None:
    """Print the table."""
    print("| cascade | as | multiplies | additions | cycles |")
    print("| --- | --- | --- | --- | --- |")
    for name in machines or MACHINES:
        print("\n".join(rows(name, matrix)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
