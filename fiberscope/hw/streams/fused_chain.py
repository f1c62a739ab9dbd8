# cython: infer_types=True
# C compiler: -O2
"""A lookahead model of a chain of blocks as a single component, without its blocks: the base class.

A block updates in the first cycle in which all of its outputs have a free slot and its inputs show the tokens
that it needs. The cycles before are waits: for the first output without a slot, else for the first input
without a token. All of this follows from the cycles in which tokens arrived and slots became free.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from fiberscope.hw.streams import fused_channel
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.fused_layout import lay_out
from fiberscope.hw.streams.fused_records import (
    BLOCK,
    BOUND,
    BOUNDS,
    BUSY_UNTIL,
    CONDITION,
    CONDITIONS,
    CYCLES,
    DUE,
    FIRST_INPUT,
    FOLLOWING,
    FREE_FROM,
    INPUT,
    INPUTS,
    IS_DONE,
    KIND_BITS,
    KIND_MASK,
    LAST,
    LATENCY,
    NEAR,
    NEXT,
    NUMBER,
    OUTPUT,
    OUTPUTS,
    POPPED,
    POPPED_AT,
    POSITION,
    PUSHED,
    READER_STATE,
    SINK,
    STATE,
    TOKEN,
    TOKENS,
    VALUE,
    WAS_FULL,
    WRITER,
    WRITER_STATE,
)
from fiberscope.hw.streams.output import OutputStream
from fiberscope.sim import inline, raw_words
from fiberscope.sim.channel import Channel
from fiberscope.sim.constants import BUSY, IDLE, MAX_TIME
from fiberscope.sim.lookahead import LookaheadModel
from fiberscope.sim.wiring import Link


class FusedChain(LookaheadModel):
    """Computes the updates of a block, and of blocks that only this block feeds, in one component.

    Subclasses define ``_await_inputs`` and ``_fire``. ``block`` is the first word of a block's record, and
    ``channel`` that of a channel's record.

    Args:
        blocks: the blocks, writers before readers, of classes that ``lay_out`` knows. Only the first reads
            channels of other components. All are in the first clock and have no quirks.
        links: the links into and out of these blocks. A link into another clock has no bound. A link between
            these blocks has a bound, unless it ends at a ``TaskEnd``.
    """

    words: array[int]  # C: hidden long*
    values: memoryview[float]  # C: hidden double*

    def __init__(self, blocks: Sequence[StreamBlock], links: Sequence[Link]) -> None:
        super().__init__(blocks[0].name, blocks)
        self.blocks: list[Any] = list(blocks)
        self.links = list(links)
        self.sources: list[Channel] = []  # the channels from components outside
        self.sinks: list[Channel] = []  # the channels to components outside
        self.ended = 0  # record of the channel at which a ``TaskEnd`` reports; 0 for none
        self.inner_due = MAX_TIME  # cycle in which a block behind the first is due
        self.waits_for_sink = False  # whether a block waits for a slot that a component outside frees
        self.ticked_cycle = -1
        self.settled_cycle = 0

    def engage(self) -> None:
        """Take over from the blocks: from now on this model computes their updates."""
        self.engaged = True
        self._memory, self.sinks, self.ended = lay_out(self.blocks, self.links)
        self.sources = self.blocks[0].inputs
        self.words = raw_words.longs(self._memory)
        self.values = raw_words.doubles(self._memory)  # the same memory

    def tick(self, now: int) -> int:
        """Make all updates before the horizon that are certain, and sleep until the next that is not."""
        if now == self.ticked_cycle:
            return self.idle()
        self.ticked_cycle = now
        limit = min(self.horizon, now + NEAR)
        self.words[DUE] = MAX_TIME
        cycle = MAX_TIME if self.words[IS_DONE] else self._next_update(0)
        if cycle < limit or self.inner_due <= now or self.waits_for_sink:
            self._rewind(now)
            self._run_all(limit)
            cycle = MAX_TIME
        due = min(self.inner_due, self.words[DUE], cycle)
        if due < MAX_TIME:
            self.wake_at(max(due, now + 1))
        return self.idle()

    def _run_all(self, limit: int) -> None:
        """Run all blocks as far as possible, and note when a block behind the first is due."""
        self.waits_for_sink = False
        has_run = True
        while has_run:
            has_run = False
            for index in range(len(self.blocks)):
                has_run = self._run(BLOCK * index, limit) or has_run
        self.inner_due = MAX_TIME
        for index in range(1, len(self.blocks)):
            self.inner_due = min(self.inner_due, self.words[BLOCK * index + DUE])

    def _rewind(self, now: int) -> None:  # C: noexcept
        """Let empty channels begin with their first slots again, which the host's cache is likelier to hold.

        All further updates are in this cycle or later. The cycles of earlier pops are needed no more, unless
        the writer waited for one of them.
        """
        words, channel = self.words, BLOCK * len(self.blocks)
        while channel > 0:
            count = words[channel + POPPED]
            if count > 0 and fused_channel.is_empty(words, channel):
                popped_at = words[fused_channel.slot(words, channel, count - 1) + POPPED_AT]
                position = words[words[channel + WRITER] + POSITION]
                if popped_at < now and fused_channel.free_from(words, channel) <= position:
                    words[channel + PUSHED] = words[channel + POPPED] = 0
            channel = words[channel + FOLLOWING]

    def _run(self, block: int, limit: int) -> bool:
        """Make all updates of a block before ``limit`` that are certain; return whether there was one."""
        words, has_run = self.words, False
        words[block + DUE] = MAX_TIME
        while not words[block + IS_DONE]:
            cycle = self._next_update(block)
            if cycle >= limit:
                words[block + DUE] = min(words[block + DUE], cycle)
                break
            if words[block + FIRST_INPUT] < 0:
                self._note_first_input(block, cycle)
            if words[block + POSITION] < cycle:
                self._account_waits(block, cycle)
            if self._fire(block, cycle):
                words[block + CYCLES + BUSY] += 1
                words[block + STATE] = BUSY
                words[block + POSITION] = cycle + 1
                words[block + LAST] = cycle
            has_run = True
        return has_run

    def _next_update(self, block: int) -> int:
        """Return the cycle of the next update, and note what it waits for; ``MAX_TIME`` if unknown."""
        words = self.words
        words[block + CONDITIONS] = 0
        cycle = max(words[block + POSITION], words[block + BUSY_UNTIL])
        for index in range(words[block + BOUNDS]):
            channel = words[block + BOUND + index]
            free_from = (
                self._sink_free_from(channel)
                if words[channel + SINK] >= 0
                else fused_channel.free_from(words, channel)
            )
            cycle = max(cycle, self._await(block, free_from, words[channel + WRITER_STATE]))
        return self._await_inputs(block, cycle)

    def _await_inputs(self, block: int, cycle: int) -> int:
        """Note the inputs for which the next update waits, by calls of ``_await`` and ``_await_token``.

        Args:
            cycle: a cycle before which the update is certainly not made.

        Returns:
            The cycle of the update; ``MAX_TIME`` if it is unknown. If the model must tick for the update in
            any case, the word ``DUE`` of the block has the cycle.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define _await_inputs")

    def _fire(self, block: int, cycle: int) -> bool:
        """Make the next update of a block in this cycle; return whether the cycle is busy."""
        raise NotImplementedError(f"{type(self).__name__} does not define _fire")

    def _await(self, block: int, cycle: int, state: int) -> int:  # C: noexcept
        """Note that the next update waits until this cycle, with the state of the wait; return the cycle."""
        words = self.words
        condition = block + CONDITION + 2 * words[block + CONDITIONS]
        words[condition] = cycle
        words[condition + 1] = state
        words[block + CONDITIONS] += 1
        return cycle

    def _await_token(self, block: int, channel: int) -> int:  # C: noexcept
        """Note that the next update waits for a token; return its arrival."""
        words = self.words
        return self._await(block, fused_channel.arrival(words, channel), words[channel + READER_STATE])

    def _empty_until(self, channel: int) -> int:
        """Return a cycle before which an empty channel certainly shows no token."""
        words = self.words
        block = words[channel + WRITER]
        cycle = max(words[block + POSITION], words[block + BUSY_UNTIL], self.ticked_cycle)
        for index in range(words[block + INPUTS]):
            source = words[block + INPUT + index]
            is_empty = fused_channel.is_empty(words, source)
            cycle = max(
                cycle, self._empty_until(source) if is_empty else fused_channel.arrival(words, source)
            )
        return cycle + words[channel + LATENCY]

    def _account_waits(self, block: int, cycle: int) -> None:  # C: noexcept
        """Account for the cycles before ``cycle``, in which a block is busy or waits."""
        words = self.words
        self._spend(block, min(cycle, words[block + BUSY_UNTIL]), BUSY)
        for index in range(words[block + CONDITIONS]):
            condition = block + CONDITION + 2 * index
            self._spend(block, min(cycle, words[condition]), words[condition + 1])

    def _spend(self, block: int, cycle: int, state: int) -> None:  # C: noexcept, inline
        """Account for the cycles before ``cycle`` as cycles of a state, if there are any."""
        words = self.words
        if words[block + POSITION] < cycle:
            words[block + CYCLES + state] += cycle - words[block + POSITION]
            words[block + POSITION] = cycle
            words[block + STATE] = state

    def _note_first_input(self, block: int, cycle: int) -> None:
        """Note the first cycle in which a block saw a token, if it has seen one by this cycle."""
        words, first = self.words, MAX_TIME
        for index in range(len(self.sources) if block == 0 else 0):
            first = min(first, inline.seen_from(self.sources, index))
        for index in range(words[block + INPUTS]):
            first = min(first, fused_channel.arrival(words, words[block + INPUT + index]))
        if first <= cycle:
            words[block + FIRST_INPUT] = first

    def _push(self, block: int, stream: int, cycle: int, token: int, value: float) -> None:
        """Send a token on an output stream of a block."""
        words = self.words
        words[block + TOKENS + (stream << KIND_BITS) + (token & KIND_MASK)] += 1
        channel = words[block + OUTPUT + stream]
        while channel > 0:
            self._push_into(channel, cycle, token, value)
            channel = words[channel + NEXT]

    def _push_into(self, channel: int, cycle: int, token: int, value: float) -> None:
        """Append a token to a channel in a cycle in which a slot is free."""
        words = self.words
        if words[channel + SINK] < 0:
            fused_channel.push(words, self.values, channel, cycle, token, value)
        else:
            sink = inline.channel(self.sinks[words[channel + SINK]])
            if sink.occupancy == sink.capacity:
                sink._overflow()
            sink.push_at(cycle, token & KIND_MASK, token >> KIND_BITS, 0, value)

    def _sink_free_from(self, channel: int) -> int:
        """Return the cycle from which a channel to a component outside has a free slot.

        If the cycle is unknown, the pop that frees a slot wakes this model.
        """
        words = self.words
        sink = inline.channel(self.sinks[words[channel + SINK]])
        if sink.occupancy == sink.capacity:
            words[channel + WAS_FULL] = 1
            self.waits_for_sink = True
            sink.want(1)
            return MAX_TIME
        is_free_now = sink.free() > 0
        if words[channel + WAS_FULL] or not is_free_now:
            words[channel + FREE_FROM] = sink._writer_clock.cycle + (0 if is_free_now else 1)
            words[channel + WAS_FULL] = 0
        return words[channel + FREE_FROM]

    def _finish(self, block: int, cycle: int) -> None:
        """Mark a block as done."""
        stream_block: StreamBlock = self.blocks[self.words[block + NUMBER]]
        stream_block.finish(cycle)
        self.words[block + IS_DONE] = 1
        self.worked = max(self.worked, cycle + 1)

    def last_event_cycle(self) -> int:
        """Return the last cycle in which any block is known to act, or to look for work after an update."""
        last = -1
        for index in range(len(self.blocks)):
            block = BLOCK * index
            last = max(last, self.words[block + LAST] + 1, self.words[block + BUSY_UNTIL])
        return last

    def reveal_tokens(self) -> list[Channel]:  # C: def
        """Put the tokens of the records into the inner channels."""
        words, channel = self.words, BLOCK * len(self.blocks)
        names = {block.name for block in self.blocks}
        for link in self.links:  # ``lay_out`` creates the records in this order
            if link.producer.component.name in names:
                if words[channel + SINK] < 0 and link.channel.occupancy == 0:
                    self._copy_tokens(channel, link.channel)
                channel = words[channel + FOLLOWING]
        return []

    def _copy_tokens(self, channel: int, target: Channel) -> None:
        """Push the tokens of a channel's record into the channel itself."""
        words = self.words
        for number in range(words[channel + POPPED], words[channel + PUSHED]):
            start = fused_channel.slot(words, channel, number)
            token = words[start + TOKEN]
            target.push(token & KIND_MASK, token >> KIND_BITS, 0, self.values[start + VALUE])

    def settle(self, cycle: int) -> None:
        """Update the accounts of the blocks up to this cycle; all earlier events have been computed."""
        words = self.words
        for index in range(len(self.blocks) if cycle > self.settled_cycle else 0):
            block = BLOCK * index
            if words[block + IS_DONE]:
                self._spend(block, cycle, IDLE)
            else:
                self._next_update(block)
                if words[block + FIRST_INPUT] < 0:
                    self._note_first_input(block, cycle - 1)
                self._account_waits(block, cycle)
            self._settle_block(self.blocks[index], block, cycle)
        self.settled_cycle = max(self.settled_cycle, cycle)

    def _settle_block(self, component: StreamBlock, block: int, cycle: int) -> None:
        """Move the accounts and the counts of tokens of a block from its record to the block."""
        words = self.words
        for state in range(len(component._cycles)):
            component._cycles[state] += words[block + CYCLES + state]
            words[block + CYCLES + state] = 0
        component._state, component._since = words[block + STATE], cycle
        component.first_input = words[block + FIRST_INPUT]
        for number in range(words[block + OUTPUTS]):
            stream: OutputStream = component.streams[number]
            for kind in range(KIND_MASK + 1):
                stream.tokens[kind] += words[block + TOKENS + (number << KIND_BITS) + kind]
                words[block + TOKENS + (number << KIND_BITS) + kind] = 0
