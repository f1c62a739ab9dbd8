"""The blocks that have twins, by name; the file of each has its parameters, ports, design and stand-in."""

from __future__ import annotations

from collections.abc import Mapping

from hw.rtl import (
    accumulator,
    adder_network,
    allocator,
    bank,
    benes,
    bitmap,
    bitmap_intersector,
    channel,
    divider,
    intersector,
    merge_tree,
    merger,
    prefix_sum,
    sorted_head,
)
from hw.rtl.kit.block import RtlBlock

BLOCKS: Mapping[str, RtlBlock] = {
    block.name: block
    for block in (
        merger.BLOCK,
        bank.BLOCK,
        merge_tree.BLOCK,
        channel.BLOCK,
        prefix_sum.BLOCK,
        divider.BLOCK,
        adder_network.BLOCK,
        benes.BLOCK,
        bitmap.REGOR,
        bitmap.PREFIX_POPCOUNT,
        sorted_head.BLOCK,
        accumulator.BLOCK,
        allocator.BUMP_ALLOCATOR,
        allocator.NODE_WRITER,
        intersector.TWO_FINGER,
        intersector.SKIP_AHEAD,
        bitmap_intersector.BLOCK,
    )
}
