"""The blocks that have twins, by name; the file of each has its parameters, ports, design and stand-in."""

from __future__ import annotations

from collections.abc import Mapping

from hw.rtl import (
    accumulator,
    adder_network,
    allocator,
    atomic_update,
    bank,
    benes,
    bitmap,
    bitmap_intersector,
    channel,
    cluster_counter,
    comparator_bank,
    counter_banks,
    divider,
    intersector,
    islip,
    merge_tree,
    merger,
    packer,
    position_multiplier,
    prefetch,
    prefix_sum,
    sorted_head,
    sorting_network,
    touched,
)
from hw.rtl.kit.block import RtlBlock
from hw.rtl.streams import dropper, fiber_reducer, joiner, repeater, scanner, stop_dropper, values, writer

BLOCKS: Mapping[str, RtlBlock] = {
    block.name: block
    for block in (
        merger.BLOCK,
        bank.BLOCK,
        merge_tree.BLOCK,
        channel.BLOCK,
        prefix_sum.BLOCK,
        divider.BLOCK,
        sorting_network.BLOCK,
        cluster_counter.BLOCK,
        comparator_bank.BLOCK,
        position_multiplier.BLOCK,
        packer.BLOCK,
        counter_banks.BLOCK,
        adder_network.BLOCK,
        benes.BLOCK,
        bitmap.REGOR,
        bitmap.PREFIX_POPCOUNT,
        sorted_head.BLOCK,
        accumulator.BLOCK,
        allocator.BUMP_ALLOCATOR,
        allocator.NODE_WRITER,
        atomic_update.BLOCK,
        islip.BLOCK,
        touched.BLOCK,
        prefetch.BLOCK,
        intersector.TWO_FINGER,
        intersector.SKIP_AHEAD,
        bitmap_intersector.BLOCK,
        scanner.BLOCK,
        repeater.GENERATOR,
        repeater.REPEATER,
        joiner.INTERSECT,
        joiner.UNION,
        values.ARRAY,
        values.ALU,
        values.REDUCER,
        fiber_reducer.BLOCK,
        dropper.BLOCK,
        stop_dropper.BLOCK,
        writer.COMPRESSED,
        writer.VALUES,
    )
}
