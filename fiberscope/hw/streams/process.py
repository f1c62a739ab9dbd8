# cython: infer_types=True
"""A block that runs for many cycles at a time, in a time of its own, and does in each what it does in step.

What a block does in a cycle follows from the heads that it sees then, and from the space that it finds. A
token has its arrival with it, and a bounded channel knows when its slots were freed: so once the blocks
around it have run far enough, it can run on alone. All of its cycles one after the other find it in the
host's cache, and nobody has to be woken.

Source: conservative simulation (Chandy and Misra, IEEE TSE 1979), of graphs without a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.clock import Clock
from fiberscope.sim.component import clock_of
from fiberscope.sim.constants import IDLE, MAX_TIME, NEVER
from fiberscope.sim.errors import refused_wake
from fiberscope.sim.wiring import Link

__all__ = ["LogicalProcess", "Progress", "apart"]

NONE = -1


class Progress:  # C: final
    """Progress of one side of a channel.

    ``next`` is the first cycle that it has not run.
    """

    def __init__(self) -> None:
        self.next = 0  # C: public


class LogicalProcess:  # C: final
    """A block in a time of its own.

    Args:
        block: of a built machine, not yet run.
        early: whether the block needs no input unless its tick ends with ``wait_input``; then it ticks before
            its inputs are known, and once more in the cycle in which it lacks one.
    """

    def __init__(self, block: StreamBlock, early: bool = False) -> None:
        self.block, self.early = block, early
        self.clock = Clock(block.name, Fraction(1))  # stands at the last cycle that has been run
        self.clock.period = clock_of(block).period
        self.clock.ignore_wakes(clock_of(block).unread())
        self.progress = Progress()
        self.alarm = 0  # when to tick in any case
        self.before = IDLE  # what the cycles up to the last tick counted as
        self.ticks = 0
        self.last = -1  # tick
        self.worked = 0  # the last one that ended cycles which were not idle
        self.full = NONE  # place of the output for whose space the block waits
        self.lacked = NONE  # cycle in which the block lacked an input that was not known yet
        self.outward = False  # whether it sends anything to who is in step,
        self.streams_outward = False  # and whether any of that is a stream
        self.fault: Exception | None = None  # of the last tick
        self.inputs: list[Channel] = []
        self.writers: list[Progress] = []  # of these
        self.outputs: list[Channel] = []  # those with a bound
        self.readers: list[Progress] = []
        self.takes_only = block.TAKES_ONLY and len(block.inputs) == 1 and not block.bounded  # C: bint

    def reads(self, channel: Channel, writer: Progress) -> None:  # C: def
        """Have an input, and know how far who writes it has run."""
        self.inputs.append(channel)
        self.writers.append(writer)

    def writes(self, channel: Channel, reader: Progress, *, outward: bool = False) -> None:  # C: def
        """Have an output, perhaps to who is in step, and know how far who reads it has run."""
        if outward:
            self.outward = True
            self.streams_outward |= any(channel in stream.channels for stream in self.block.streams)
        if channel.bounded:
            self.outputs.append(channel)
            self.readers.append(reader)

    def run(self, until: int) -> bool:  # C: cpdef
        """Run up to a cycle, or to the first in which it depends on what others have not done yet.

        Returns:
            Whether it got any further.
        """
        block, ticks, begin, last = self.block, self.ticks, self.progress.next, self.last
        now, sure = self.due(), self._sure()
        while now < until and self._knows(now, sure):
            self._stand_at(now)
            last, self.last = self.last, now
            self.before = block._state
            if self.before != IDLE:
                self.worked = now
            block._state = IDLE
            wake = block.tick(now)  # C: long
            self.ticks += 1
            if block._state != self.before:
                block._account(self.before, now)
            if wake == now + 1 and block._state != IDLE:
                self.full = NONE
                self.alarm = now = wake
                if self.takes_only and now < until and self._lacks_token(now, sure):
                    now = self._wait_for_token(now)
            else:
                self.alarm = self._checked(wake)
                if self.early and self._heeds_inputs() and not self._knows_inputs(now):
                    self.alarm = self.lacked = now
                    self.last = last
                    break
                now = self.due()
        self._rest(min(now, until))
        return self.ticks > ticks or self.progress.next > begin

    def _stand_at(self, cycle: int) -> None:  # C: noexcept, inline
        self.clock.cycle = cycle
        self.clock.time = cycle * self.clock.period

    def _sure(self) -> int:  # C: noexcept
        """Return the last cycle for which it is known which heads of inputs the block sees."""
        sure = MAX_TIME
        for place in range(len(self.writers)):
            writer: Progress = self.writers[place]
            sure = min(sure, writer.next)
        return sure

    def _lacks_token(self, cycle: int, sure: int) -> bool:  # C: noexcept, inline
        """Return whether it is known that a block that has not ended sees no token at its only input."""
        seen = inline.seen_from(self.inputs, 0)
        return seen > cycle and (seen < MAX_TIME or cycle <= sure) and not self.block.done

    def _wait_for_token(self, cycle: int) -> int:  # C: noexcept, inline
        """Do what a tick without a token does: nothing. Return the cycle of the next token."""
        self.ticks += 1
        self.last = self.worked = cycle
        self._stand_at(cycle)
        self.block._account(self.block._state, cycle)
        self.block._state = inline.channel(self.inputs[0]).reader_state
        self.alarm = MAX_TIME
        return inline.seen_from(self.inputs, 0)

    def _knows(self, cycle: int, sure: int) -> bool:  # C: noexcept, inline
        """Return whether it is known what the block finds in a cycle, as far as it needs it."""
        if cycle > sure and (not self.early or self.lacked == cycle) and not self._knows_inputs(cycle):
            return False
        for place in range(len(self.outputs)):
            if inline.full(self.outputs, place):
                reader: Progress = self.readers[place]
                if reader.next < cycle:
                    return False
        return True

    def _knows_inputs(self, cycle: int) -> bool:  # C: noexcept, inline
        """Return whether it is known which heads of inputs the block sees in a cycle."""
        for place in range(len(self.inputs)):
            if inline.empty(self.inputs, place):
                writer: Progress = self.writers[place]
                if writer.next < cycle:
                    return False
        return True

    def _heeds_inputs(self) -> bool:  # C: noexcept, inline
        """Return whether a head that comes to an input wakes the block."""
        return not self.early or (self.alarm == MAX_TIME and self.full == NONE)

    def _rest(self, until: int) -> None:
        """Stand still before a cycle up to which the block does nothing, or where that ceases to be known."""
        for place in range(len(self.inputs) if self._heeds_inputs() else 0):
            if inline.empty(self.inputs, place):
                writer: Progress = self.writers[place]
                until = min(until, writer.next + 1)
        if self.full != NONE:
            reader: Progress = self.readers[self.full]
            until = min(until, reader.next + 1)
        self.progress.next = max(self.progress.next, until, self.last + 1)
        self._stand_at(self.progress.next - 1)

    def _checked(self, wake: int) -> int:
        """When to tick again, as a tick said; ``MAX_TIME`` if it said nothing."""
        self.full = NONE
        if wake > self.last and self.block._state != IDLE:
            return wake
        if wake != NEVER:
            raise refused_wake(self.block.name, self.last, wake)
        for place in range(len(self.outputs)):
            if inline.channel(self.outputs[place]).writer_state == self.block._state:
                self.full = place
        return MAX_TIME

    def quiet_until(self) -> int:  # C: cpdef, noexcept
        """The first cycle in which those in step may be sent something, if nothing but elements comes."""
        if not self.outward:
            return MAX_TIME
        return self.progress.next if self.streams_outward else self.progress.next + self.block.quiet()

    def due(self) -> int:  # C: cpdef, noexcept
        """When to tick again: a head that comes, or space, wakes the block."""
        due = self.alarm
        for place in range(len(self.inputs) if self._heeds_inputs() else 0):
            seen = inline.seen_from(self.inputs, place)
            if self.clock.cycle < seen < due:
                due = seen
        if self.full != NONE:
            due = min(due, inline.channel(self.outputs[self.full]).free_from(1))
        return due


def apart(
    blocks: Sequence[StreamBlock], links: Sequence[Link], world: Progress, early: str = ""
) -> list[LogicalProcess]:  # C: def
    """Have blocks in times of their own beside others in step.

    Args:
        blocks: not yet run.
        links: of their channels; a channel between two clocks has no bound.
        world: how far those in step have run.
        early: name of a block that is ``early``.
    """
    processes = {block.name: LogicalProcess(block, block.name == early) for block in blocks}
    for link in links:
        writer = processes.get(link.producer.component.name)
        reader = processes.get(link.consumer.component.name)
        if writer is not None:
            writer.writes(link.channel, reader.progress if reader else world, outward=reader is None)
        if reader is not None:
            reader.reads(link.channel, writer.progress if writer else world)
        _attach(link, writer, reader)
    return list(processes.values())


def _attach(link: Link, writer: LogicalProcess | None, reader: LogicalProcess | None) -> None:  # C: def
    channel = link.channel
    of_writer, of_reader = clock_of(link.producer.component), clock_of(link.consumer.component)
    channel.attach(
        writer.clock if writer else of_writer,
        channel._writer_index,
        reader.clock if reader else of_reader,
        channel._reader_index,
    )
    if of_writer is of_reader:
        channel.let_reader_ahead()
