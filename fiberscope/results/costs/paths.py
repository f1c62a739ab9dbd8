"""Longest paths of logic of RTL blocks in cells of 45 nm, bounded by measured netlists."""

from __future__ import annotations

from dataclasses import dataclass

from fiberscope.results.costs.cost import Basis
from fiberscope.results.costs.laws import iterate_netlists_up_to
from fiberscope.results.costs.netlists import PRICED

# Ratio of a path in osu018 to the path of the same Verilog in nangate45, minimum and maximum (docs/rtl.md).
SPEEDUPS = 3.1, 5.1


@dataclass(frozen=True)
class LogicPath:
    """The longest path of logic of a netlist in cells of 45 nm, without wires and flip-flops.

    Args:
        ns: a lower bound of the length.
        basis: ``measured`` if the netlist was measured in these cells, ``law`` if other netlists bound the
            path.
        source: the measured netlist and its cells.
    """

    ns: float
    basis: Basis
    source: str


def find_path(call: str) -> LogicPath | None:
    """Return a lower bound of the path of a netlist; None without a measurement of its block.

    A smaller size of the same block, by the law of its area, has a path of at most the same length. The path
    of a netlist in other cells is divided by the largest ratio of both libraries.
    """
    paths = [
        LogicPath(row.path_ns, "measured" if row.call == call else "law", f"{row.library}: {row.call}")
        if row.library == PRICED
        else LogicPath(row.path_ns / SPEEDUPS[1], "law", f"{row.library} over {SPEEDUPS[1]:g}: {row.call}")
        for row in iterate_netlists_up_to(call)
    ]
    measured = [path for path in paths if path.basis == "measured"]
    return max(measured or paths, key=lambda path: path.ns, default=None)
