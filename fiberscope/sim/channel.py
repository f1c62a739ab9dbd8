"""The only way components talk: a FIFO with a latency, one writer and one reader, and mostly a bound.

What is pushed in cycle t is seen from t + latency; what is popped in t frees its slot for the writer from
t + 1. So nothing that happens within a cycle depends on the order in which components tick.
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

# Words of a token side by side, so that one cache line holds it.
CONTROL = 0
COORDINATE = 1
REFERENCE = 2
ARRIVAL = 3  # the reader's cycle from which the token is seen
VALUE = 4
WORDS = 5

FIRST_ROOM = 16  # tokens that a channel without a bound has room for, before it grows


class Fifo:
    """State and behaviour of a channel, see ``Channel``."""

    def __init__(self, name: str, capacity: int | None, latency: int, protocol: Protocol) -> None:
        self.name = name
        self.protocol = protocol
        self.bounded = capacity is not None
        self.capacity = capacity or FIRST_ROOM
        self.latency = latency
        self.occupancy = 0
        self.pops = 0
        self.reader_state = self.any_reader_state = 0  # of who waits at this port, or at any of its array
        self.writer_state = self.any_writer_state = 0
        self._head = 0
        self._make_room(self.capacity)
        self._seen_from = MAX_TIME  # the reader's cycle from which the head is seen,
        self._board_memory = array("q", [MAX_TIME])  # and the same where a reader of many looks for it
        self._board = raw_words.longs_from(self._board_memory, 0)
        self._popped = 0  # tokens popped at _pop_time: their slots are not free for the writer yet
        self._pop_time = -1
        self._wanted = 1  # slots whose becoming free wakes the writer
        self._stamped = False  # whether the reader may be ahead of the writer
        self._stamp_memory = array("q")  # in which cycles it then popped the last tokens,
        self._stamps = raw_words.longs(self._stamp_memory)
        self._stamp_mask = 0  # by their number, modulo
        self._writer_index = self._reader_index = -1

    @property
    def pushes(self) -> int:
        """Tokens that ever went in."""
        return self.pops + self.occupancy

    def attach(self, writer: Clock, writer_index: int, reader: Clock, reader_index: int) -> None:
        """Tell the channel whom it wakes; the kernel does this once all components have an index."""
        self._writer_clock = writer
        self._reader_clock = reader
        self._writer_index = writer_index
        self._reader_index = reader_index
        self._one_clock = writer is reader

    def show_on(self, board: array[int], place: int) -> None:
        """Write to a place of the reader's from which cycle on the head is seen, else ``MAX_TIME``."""
        board[place] = self._seen_from
        self._board_memory = board
        self._board = raw_words.longs_from(board, place)

    def let_reader_ahead(self) -> None:
        """Have a reader whose clock may be ahead of the writer's; both count the same cycles."""
        self._one_clock = True
        if self.bounded:
            self._stamp_mask = (1 << self.capacity.bit_length()) - 1
            self._stamp_memory = array("q", bytes(8 * (self._stamp_mask + 1)))
            self._stamps = raw_words.longs(self._stamp_memory)
            self._stamped = True

    def can_push(self) -> bool:
        """Whether the writer may push in its current cycle; if not, it is woken as soon as it may."""
        return self.fits(1)

    def fits(self, tokens: int) -> bool:
        """Whether the writer may push so many in its current cycle; if not, it is woken as soon as it may."""
        if self._free() >= tokens or not self.bounded:
            return True
        self.want(tokens)
        return False

    def space(self) -> int:
        """Return how many tokens the writer may push in its current cycle; more space wakes the writer."""
        if not self.bounded:
            return MAX_TIME
        free = self._free()
        self.want(free + 1)
        return free

    def free(self) -> int:
        """Return how many tokens of a bounded channel the writer may push in its current cycle."""
        return self._free()

    def widen(self, capacity: int) -> None:
        """Hold more tokens, for a writer that pushes ahead of the clock and keeps to the capacity by itself.

        Raises:
            ChannelError: if it holds tokens.
        """
        if self.occupancy:
            raise ChannelError(f"{self.name}: widened with tokens in it ({self.occupancy})")
        self.capacity = capacity
        self._make_room(capacity)

    def _make_room(self, tokens: int) -> None:
        """Have room for so many tokens, which is empty."""
        self._memory = array("q", bytes(8 * WORDS * tokens))
        self._words = raw_words.longs(self._memory)
        self._values = raw_words.doubles(self._memory)  # the same memory

    def popped_now(self) -> bool:
        """Whether a token was popped in the current cycle."""
        return self._pop_time == self._reader_clock.time

    def _free(self) -> int:
        if self._pop_time >= self._writer_clock.time:
            return self.capacity - self.occupancy - self._held_back()
        return self.capacity - self.occupancy

    def _held_back(self) -> int:
        """Slots of tokens that were popped, but not before the writer's current cycle."""
        if not self._stamped:
            return self._popped
        slots = 0
        while slots < min(self.pops, self.capacity) and self._stamp(slots) >= self._writer_clock.cycle:
            slots += 1
        return slots

    def _stamp(self, before: int) -> int:
        """The cycle in which a token was popped that so many have been popped behind."""
        return self._stamps[(self.pops - 1 - before) & self._stamp_mask]

    def free_from(self, slots: int) -> int:
        """The writer's cycle from which so many slots are free; ``MAX_TIME`` if that is not known.

        Only of a channel whose reader may be ahead.
        """
        before = self.capacity - self.occupancy - slots
        if before < 0:
            return MAX_TIME
        return self._stamp(before) + 1 if before < self.pops else 0

    def want(self, slots: int) -> None:
        """Have the writer woken when this many slots become free; after ``space``, to sleep through fewer."""
        self._wanted = slots
        if self._pop_time >= self._writer_clock.time:
            self._wake_writer()

    def push(self, control: int, coordinate: int = 0, reference: int = 0, value: float = 0.0) -> None:
        """Append a token; it is seen ``latency`` cycles later. What its protocol does not carry is left out.

        Raises:
            ChannelError: if the channel is full.
        """
        if self._free() <= 0:
            self._overflow()
        self.push_at(self._writer_clock.cycle, control, coordinate, reference, value)
        if self._pop_time >= self._writer_clock.time:
            self._wake_writer()

    def push_at(self, cycle: int, control: int, coordinate: int, reference: int, value: float) -> None:
        """Append a token in a cycle of the writer's clock that may be to come; there is room."""
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
        self._reader_clock.wake(self._reader_index, arrival)

    def _arrival(self, cycle: int) -> int:
        if self._one_clock:
            return cycle + self.latency
        time = (cycle + self.latency) * self._writer_clock.period
        return (time + self._reader_clock.period - 1) // self._reader_clock.period

    def can_pop(self) -> bool:
        """Whether the reader sees a token in its current cycle."""
        return self._seen_from <= self._reader_clock.cycle

    def control(self) -> int:
        """Control word of the head token; only when ``can_pop``."""
        return self._words[WORDS * self._head + CONTROL]

    def coordinate(self) -> int:
        """Coordinate of the head token; only when ``can_pop``."""
        return self._words[WORDS * self._head + COORDINATE]

    def reference(self) -> int:
        """Reference of the head token; only when ``can_pop``."""
        return self._words[WORDS * self._head + REFERENCE]

    def value(self) -> float:
        """Value of the head token; only when ``can_pop``."""
        return self._values[WORDS * self._head + VALUE]

    def token(self, place: int) -> tuple[int, int, int, float]:
        """The token at this place from the head on, seen yet or not; for who watches from outside."""
        at = WORDS * ((self._head + place) % self.capacity)
        token = self._words
        return (token[at + CONTROL], token[at + COORDINATE], token[at + REFERENCE], self._values[at + VALUE])

    def arrival(self, place: int) -> int:
        """The reader's cycle from which the token at this place is seen; for who watches from outside."""
        return self._words[WORDS * ((self._head + place) % self.capacity) + ARRIVAL]

    def pop(self) -> None:
        """Drop the head token; its slot is free for the writer from the next cycle.

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
        self._seen_from = self._words[WORDS * self._head + ARRIVAL] if self.occupancy > 0 else MAX_TIME
        self._board[0] = self._seen_from
        self.pops += 1
        if self._stamped:
            self._stamps[(self.pops - 1) & self._stamp_mask] = self._reader_clock.cycle
        self._wake_writer()

    def _wake_writer(self) -> None:
        """Wake the writer if the slots freed at ``_pop_time`` make the room that it wants and lacks."""
        free = self.capacity - self.occupancy
        if self._stamped:
            self._wake_when_free()
        elif free - self._popped < self._wanted <= free:
            self._writer_clock.wake(self._writer_index, self._next_writer_cycle())

    def _wake_when_free(self) -> None:
        """Wake the writer when it has the room that it wants, if that is known and to come."""
        cycle = self.free_from(self._wanted)
        if self._writer_clock.cycle < cycle < MAX_TIME:
            self._writer_clock.wake(self._writer_index, cycle)

    def _next_writer_cycle(self) -> int:
        """The writer's first cycle behind the one of ``_pop_time``."""
        if self._one_clock:
            return self._writer_clock.cycle + 1
        return self._pop_time // self._writer_clock.period + 1

    def _overflow(self) -> None:
        """A push that finds no slot."""
        if self.bounded:
            raise ChannelError(
                f"{self.name}: push into a full channel ({self.occupancy} of {self.capacity} tokens)"
            )
        self._grow()

    def _grow(self) -> None:
        """Move the tokens into twice the room."""
        memory = self._memory
        before, values = raw_words.longs(memory), raw_words.doubles(memory)
        room, self.capacity = self.capacity, 2 * self.capacity
        self._make_room(self.capacity)
        for place in range(self.occupancy):
            start = WORDS * ((self._head + place) % room)
            for word in range(VALUE):
                self._words[WORDS * place + word] = before[start + word]
            self._values[WORDS * place + VALUE] = values[start + VALUE]
        self._head = 0

    def _refuse_pop(self) -> NoReturn:
        raise ChannelError(f"{self.name}: pop with no visible token ({self.occupancy} in flight)")


def seen_from(channels: Sequence[Channel | None]) -> array[int]:
    """The cycles from which a reader sees the heads of its channels, side by side; the channels keep them.

    Who looks at many channels, most of them empty, looks at the lines of the host's cache of these alone.
    None is a port that is not connected, at which none is ever seen.
    """
    board = array("q", [MAX_TIME] * len(channels))
    for place, channel in enumerate(channels):
        if channel is not None:
            channel.show_on(board, place)
    return board


class Channel(Fifo):
    """A FIFO of tokens; a token is a control word and a payload of coordinate, reference and value.

    Channels are made by ``Kernel.connect``, never by a component.

    Args:
        name: ``<reading component>.<its port>``.
        capacity: tokens it holds, at least one, counting those still in flight; None: as many as come.
        latency: cycles of the writer's clock from a push to the token being seen, at least one.
        protocol: what its tokens mean.

    ``bounded`` says whether it has a capacity; if not, ``capacity`` is the room that it has taken so far.
    ``occupancy`` is the tokens it holds, ``pops`` the tokens that ever went out.

    Compiled components use the methods as they stand in the ``.pxd`` again, put in place of their calls;
    those here are for Python.
    """
