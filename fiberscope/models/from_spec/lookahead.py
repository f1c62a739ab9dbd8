"""Blocks of a mapped machine that run ahead of the clock, each group behind a merger or a ``FiberPairs``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.chain_lookahead import ChainLookahead
from fiberscope.hw.streams.fiber_pairs import FiberPairs
from fiberscope.hw.streams.merged_points import MergedPoints
from fiberscope.hw.streams.merger_lookahead import FiberWayLookahead
from fiberscope.hw.streams.ways import FiberWays
from fiberscope.sim import Component
from fiberscope.sim.lookahead import LookaheadKernel
from fiberscope.sim.wiring import Link

__all__ = ["Merge", "add_lookaheads"]

Merge: TypeAlias = tuple[FiberWays, Component, MergedPoints]  # what feeds a merger, it, and what follows it
Links: TypeAlias = Mapping[str, Sequence[Link]]  # by a component's name


def add_lookaheads(
    kernel: LookaheadKernel, merges: Sequence[Merge], heads: Sequence[FiberPairs] = ()
) -> None:
    """Have mergers and intersectors of pairs run ahead, each with the blocks behind it that can.

    Raises:
        AssertionError: one of the mergers is a part of one's own.
    """
    into: dict[str, list[Link]] = defaultdict(list)
    out_of: dict[str, list[Link]] = defaultdict(list)
    for link in kernel.wiring.connections:
        into[link.consumer.component.name].append(link)
        out_of[link.producer.component.name].append(link)
    for ways, merger, points in merges:
        assert isinstance(merger, HighRadixMerger)
        blocks = _fed(points, into, out_of)
        kernel.add_lookahead(FiberWayLookahead(ways, merger, blocks, _links(blocks, into, out_of)))
    for head in heads:
        if all(map(_may_cross, into[head.name])):
            blocks = _fed(head, into, out_of)
            kernel.add_lookahead(ChainLookahead(blocks, _links(blocks, into, out_of)))


def _links(blocks: Sequence[StreamBlock], into: Links, out_of: Links) -> list[Link]:
    """Return the links of blocks, each once."""
    return list({link: None for block in blocks for link in (*into[block.name], *out_of[block.name])})


def _may_cross(link: Link) -> bool:
    """Return whether one end of a link may be ahead: both are in one clock, or no slots are waited for."""
    return link.producer.component._clock is link.consumer.component._clock or not link.channel.bounded


def _fed(first: StreamBlock, into: Links, out_of: Links) -> list[StreamBlock]:
    """A block, and those in its clock that it and each other feed alone, each behind those that feed it.

    None of them sends anything into another clock through a channel with a bound.
    """
    blocks: list[StreamBlock] = [first]
    names = {first.name}
    for block in blocks:
        for link in out_of[block.name]:
            reader = link.consumer.component
            if reader.name in names or not isinstance(reader, StreamBlock):
                continue
            fed = all(link.producer.component.name in names for link in into[reader.name])
            if fed and reader._clock is first._clock and all(map(_may_cross, out_of[reader.name])):
                blocks.append(reader)
                names.add(reader.name)
    return blocks
