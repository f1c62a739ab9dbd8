"""Tables of the designs of a machine, for ``fiberscope compare``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fiberscope.results.report.table import Table

if TYPE_CHECKING:
    from fiberscope.explore.speedups import Designs, SpeedupRow


def design_tables(runs: Sequence[SpeedupRow], table: Designs) -> list[Table]:
    """Return tables of speed-ups with iterations, of edges per nanosecond, and of published values."""
    first, *others = table.designs
    faster = Table(
        f"Speed-up over {first}", ("Graph", "Problem", "Iterations", f"{first}, cycles", *others), labels=2
    )
    rates = Table("Edges visited in a nanosecond", ("Graph", "Problem", *table.designs), labels=2)
    for run in runs:
        speedups = run.speedups
        cycles = f"{run.cycles[first]:,}"
        cells = [f"{speedups[name]:.2f}" for name in others]
        faster.add(_name(run), run.problem, f"{run.iterations:,}", cycles, *cells)
        rates.add(_name(run), run.problem, *(f"{run.edges_per_ns[name]:.2f}" for name in table.designs))
    published = Table("Published", ("Design", "over", "what", "value", "source"), labels=5)
    for ratio in table.published:
        published.add(ratio.design, ratio.over, ratio.what, ratio.value, " ".join(ratio.source.split()))
    return [faster, rates, published]


def _name(run: SpeedupRow) -> str:
    return run.workload if run.source != "surrogate" else f"{run.workload} ({run.source.upper()})"
