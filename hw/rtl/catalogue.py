"""The blocks that have twins, by name; the file of each has its parameters, ports, design and stand-in."""

from __future__ import annotations

from collections.abc import Mapping

from hw.rtl import bank, bitmap_intersector, channel, divider, intersector, merge_tree, merger, prefix_sum
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
        intersector.TWO_FINGER,
        intersector.SKIP_AHEAD,
        bitmap_intersector.BLOCK,
    )
}
