"""Rewrites of graphs, by name: each returns an equivalent graph with fewer blocks or tokens.

>>> from fiberscope.models.graphs.gv_reader import read_gv
>>> from fiberscope.models.graphs.rewrites import apply_rewrites
>>> apply_rewrites(read_gv("examples/graphs/spmv.gv"), ["locate"]).counts()["intersect"]
1
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.netlist import Graph
from fiberscope.models.graphs.rewrites.common import merge_common_scanners
from fiberscope.models.graphs.rewrites.droppers import remove_dead_droppers
from fiberscope.models.graphs.rewrites.joiners import merge_joiners
from fiberscope.models.graphs.rewrites.locate import locate
from fiberscope.models.graphs.rewrites.scalars import fold_scalar_broadcasts
from fiberscope.workloads.errors import suggest

__all__ = ["ALL", "REWRITES", "apply_rewrites", "parse_rewrites"]

ALL = "all"
REWRITES: Mapping[str, Callable[[Graph], Graph]] = {  # in the order of application
    "common-scanners": merge_common_scanners,
    "nary-joiners": merge_joiners,
    "locate": locate,
    "scalar-broadcast": fold_scalar_broadcasts,
    "dead-droppers": remove_dead_droppers,
}


def parse_rewrites(text: str) -> list[str]:
    """Return the names in a comma-separated list; ``all`` stands for all rewrites.

    Raises:
        InputError: a rewrite is unknown.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in (*REWRITES, ALL):
            raise InputError(f"there is no rewrite {name!r}; {suggest(name, (*REWRITES, ALL))}")
    return list(REWRITES) if ALL in names else names


def apply_rewrites(graph: Graph, names: Iterable[str] = tuple(REWRITES)) -> Graph:
    """Return a graph after these rewrites, applied in order; the argument does not change.

    The result is the argument itself without names, or with ``dead-droppers`` alone and no dead dropper.

    Args:
        graph: a checked graph.
        names: names of rewrites, keys of ``REWRITES``, as ``parse_rewrites`` returns them.
    """
    for name in names:
        graph = REWRITES[name](graph)
    return graph
