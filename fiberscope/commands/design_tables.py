"""Tables of the designs of a machine, for ``fiberscope compare``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.results.report.surrogates import SURROGATE
from fiberscope.results.report.table import Table

if TYPE_CHECKING:
    from fiberscope.explore.speedups import Designs, SpeedupRow


def design_tables(runs: Sequence[SpeedupRow], designs: Designs) -> list[Table]:
    """Return tables of speed-ups with iterations, of edges per nanosecond, and of published values.

    Args:
        runs: a graph and a problem on all designs, each a row of the first two tables.
        designs: the designs; speed-ups are over the first.
    """
    baseline, *compared = designs.designs
    columns = ("Graph", "Problem", "Iterations", f"{baseline}, cycles", *compared)
    speedup_table = Table(f"Speed-up over {baseline}", columns, labels=2)
    rate_table = Table("Edges visited in a nanosecond", ("Graph", "Problem", *designs.designs), labels=2)
    for run in runs:
        speedups = run.speedups
        cycles = f"{run.cycles[baseline]:,}"
        cells = [f"{speedups[name]:.2f}" for name in compared]
        graph = name_with_source(run.workload, run.source)
        speedup_table.add(graph, run.problem, f"{run.iterations:,}", cycles, *cells)
        rate_table.add(graph, run.problem, *(f"{run.edges_per_ns[name]:.2f}" for name in designs.designs))
    published = Table("Published", ("Design", "over", "what", "value", "source"), labels=5)
    for ratio in designs.published:
        published.add(ratio.design, ratio.over, ratio.what, ratio.value, " ".join(ratio.source.split()))
    return [speedup_table, rate_table, published]


def name_with_source(name: str, source: str) -> str:
    """Return the name of a workload, marked if it is a surrogate."""
    return f"{name} ({source.upper()})" if source == SURROGATE else name
