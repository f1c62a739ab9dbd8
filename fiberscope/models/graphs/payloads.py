"""Bits of coordinates and references in the Verilog of a graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.counter import Counter
from fiberscope.hw.streams.dense import DenseScanner
from fiberscope.hw.streams.lane_seek import LaneSeek
from fiberscope.hw.streams.locator import DenseLocator
from fiberscope.hw.streams.seek import Seek
from fiberscope.hw.streams.tokens_rtl import LEVEL_BITS
from fiberscope.hw.streams.ways import FiberWays
from fiberscope.models.graphs.netlist import Node
from fiberscope.sim import Component


def count_payload_bits(nodes: Iterable[Node], blocks: Mapping[str, Component]) -> int:
    """Return the bits that fit all coordinates, references and stop levels.

    Args:
        nodes: nodes of the graph; each has a block.
        blocks: the blocks, by name of the node.
    """
    largest = 1 << LEVEL_BITS - 1
    for block in blocks.values():
        levels = [block.level] if isinstance(block, CompressedScanner | Seek | LaneSeek) else []
        levels += [block.other] if isinstance(block, LaneSeek) else []
        for level in levels:
            largest = max(largest, level.fibers, level.begin(level.fibers), *level.coordinates)
        if isinstance(block, Counter | ArrayLoad):
            largest = max(largest, block.size)
        elif isinstance(block, FiberWays):
            largest = max(largest, len(block.segments), len(block.coordinates), *block.coordinates)
    return max([largest, *_iterate_dense_references(nodes, blocks)]).bit_length()


def _iterate_dense_references(nodes: Iterable[Node], blocks: Mapping[str, Component]) -> Iterator[int]:
    """Yield a bound of the references of each tensor with dense levels: the product of its levels' sizes."""
    levels: dict[str, dict[str, int]] = {}
    for node in nodes:
        block = blocks[node.name]
        if isinstance(block, DenseScanner | DenseLocator):
            levels.setdefault(node["tensor"], {})[node["mode"]] = block.size
        elif isinstance(block, CompressedScanner):
            levels.setdefault(node["tensor"], {})[node["mode"]] = block.level.begin(block.level.fibers)
    return (math.prod(max(1, size) for size in sizes.values()) for sizes in levels.values())
