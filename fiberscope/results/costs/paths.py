"""Longest paths of logic of RTL in cells of 45 nm, as far as netlists that were measured bound them."""

from __future__ import annotations

from dataclasses import dataclass

from fiberscope.results.costs.cost import Basis
from fiberscope.results.costs.laws import not_larger
from fiberscope.results.costs.netlists import PRICED

__all__ = ["SPEEDUPS", "LogicPath", "find_path"]

# Paths in osu018 over those of the same Verilog in nangate45, at least and at most (docs/rtl.md).
SPEEDUPS = 3.1, 5.1


@dataclass(frozen=True)
class LogicPath:
    """The longest path of logic of a netlist in cells of 45 nm, without wires and flip-flops.

    Args:
        ns: its length, at least.
        basis: ``measured`` if the netlist was measured in these cells, ``law`` if others bound its path.
        source: the netlist and the cells that were measured.
    """

    ns: float
    basis: Basis
    source: str


def find_path(call: str) -> LogicPath | None:
    """Return the path of a netlist; None without a measurement of its block.

    A smaller size of the same block, by the law of its area, has a path that is not longer. Of a netlist in
    other cells the shortest path that the ratio of both libraries allows counts.
    """
    paths = [
        LogicPath(row.path_ns, "measured" if row.call == call else "law", f"{row.library}: {row.call}")
        if row.library == PRICED
        else LogicPath(row.path_ns / SPEEDUPS[1], "law", f"{row.library} over {SPEEDUPS[1]:g}: {row.call}")
        for row in not_larger(call)
    ]
    measured = [path for path in paths if path.basis == "measured"]
    return max(measured or paths, key=lambda path: path.ns, default=None)
