# cython: infer_types=True
"""Logical processes: blocks that run many cycles at a time on their own clocks, with the result of lockstep.

The behaviour of a block in a cycle depends only on the heads that it sees and on the free slots that it finds
in that cycle. Each token carries its arrival cycle, and a bounded channel records when its slots became free.
Once the neighbors of a block have run far enough, the block can therefore run many cycles alone. Its state
then stays in the host's cache, and no wakes are needed. Components *in lockstep* are those that the kernel
runs as usual: all of them in one cycle before any of them in the next.

Source: conservative simulation (Chandy and Misra, IEEE TSE 1979), here of graphs without a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.tokens import DATA
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.clock import Clock
from fiberscope.sim.component import clock_of
from fiberscope.sim.constants import BUSY, IDLE, MAX_TIME, NEVER
from fiberscope.sim.errors import wake_error
from fiberscope.sim.wiring import Link

__all__ = ["LogicalProcess", "Progress", "run_apart"]

NONE = -1


class Progress:  # C: final
    """Progress of the component at one side of a channel.

    ``next_cycle`` is the first cycle that the component has not run.
    """

    def __init__(self) -> None:
        self.next_cycle = 0  # C: public


class LogicalProcess:  # C: final
    """A block that runs on its own clock.

    First call ``add_input`` for each input channel of the block and ``add_output`` for each output channel,
    and attach the channels to ``clock``; ``run_apart`` does all this. Then call ``run`` repeatedly. ``run``
    stops early where the block depends on a neighbor that has not run yet. The caller must run the neighbor
    before it calls ``run`` again.

    Args:
        block: block of an elaborated machine that has not run yet.
    """

    def __init__(self, block: StreamBlock) -> None:
        self.block = block
        self.clock = Clock(block.name, Fraction(1))  # its time is the last cycle that the block has run
        self.clock.period = clock_of(block).period
        self.clock.ignore_wakes(clock_of(block).unread())
        self.progress = Progress()
        self.alarm = 0  # cycle of the next tick without a new token or a free slot; ``MAX_TIME`` for none
        self.state_before = IDLE  # state of the block before its last tick
        self.ticks = 0  # ticks of the block so far, including those that ``_take_elements`` replaces
        self.last_cycle = -1  # cycle of the last tick
        self.worked = 0  # cycle of the last tick before which the block was not idle
        self.blocked_output = (
            NONE  # index in ``outputs`` of the channel in which the block waits for a free slot
        )
        self.outward = False  # whether an output leads to a component in lockstep
        self.streams_outward = False  # whether an output stream leads to a component in lockstep
        self.fault: Exception | None = None  # raised by the last tick; ``AheadKernel`` sets it
        self.inputs: list[Channel] = []
        self.writers: list[Progress] = []  # for each input, the progress of its writer
        self.outputs: list[Channel] = []  # the bounded output channels
        self.readers: list[Progress] = []  # for each of ``outputs``, the progress of its reader
        # Whether ``run`` may account for a tick without a token, or update the block, without ``block.tick``
        self.takes_only = block.TAKES_ONLY and len(block.inputs) == 1 and not block.bounded  # C: bint

    def add_input(self, channel: Channel, writer: Progress) -> None:  # C: def
        """Add an input channel.

        Args:
            channel: the input channel.
            writer: progress of the component that writes the channel.
        """
        self.inputs.append(channel)
        self.writers.append(writer)

    def add_output(self, channel: Channel, reader: Progress, *, outward: bool = False) -> None:  # C: def
        """Add an output channel, with the progress of its reader.

        A channel without a capacity can never stop the block, so that its reader is not kept.

        Args:
            channel: the output channel.
            reader: progress of the component that reads the channel.
            outward: whether the reader runs in lockstep with the kernel.
        """
        if outward:
            self.outward = True
            self.streams_outward |= any(channel in stream.channels for stream in self.block.streams)
        if channel.bounded:
            self.outputs.append(channel)
            self.readers.append(reader)

    def run(self, until: int) -> bool:  # C: cpdef
        """Run all cycles before ``until``, or before the first that depends on cycles not yet run by others.

        Args:
            until: first cycle not to run.

        Returns:
            Whether the block ticked or its progress advanced.

        Raises:
            SimulationError: if a tick returns an invalid cycle. Errors of a tick itself are passed on.
        """
        block, ticks, first_cycle = self.block, self.ticks, self.progress.next_cycle
        now, known_cycle = self.due(), self._known_until()
        while now < until and self._knows(now, known_cycle):
            self._set_clock(now)
            self.last_cycle = now
            self.state_before = block._state
            if self.state_before != IDLE:
                self.worked = now
            block._state = IDLE
            wake = block.tick(now)  # C: long
            self.ticks += 1
            if block._state != self.state_before:
                block._account(self.state_before, now)
            if wake == now + 1 and block._state != IDLE:
                self.blocked_output = NONE
                self.alarm = now = wake
                if self.takes_only:
                    now = self._take_elements(now, until, known_cycle)
            else:
                self.alarm = self._wake_cycle(wake)
                now = self.due()
        self._advance_idle(min(now, until))
        return self.ticks > ticks or self.progress.next_cycle > first_cycle

    def pass_update(self, channel: Channel, seen: int, other: Channel, other_seen: int) -> int:
        """Account for an update without a tick; the caller computes its effects.

        The block finds its inputs empty, then waits for a token of ``channel``, and then for one of
        ``other``. No output makes it wait.

        Args:
            channel, other: the inputs, in the order in which the block looks at them.
            seen, other_seen: cycles from which their tokens are visible.

        Returns:
            The cycle of the update.
        """
        start = self.last_cycle + 1
        self._wait(channel.reader_state, start, seen)
        self._wait(other.reader_state, max(start, seen), other_seen)
        cycle = max(start, seen, other_seen)
        self._wait(BUSY, cycle, cycle + 1)
        self.last_cycle = self.worked = cycle
        self.alarm = cycle + 1
        self.blocked_output = NONE
        self.progress.next_cycle = max(self.progress.next_cycle, cycle + 1)
        self._set_clock(cycle)
        return cycle

    def _wait(self, state: int, start: int, end: int) -> None:  # C: noexcept, inline
        """Let the block be in a state from ``start`` on, if that is before ``end``."""
        block = self.block
        if start < end and block._state != state:
            block._account(block._state, start)
            block._state = state

    def _set_clock(self, cycle: int) -> None:  # C: noexcept, inline
        """Set the clock of the block to this cycle."""
        self.clock.cycle = cycle
        self.clock.time = cycle * self.clock.period

    def _take_elements(self, now: int, until: int, known_cycle: int) -> int:
        """Make the updates for elements that have no effect outside the block.

        Args:
            now: cycle after a tick in which the block was busy.
            until: first cycle not to run.
            known_cycle: result of ``_known_until``.

        Returns:
            The cycle of the next tick; ``MAX_TIME`` if it is unknown.
        """
        block, channel, quiet = self.block, inline.channel(self.inputs[0]), self.block.quiet()
        while now < until:
            if channel._seen_from > now:
                if not self._lacks_token(now, known_cycle):
                    return now
                now = self._wait_for_token(now)
            elif quiet > 0 and channel.control() == DATA:
                self._set_clock(now)
                self.last_cycle = self.worked = now
                self.state_before = block._state
                block.update(now)
                if block._state != self.state_before:
                    block._account(self.state_before, now)
                self.ticks += 1
                quiet -= 1
                self.alarm = now = now + 1
            else:
                return now
        return now

    def _known_until(self) -> int:  # C: noexcept
        """Return the last cycle in which the visible heads of all inputs are known.

        That is the first cycle that a writer has not run: a token is visible a cycle after its push or later.
        """
        known_cycle = MAX_TIME
        for index in range(len(self.writers)):
            writer: Progress = self.writers[index]
            known_cycle = min(known_cycle, writer.next_cycle)
        return known_cycle

    def _lacks_token(self, cycle: int, known_cycle: int) -> bool:  # C: noexcept, inline
        """Return whether the block is not done, and its only input is known to show no token in a cycle."""
        # An empty channel is known to show nothing only as far as its writer has run.
        seen = inline.seen_from(self.inputs, 0)
        return seen > cycle and (seen < MAX_TIME or cycle <= known_cycle) and not self.block.done

    def _wait_for_token(self, cycle: int) -> int:  # C: noexcept, inline
        """Account for a tick that finds no token, and return the cycle of the next token."""
        self.ticks += 1
        self.last_cycle = self.worked = cycle
        self._set_clock(cycle)
        self.block._account(self.block._state, cycle)
        self.block._state = inline.channel(self.inputs[0]).reader_state
        self.alarm = MAX_TIME
        return inline.seen_from(self.inputs, 0)

    def _knows(self, cycle: int, known_cycle: int) -> bool:  # C: noexcept, inline
        """Return whether all heads and free slots that the block needs in a cycle are known."""
        for index in range(len(self.inputs) if cycle > known_cycle else 0):
            if inline.is_empty(self.inputs, index):
                writer: Progress = self.writers[index]
                if writer.next_cycle < cycle:
                    return False
        for index in range(len(self.outputs)):
            if inline.is_full(self.outputs, index):  # a pop frees the slot for the cycle after the pop
                reader: Progress = self.readers[index]
                if reader.next_cycle < cycle:
                    return False
        return True

    def _advance_idle(self, until: int) -> None:
        """Advance without a tick to ``until``, or to the first cycle in which a wake is possible."""
        for index in range(len(self.inputs)):
            if inline.is_empty(self.inputs, index):
                writer: Progress = self.writers[index]
                # a token of the next cycle of the writer is visible one cycle later at the earliest
                until = min(until, writer.next_cycle + 1)
        if self.blocked_output != NONE:
            reader: Progress = self.readers[self.blocked_output]
            until = min(until, reader.next_cycle + 1)
        self.progress.next_cycle = max(self.progress.next_cycle, until, self.last_cycle + 1)
        self._set_clock(self.progress.next_cycle - 1)

    def _wake_cycle(self, wake: int) -> int:
        """Return the cycle to which the last tick asked to sleep; ``MAX_TIME`` if it waits for a channel.

        If the block waits for a free slot, set ``blocked_output`` to the index of the channel.

        Raises:
            SimulationError: if ``wake`` is neither ``NEVER`` nor a later cycle of a block that is not idle.
        """
        self.blocked_output = NONE
        if wake > self.last_cycle and self.block._state != IDLE:
            return wake
        if wake != NEVER:
            raise wake_error(self.block.name, self.last_cycle, wake)
        for index in range(len(self.outputs)):
            if inline.channel(self.outputs[index]).writer_state == self.block._state:
                self.blocked_output = index
        return MAX_TIME

    def quiet_until(self) -> int:  # C: cpdef, noexcept
        """Return the first cycle in which the block can send a token to a component in lockstep.

        This assumes that the block receives only elements until then, no stop and no done. The result is
        ``MAX_TIME`` if no output leads to such a component.
        """
        if not self.outward:
            return MAX_TIME
        # The block takes at most one element a cycle. With an output stream outward, any element may be sent.
        return (
            self.progress.next_cycle
            if self.streams_outward
            else self.progress.next_cycle + self.block.quiet()
        )

    def due(self) -> int:  # C: cpdef, noexcept
        """Return the cycle of the next tick: the earliest of the alarm, the next token and the free slot."""
        due = self.alarm
        for index in range(len(self.inputs)):
            seen = inline.seen_from(self.inputs, index)
            if self.clock.cycle < seen < due:  # a token that the last tick saw wakes the block no more
                due = seen
        if self.blocked_output != NONE:
            due = min(due, inline.channel(self.outputs[self.blocked_output]).free_from(1))
        return due


def run_apart(
    blocks: Sequence[StreamBlock], links: Sequence[Link], world: Progress
) -> list[LogicalProcess]:  # C: def
    """Create a logical process for each block, and attach the channels to the clocks of the processes.

    All other components of the machine stay in lockstep. No process runs yet: the caller calls ``run`` of
    each, and sets ``world.next_cycle`` before.

    Args:
        blocks: blocks that have not run yet.
        links: the channels into and out of these blocks, each once. A channel between two clock domains must
            have no bound.
        world: progress of the components in lockstep.

    Returns:
        The logical processes, in the order of ``blocks``.
    """
    processes = {block.name: LogicalProcess(block) for block in blocks}
    for link in links:
        writer = processes.get(link.producer.component.name)
        reader = processes.get(link.consumer.component.name)
        if writer is not None:
            writer.add_output(link.channel, reader.progress if reader else world, outward=reader is None)
        if reader is not None:
            reader.add_input(link.channel, writer.progress if writer else world)
        _attach(link, writer, reader)
    return list(processes.values())


def _attach(link: Link, writer: LogicalProcess | None, reader: LogicalProcess | None) -> None:  # C: def
    """Attach a channel to the clocks of its two sides: those of the processes, or else of the components."""
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
