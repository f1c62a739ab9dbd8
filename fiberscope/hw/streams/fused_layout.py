"""Layout of the records of a fused chain (``fiberscope.hw.streams.fused_records``)."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.fiber_pairs import FiberPairs
from fiberscope.hw.streams.fused_records import (
    BLOCK,
    BOUND,
    BOUNDS,
    CAPACITY,
    CHANNEL,
    CLASS,
    DUE,
    END,
    FIRST_INPUT,
    FOLLOWING,
    INPUT,
    INPUTS,
    LAST,
    LATENCY,
    LOAD,
    MASK,
    MOST_STREAMS,
    NEXT,
    NUMBER,
    OUTPUT,
    OUTPUTS,
    PAIRS,
    POINTS,
    PRODUCT,
    READER_STATE,
    REDUCE,
    SINK,
    SLOT_BITS,
    SLOTS,
    STATE,
    UNBOUNDED_SLOTS,
    WRITER,
    WRITER_STATE,
)
from fiberscope.hw.streams.reduce import FiberReduce
from fiberscope.hw.streams.task_cut import TaskEnd
from fiberscope.hw.streams.task_sum import TaskPoints
from fiberscope.sim import Channel
from fiberscope.sim.constants import IDLE, MAX_TIME
from fiberscope.sim.wiring import Link

CLASSES: Mapping[type, int] = {
    FiberPairs: PAIRS, ArrayLoad: LOAD, Alu: PRODUCT, FiberReduce: REDUCE, TaskPoints: POINTS, TaskEnd: END
}  # fmt: skip


def can_fuse(blocks: Sequence[StreamBlock], links: Sequence[Link]) -> bool:
    """Return whether ``FusedChain`` can replace a chain.

    The chain needs at least two blocks, at most one ``TaskEnd``, records with room for all streams, and a
    bound of each channel between its blocks that does not end at a ``TaskEnd``.

    Args:
        blocks: a ``FiberPairs``, and blocks of the classes in ``CLASSES`` that it feeds.
        links: the links into and out of these blocks.
    """
    names = {block.name for block in blocks}
    inputs = Counter(link.consumer.component.name for link in links)
    outputs = Counter(link.producer.component.name for link in links)
    # A channel without a bound may hold any number of tokens; only a ``TaskEnd`` pops each at its arrival.
    has_bounds = all(
        link.channel.bounded or isinstance(link.consumer.component, TaskEnd)
        for link in links
        if link.producer.component.name in names and link.consumer.component.name in names
    )
    return (
        has_bounds
        and len(blocks) > 1
        and sum(isinstance(block, TaskEnd) for block in blocks) <= 1
        and max(inputs[name] for name in names) <= MOST_STREAMS
        and max(outputs[name] for name in names) <= MOST_STREAMS
    )


def lay_out(blocks: Sequence[StreamBlock], links: Sequence[Link]) -> tuple[array[int], list[Channel], int]:
    """Create the records of a chain: those of the blocks, in their order, then those of the channels.

    Args:
        blocks: the blocks, writers before readers.
        links: the links into and out of these blocks.

    Returns:
        The words; the channels to components outside of the chain; and the record of the channel at which a
        ``TaskEnd`` reports, 0 for none.
    """
    numbers = {block.name: number for number, block in enumerate(blocks)}
    # Blocks come first, so that no channel has the record 0, which means "none" in the links of channels.
    words = array("q", bytes(8 * BLOCK * len(blocks)))
    sinks: list[Channel] = []
    records: dict[int, int] = {}  # first word of each channel's record, by the identity of the channel
    for link in links:
        writer = numbers.get(link.producer.component.name)
        if writer is not None:
            records[id(link.channel)] = len(words)
            sink = len(sinks) if link.consumer.component.name not in numbers else -1
            # The simulator's own channel replaces the ring of a channel to a component outside.
            sinks += [link.channel] if sink >= 0 else []
            _append_channel(words, link.channel, BLOCK * writer, sink)
    # The channels form a linked list, which ends with 0.
    starts = [*records.values(), 0]
    for record, following in pairwise(starts):
        words[record + FOLLOWING] = following
    for number, block in enumerate(blocks):
        _fill_block(words, block, number, records)
    ended = [records[id(block.ended)] for block in blocks if isinstance(block, TaskEnd)]
    return words, sinks, ended[0] if ended else 0


def _append_channel(words: array[int], channel: Channel, writer: int, sink: int) -> None:
    """Append the record of a channel, and its ring unless it leads out of the chain."""
    record = array("q", bytes(8 * CHANNEL))
    # A ring has a power of two of slots, so that ``MASK`` gives the slot of a token number.
    # A bounded channel never holds more tokens than slots. See ``UNBOUNDED_SLOTS`` for one without a bound.
    slots = 1 << (channel.capacity - 1).bit_length() if channel.bounded else UNBOUNDED_SLOTS
    record[CAPACITY] = channel.capacity if channel.bounded else MAX_TIME
    record[SLOTS] = len(words) + CHANNEL
    record[MASK] = slots - 1
    record[LATENCY] = channel.latency
    record[READER_STATE], record[WRITER_STATE] = channel.reader_state, channel.writer_state
    record[WRITER] = writer
    record[SINK] = sink
    words.extend(record)
    words.extend(array("q", bytes(8 * (slots << SLOT_BITS if sink < 0 else 0))))


def _fill_block(words: array[int], block: StreamBlock, number: int, records: Mapping[int, int]) -> None:
    """Fill the record of a block, and chain the channels of each of its output streams."""
    record = BLOCK * number
    words[record + CLASS] = CLASSES[type(block)]
    words[record + NUMBER] = number
    words[record + DUE] = MAX_TIME
    words[record + STATE] = IDLE
    words[record + LAST] = words[record + FIRST_INPUT] = -1
    # The first block's inputs come from components outside, and have no records.
    inputs = [records[id(channel)] for channel in block.inputs if id(channel) in records]
    words[record + INPUTS] = len(inputs)
    words[record + OUTPUTS] = len(block.streams)
    for index, channel_record in enumerate(inputs):
        words[record + INPUT + index] = channel_record
    for index, stream in enumerate(block.streams):
        previous = record + OUTPUT + index
        for channel in stream.channels:
            words[previous] = records[id(channel)]
            previous = records[id(channel)] + NEXT
    bounded = [channel for stream in block.streams for channel in stream.channels if channel.bounded]
    words[record + BOUNDS] = len(bounded)
    for index, channel in enumerate(bounded):
        words[record + BOUND + index] = records[id(channel)]
