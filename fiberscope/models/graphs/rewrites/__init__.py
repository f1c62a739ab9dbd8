"""Rewrites of graphs, by name: each makes another graph that computes the same with fewer blocks or tokens.

>>> from fiberscope.models.graphs.gv_reader import read_gv
>>> from fiberscope.models.graphs.rewrites import rewritten
>>> rewritten(read_gv("examples/graphs/spmv.gv"), ["locate"]).counts()["intersect"]
1
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.netlist import Graph
from fiberscope.models.graphs.rewrites.common import common_scanners
from fiberscope.models.graphs.rewrites.droppers import dead_droppers
from fiberscope.models.graphs.rewrites.joiners import nary_joiners
from fiberscope.models.graphs.rewrites.locate import locate
from fiberscope.models.graphs.rewrites.scalars import scalar_broadcast
from fiberscope.workloads.errors import nearest

__all__ = ["ALL", "REWRITES", "rewrites_named", "rewritten"]

ALL = "all"
REWRITES: Mapping[str, Callable[[Graph], Graph]] = {  # in this order: each finds more behind those before it
    "common-scanners": common_scanners,
    "nary-joiners": nary_joiners,
    "locate": locate,
    "scalar-broadcast": scalar_broadcast,
    "dead-droppers": dead_droppers,
}


def rewrites_named(text: str) -> list[str]:
    """The names in a list with commas; of ``all`` every one.

    Raises:
        InputError: there is no such rewrite.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in (*REWRITES, ALL):
            raise InputError(f"there is no rewrite {name!r}; {nearest(name, (*REWRITES, ALL))}")
    return list(REWRITES) if ALL in names else names


def rewritten(graph: Graph, names: Iterable[str] = tuple(REWRITES)) -> Graph:
    """A graph after these rewrites, one after the other; the one given stays as it is."""
    for name in names:
        graph = REWRITES[name](graph)
    return graph
