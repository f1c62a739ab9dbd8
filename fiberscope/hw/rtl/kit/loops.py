"""Combinational paths through modules, and loops that wires between modules create.

A path is combinational if no register is on it, so that the output follows the input in the same cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import pyrtl

from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.twin import Signal


@lru_cache(maxsize=256)
def paths(block: RtlBlock, parameters: Parameters) -> Mapping[str, frozenset[str]]:
    """Return the inputs on which each output of a block depends within a cycle.

    Args:
        block: a block with logic in PyRTL.

    Returns:
        The names of the input wires, by name of the output wire.
    """
    twin = block.twin(parameters)
    sources, _ = twin.block.net_connections()
    outputs = twin.block.wirevector_subset(pyrtl.Output)
    return {output.name: frozenset(_cone(sources, output)) for output in outputs}


def _cone(sources: Mapping[Signal, Signal], wire: Signal) -> Iterable[str]:
    """Yield the inputs and constants before a wire, up to registers. Paths go through memories' reads."""
    seen, ahead = set(), [wire]
    while ahead:
        wire = ahead.pop()
        if wire in seen:
            continue
        seen.add(wire)
        net = sources.get(wire)
        if net is None:
            yield wire.name
        elif net.op != "r":
            ahead += net.args


def loop_of(follows: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the nodes of a cycle of a graph, the smallest first; none if the graph is acyclic.

    Args:
        follows: the successors of each node.
    """
    done: set[str] = set()
    for start in follows:
        # depth-first search without recursion: the nodes of the path, and the successors left at each
        path: list[str] = []
        trail = [iter([start])]
        while trail:
            node = next(trail[-1], None)
            if node is None:
                trail.pop()
                done.update(path[-1:])
                del path[-1:]
            elif node in path:
                loop = path[path.index(node) :]
                first = loop.index(min(loop))
                return loop[first:] + loop[:first]
            elif node not in done:
                path.append(node)
                trail.append(iter(follows.get(node, ())))
    return []
