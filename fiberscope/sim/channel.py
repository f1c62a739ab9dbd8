"""Channels: FIFOs with a latency, one writer and one reader. Components communicate only through channels.

The reader sees a token that was pushed in cycle t from cycle t + latency. The writer can use the slot of a
token that was popped in cycle t from cycle t + 1. The result of a cycle therefore does not depend on the
order in which components tick. If the clocks differ, the reader sees the token from its first cycle that
begins at or after the writer's cycle t + latency, and the writer uses the slot from its first cycle that
begins after the pop.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NoReturn

from fiberscope.sim import raw_words
from fiberscope.sim.clock import Clock
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.errors import ChannelError
from fiberscope.sim.protocol import Protocol

# Words of a token. They are adjacent, so that one cache line holds a token.
CONTROL = 0
COORDINATE = 1
REFERENCE = 2
ARRIVAL = 3  # the reader's cycle from which the token is visible
VALUE = 4
WORDS = 5

FIRST_CAPACITY = 16  # initial size of an unbounded channel, in tokens


class Fifo:
    """State and behaviour of a channel; see ``Channel``."""

    def __init__(self, name: str, capacity: int | None, latency: int, protocol: Protocol) -> None:
        self.name = name
        self.protocol = protocol
        self.bounded = capacity is not None
        self.capacity = capacity or FIRST_CAPACITY
        self.latency = latency
        self.occupancy = 0
        self.pops = 0
        self.reader_state = self.any_reader_state = 0  # stall state of a reader here, or at any of the array
        self.writer_state = self.any_writer_state = 0
        self._head = 0
        self._allocate(self.capacity)
        self._seen_from = MAX_TIME  # the reader's cycle from which it sees the head token
        self._board_memory = array("q", [MAX_TIME])  # copy of _seen_from, for a reader of many channels
        self._board = raw_words.longs_from(self._board_memory, 0)
        self._marked = False
        self._mark_memory = array("q", [0])  # marks of a waveform, for a marked channel
        self._mark = raw_words.octets_from(self._mark_memory, 0)
        self._popped = 0  # tokens popped at _pop_time, whose slots are not free for the writer yet
        self._pop_time = -1
        self._wanted_slots = 1  # number of free slots that wakes the writer
        # If the reader may be ahead of the writer (_stamped), a ring holds the cycle of each recent pop:
        # pop number n is at _stamps[n & _stamp_mask]. The ring is at least as long as the capacity, so that
        # the writer can compute the cycle from which each slot is free. _stamp_memory owns the ring.
        self._stamped = False
        self._stamp_memory = array("q")
        self._stamps = raw_words.longs(self._stamp_memory)
        self._stamp_mask = 0
        self._writer_index = self._reader_index = -1

    @property
    def pushes(self) -> int:
        """Number of tokens pushed so far."""
        return self.pops + self.occupancy

    def attach(self, writer: Clock, writer_index: int, reader: Clock, reader_index: int) -> None:
        """Set the components that the channel wakes; the kernel calls this when they have indices.

        Args:
            writer, reader: clocks of the writer and of the reader.
            writer_index, reader_index: their positions in the order of ticks.
        """
        self._writer_clock = writer
        self._reader_clock = reader
        self._writer_index = writer_index
        self._reader_index = reader_index
        self._one_clock = writer is reader

    def show_on(self, board: array[int], index: int) -> None:
        """Keep the cycle from which the head token is visible in ``board[index]``; ``MAX_TIME`` if none.

        A channel keeps one board: a later call replaces it.
        """
        board[index] = self._seen_from
        self._board_memory = board
        self._board = raw_words.longs_from(board, index)

    def mark_in(self, marks: array[int], index: int) -> None:
        """From now on, set byte ``index`` of the words ``marks`` to 1 at every push and pop."""
        self._mark_memory = marks
        self._mark = raw_words.octets_from(marks, index)
        self._marked = True

    def let_reader_ahead(self) -> None:
        """Let the reader's clock run ahead of the writer's clock. Both clocks count the same cycles.

        Call this method once, after ``attach`` and before the first token.
        """
        self._one_clock = True
        if self.bounded:
            self._stamp_mask = (1 << self.capacity.bit_length()) - 1
            self._stamp_memory = array("q", bytes(8 * (self._stamp_mask + 1)))
            self._stamps = raw_words.longs(self._stamp_memory)
            self._stamped = True

    def can_push(self) -> bool:
        """Return whether the writer may push in its current cycle; if not, wake the writer later."""
        return self.fits(1)

    def fits(self, tokens: int) -> bool:
        """Return whether the writer may push ``tokens`` tokens in this cycle; if not, wake it later.

        More tokens than the capacity of a bounded channel never fit, and the writer would never wake.
        """
        if self._free() >= tokens or not self.bounded:
            return True
        self.want(tokens)
        return False

    def space(self) -> int:
        """Return how many tokens the writer may push in its current cycle; wake it once it may push more.

        The number is ``MAX_TIME`` for an unbounded channel.
        """
        if not self.bounded:
            return MAX_TIME
        free_slots = self._free()
        self.want(free_slots + 1)
        return free_slots

    def free(self) -> int:
        """Return the number of tokens that the writer may push in its current cycle; bounded channels only.

        This method requests no wake. A writer that waits for more slots calls ``space`` or ``want`` instead.
        """
        return self._free()

    def widen(self, capacity: int) -> None:
        """Set a larger capacity for a writer that pushes ahead of its clock within the real capacity.

        Raises:
            ChannelError: if the channel holds tokens.
        """
        if self.occupancy:
            raise ChannelError(f"{self.name}: widened with tokens in it ({self.occupancy})")
        self.capacity = capacity
        self._allocate(capacity)

    def _allocate(self, tokens: int) -> None:
        """Allocate empty memory for ``tokens`` tokens."""
        self._memory = array("q", [0]) * (WORDS * tokens)  # without a copy of zeros, which can be megabytes
        self._words = raw_words.longs(self._memory)
        self._values = raw_words.doubles(self._memory)  # the same memory

    def popped_now(self) -> bool:
        """Return whether the reader popped a token in its current cycle."""
        return self._pop_time == self._reader_clock.time

    def _free(self) -> int:
        """Return the number of slots that are free in the writer's current cycle; bounded channels only."""
        if self._pop_time >= self._writer_clock.time:
            return self.capacity - self.occupancy - self._held_back()
        return self.capacity - self.occupancy

    def _held_back(self) -> int:
        """Return the number of popped slots that are not free before the writer's next cycle."""
        if not self._stamped:
            return self._popped
        slots = 0
        while slots < min(self.pops, self.capacity) and self._stamp(slots) >= self._writer_clock.cycle:
            slots += 1
        return slots

    def _stamp(self, age: int) -> int:
        """Return the cycle of the pop that is ``age`` pops older than the latest pop."""
        return self._stamps[(self.pops - 1 - age) & self._stamp_mask]

    def free_from(self, slots: int) -> int:
        """Return the writer's cycle from which ``slots`` slots are free; ``MAX_TIME`` if unknown.

        The cycle is 0 if these slots have never held a token. Only for a bounded channel after
        ``let_reader_ahead``, which records the cycles of pops.
        """
        age = self.capacity - self.occupancy - slots
        if age < 0:
            return MAX_TIME
        return self._stamp(age) + 1 if age < self.pops else 0

    def want(self, slots: int) -> None:
        """Wake the writer when a pop of this cycle or later completes ``slots`` free slots.

        If so many slots are free already, no pop completes them, and the writer does not wake. A channel has
        one request: a further ``want`` or ``space``, or a ``can_push`` or ``fits`` that fails, replaces it.
        """
        self._wanted_slots = slots
        if self._pop_time >= self._writer_clock.time:
            self._wake_writer()

    def push(self, control: int, coordinate: int = 0, reference: int = 0, value: float = 0.0) -> None:
        """Append a token, which the reader sees ``latency`` cycles later and which then wakes the reader.

        Args:
            control, coordinate, reference, value: the token's words. Words after the last used word may be
                omitted.

        Raises:
            ChannelError: if the channel is full; a channel without a bound grows instead.
        """
        if self._free() <= 0:
            self._overflow()
        self.push_at(self._writer_clock.cycle, control, coordinate, reference, value)
        if self._pop_time >= self._writer_clock.time:
            self._wake_writer()

    def push_at(self, cycle: int, control: int, coordinate: int, reference: int, value: float) -> None:
        """Append a token in the writer's current cycle or in a later one; wake the reader at its arrival.

        A slot must be free; this method does not check it.

        Args:
            cycle: cycle of the push, in cycles of the writer's clock.
            control, coordinate, reference, value: the token's words.
        """
        tail = self._head + self.occupancy
        if tail >= self.capacity:
            tail -= self.capacity
        arrival = self._arrival(cycle)
        self._words[WORDS * tail + CONTROL] = control
        self._words[WORDS * tail + COORDINATE] = coordinate
        self._words[WORDS * tail + REFERENCE] = reference
        self._words[WORDS * tail + ARRIVAL] = arrival
        self._values[WORDS * tail + VALUE] = value
        if self.occupancy == 0:
            self._seen_from = arrival
            self._board[0] = arrival
        self.occupancy += 1
        if self._marked:
            self._mark[0] = 1
        self._reader_clock.wake(self._reader_index, arrival)

    def _arrival(self, cycle: int) -> int:
        """Return the reader's cycle from which it sees a token of the writer's cycle ``cycle``."""
        if self._one_clock:
            return cycle + self.latency
        time = (cycle + self.latency) * self._writer_clock.period
        return (time + self._reader_clock.period - 1) // self._reader_clock.period

    def can_pop(self) -> bool:
        """Return whether the reader sees a token in its current cycle."""
        return self._seen_from <= self._reader_clock.cycle

    def control(self) -> int:
        """Return the control word of the head token. Requires ``can_pop()``."""
        return self._words[WORDS * self._head + CONTROL]

    def coordinate(self) -> int:
        """Return the coordinate of the head token. Requires ``can_pop()``."""
        return self._words[WORDS * self._head + COORDINATE]

    def reference(self) -> int:
        """Return the reference of the head token. Requires ``can_pop()``."""
        return self._words[WORDS * self._head + REFERENCE]

    def value(self) -> float:
        """Return the value of the head token. Requires ``can_pop()``."""
        return self._values[WORDS * self._head + VALUE]

    def token(self, position: int) -> tuple[int, int, int, float]:
        """Return the token ``position`` places behind the head, visible or in flight, for observers."""
        start = WORDS * ((self._head + position) % self.capacity)
        token = self._words
        return (
            token[start + CONTROL],
            token[start + COORDINATE],
            token[start + REFERENCE],
            self._values[start + VALUE],
        )

    def arrival(self, position: int) -> int:
        """Return the reader's cycle from which the token ``position`` places behind the head is visible."""
        return self._words[WORDS * ((self._head + position) % self.capacity) + ARRIVAL]

    def pop(self) -> None:
        """Drop the head token. The writer can use its slot from the next cycle.

        The writer wakes in that cycle if the slot completes the number of slots for which it waits.

        Raises:
            ChannelError: if no token is visible.
        """
        if not self.can_pop():
            self._refuse_pop()
        self._head += 1
        if self._head == self.capacity:
            self._head = 0
        if self._pop_time == self._reader_clock.time:
            self._popped += 1
        else:
            self._pop_time = self._reader_clock.time
            self._popped = 1
        self.occupancy -= 1
        if self._marked:
            self._mark[0] = 1
        self._seen_from = self._words[WORDS * self._head + ARRIVAL] if self.occupancy > 0 else MAX_TIME
        self._board[0] = self._seen_from
        self.pops += 1
        if self._stamped:
            self._stamps[(self.pops - 1) & self._stamp_mask] = self._reader_clock.cycle
        self._wake_writer()

    def _wake_writer(self) -> None:
        """Wake the writer if the slots freed at ``_pop_time`` complete the number of wanted slots."""
        free_slots = self.capacity - self.occupancy
        if self._stamped:
            self._wake_when_free()
        elif free_slots - self._popped < self._wanted_slots <= free_slots:
            self._writer_clock.wake(self._writer_index, self._next_writer_cycle())

    def _wake_when_free(self) -> None:
        """Wake the writer in the cycle in which enough slots are free, if known and in the future."""
        if self._writer_clock.words > 0:  # else the writer ignores wakes
            cycle = self.free_from(self._wanted_slots)
            if self._writer_clock.cycle < cycle < MAX_TIME:
                self._writer_clock.wake(self._writer_index, cycle)

    def _next_writer_cycle(self) -> int:
        """Return the writer's first cycle after ``_pop_time``."""
        if self._one_clock:
            return self._writer_clock.cycle + 1
        return self._pop_time // self._writer_clock.period + 1

    def _overflow(self) -> None:
        """Refuse a push without a free slot, or grow a channel without a bound."""
        if self.bounded:
            raise ChannelError(
                f"{self.name}: push into a full channel ({self.occupancy} of {self.capacity} tokens)"
            )
        self._grow()

    def _grow(self) -> None:
        """Double the memory and move the tokens."""
        memory = self._memory
        old_words, old_values = raw_words.longs(memory), raw_words.doubles(memory)
        old_capacity, self.capacity = self.capacity, 2 * self.capacity
        self._allocate(self.capacity)
        for index in range(self.occupancy):
            start = WORDS * ((self._head + index) % old_capacity)
            for field in range(VALUE):
                self._words[WORDS * index + field] = old_words[start + field]
            self._values[WORDS * index + VALUE] = old_values[start + VALUE]
        self._head = 0

    def _refuse_pop(self) -> NoReturn:
        raise ChannelError(f"{self.name}: pop with no visible token ({self.occupancy} in flight)")


def seen_from(channels: Sequence[Channel | None]) -> array[int]:
    """Return an array of the cycles from which a reader sees the heads of its channels.

    The channels keep the array up to date. A reader with many channels then reads a few cache lines of the
    host instead of one line for each channel. None stands for a port that is not connected; its entry stays
    ``MAX_TIME``.
    """
    board = array("q", [MAX_TIME] * len(channels))
    for index, channel in enumerate(channels):
        if channel is not None:
            channel.show_on(board, index)
    return board


class Channel(Fifo):
    """A FIFO of tokens. A token is a control word and a payload of coordinate, reference and value.

    Create channels with ``Kernel.connect``.

    Args:
        name: ``<reading component>.<its port>``.
        capacity: number of tokens that the channel holds, including tokens in flight, at least 1; None for no
            bound.
        latency: cycles of the writer's clock from a push until the reader sees the token, at least 1.
        protocol: meaning of the tokens.

    ``bounded`` is whether the channel has a capacity; if not, ``capacity`` is the current size of its memory.
    ``occupancy`` is the number of tokens in the channel, ``pops`` the number of tokens popped so far.

    The file ``channel.pxd`` repeats the bodies of the short methods. The C compiler inlines these bodies into
    compiled components; Python code calls the methods of this file. Change a method in both files.
    """
