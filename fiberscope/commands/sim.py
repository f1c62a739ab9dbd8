"""``fiberscope sim``: one run, its progress, its report and its summary."""

from __future__ import annotations

from functools import partial

from fiberscope.commands.options import Accelerator, Matrix, SecondMatrix
from fiberscope.commands.run_options import Simulated
from fiberscope.commands.taking import taking
from fiberscope.report.files import matrices

__all__ = ["sim"]


@taking()
def sim(accelerator: Accelerator, matrix: Matrix, asked: Simulated, b: SecondMatrix = None) -> int:
    """Simulate A times A, or A times B, on an accelerator; the product is verified against scipy.

    \b
    Examples:
      fiberscope sim gamma wiki-Vote --set pe.count=64 --set fibercache.size=1536KiB
      fiberscope sim gamma a.mtx --b b.mtx --json out.json
      fiberscope sim gamma uniform:rows=1000,cols=1000,nonzeros=5000
      fiberscope sim gamma wiki-Vote --vcd out.vcd --vcd-window 1000:5000
      fiberscope sim gamma wiki-Vote --vcd out.fst --vcd-trigger 'pe00 busy > 99'
    """
    from fiberscope.runs import Simulation

    factors = (matrix,) if b is None else (matrix, b)
    return asked.ended(asked.simulate(partial(Simulation, accelerator, factors), matrices(matrix, b)))
