"""Lookahead: mergers, intersectors of pairs, and the blocks behind each may run ahead of the clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from typing import TypeAlias

from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.fiber_pairs import FiberPairs
from fiberscope.hw.streams.fused_layout import CLASSES, can_fuse
from fiberscope.hw.streams.merged_points import MergedPoints
from fiberscope.hw.streams.merger_lookahead import FiberWayLookahead
from fiberscope.hw.streams.pairs_lookahead import PairsLookahead
from fiberscope.hw.streams.ways import FiberWays
from fiberscope.sim import Component
from fiberscope.sim.lookahead import LookaheadKernel
from fiberscope.sim.wiring import Link

# The block before a merger, the merger, and the block after it.
Merge: TypeAlias = tuple[FiberWays, Component, MergedPoints]
LinksByComponent: TypeAlias = Mapping[str, Sequence[Link]]  # links by the name of a component


def add_lookaheads(
    kernel: LookaheadKernel, merges: Sequence[Merge], intersectors: Sequence[FiberPairs] = ()
) -> None:
    """Let mergers and intersectors of pairs run ahead, each with the blocks after it that can run ahead too.

    An intersector runs cycle by cycle if it has another clock than the first, if an output crosses clocks by
    a bounded channel, or if ``can_fuse`` refuses its blocks.

    Args:
        kernel: kernel of the machine, with all connections, and not yet built.
        merges: the mergers, each with the block before and the block after it.
        intersectors: the intersectors of pairs.

    Raises:
        AssertionError: a merger is a part of the user's own.
    """
    incoming: dict[str, list[Link]] = defaultdict(list)
    outgoing: dict[str, list[Link]] = defaultdict(list)
    for link in kernel.wiring.connections:
        incoming[link.consumer.component.name].append(link)
        outgoing[link.producer.component.name].append(link)
    for feeder, merger, follower in merges:
        assert isinstance(merger, HighRadixMerger)
        blocks = _find_downstream_blocks(follower, incoming, outgoing)
        kernel.add_lookahead(
            FiberWayLookahead(feeder, merger, blocks, _collect_links(blocks, incoming, outgoing))
        )
    for intersector in intersectors:
        if intersector._clock is kernel.clocks[0] and all(map(_ends_may_diverge, outgoing[intersector.name])):
            blocks = _find_downstream_blocks(intersector, incoming, outgoing, CLASSES)
            links = _collect_links(blocks, incoming, outgoing)
            if can_fuse(blocks, links):
                kernel.add_lookahead(PairsLookahead(blocks, links))


def _collect_links(
    blocks: Sequence[StreamBlock], incoming: LinksByComponent, outgoing: LinksByComponent
) -> list[Link]:
    """Return the links into and out of blocks, without duplicates."""
    return list({link: None for block in blocks for link in (*incoming[block.name], *outgoing[block.name])})


def _ends_may_diverge(link: Link) -> bool:
    """Return whether one end of a link may run ahead: its ends share a clock or its channel has no bound."""
    return link.producer.component._clock is link.consumer.component._clock or not link.channel.bounded


def _find_downstream_blocks(
    first: StreamBlock,
    incoming: LinksByComponent,
    outgoing: LinksByComponent,
    classes: Container[type] | None = None,
) -> list[StreamBlock]:
    """Return a block and the blocks of its clock that receive streams from no block outside the result.

    Each block follows the blocks that feed it. No block but ``first`` may send into another clock through
    a bounded channel. With ``classes``, all blocks but ``first`` are of these classes.
    """
    blocks: list[StreamBlock] = [first]
    names = {first.name}
    for block in blocks:  # the list grows meanwhile: a block is visited after those that feed it
        for link in outgoing[block.name]:
            reader = link.consumer.component
            if reader.name in names or not isinstance(reader, StreamBlock):
                continue
            if classes is not None and type(reader) not in classes:
                continue
            has_all_inputs = all(link.producer.component.name in names for link in incoming[reader.name])
            if (
                has_all_inputs
                and reader._clock is first._clock
                and all(map(_ends_may_diverge, outgoing[reader.name]))
            ):
                blocks.append(reader)
                names.add(reader.name)
    return blocks
