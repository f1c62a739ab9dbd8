"""The tables of ``fiberscope compare sam``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.results.report.table import Table

if TYPE_CHECKING:
    from published.sam_experiments import Claim, Measured

__all__ = ["experiment_tables"]


def experiment_tables(runs: Sequence[Measured], claims: Sequence[Claim]) -> list[Table]:
    """The cycles of each figure, a row an input and a column a graph; and what the text claims of them."""
    tables = []
    for figure in dict.fromkeys(one.figure for one in runs):
        of_figure = [one for one in runs if one.figure == figure]
        graphs = list(dict.fromkeys(one.graph for one in of_figure))
        published = {one.input: one.published for one in of_figure if one.published is not None}
        table = Table(f"Figure {figure}: cycles", ("input", *graphs, *(("published",) if published else ())))
        for told in dict.fromkeys(one.input for one in of_figure):
            cycles = {one.graph: one.cycles for one in of_figure if one.input == told}
            theirs = [f"{published[told]:,}"] if published else []
            table.add(told, *(f"{cycles[graph]:,}" for graph in graphs), *theirs)
        tables.append(table)
    said = Table("Claims of the text", ("figure", "claim", "measured", "criterion", "holds"), labels=5)
    for claim in claims:
        said.add(claim.figure, claim.text, claim.measured, claim.criterion, "yes" if claim.holds else "NO")
    return [*tables, said]
