"""The only way components talk: a FIFO with a latency, one writer and one reader, and mostly a bound.

What is pushed in cycle t is seen from t + latency; what is popped in t frees its slot for the writer from
t + 1. So nothing that happens within a cycle depends on the order in which components tick; and both ends may
move tokens ahead of the clock, in cycles to come: the other end sees what it would have seen.
"""

from __future__ import annotations

from typing import NoReturn

from fiberscope.sim.clock import Clock
from fiberscope.sim.constants import FAR
from fiberscope.sim.errors import ChannelError
from fiberscope.sim.protocol import Protocol

# Words of a token side by side, so that one cache line holds it.
CONTROL = 0
COORDINATE = 1
REFERENCE = 2
ARRIVAL = 3  # the reader's cycle from which the token is seen; of a free slot, the writer's from which it is
VALUE = 4
WORDS = 5

FIRST_ROOM = 16  # tokens that a channel without a bound has room for, before it grows


class Fifo:
    """What a channel is and does, see ``Channel``."""

    def __init__(self, name: str, capacity: int | None, latency: int, protocol: Protocol) -> None:
        self.name = name
        self.protocol = protocol
        self.bounded = capacity is not None
        self.capacity = capacity or FIRST_ROOM
        self.latency = latency
        self.occupancy = 0
        self.pushes = 0
        self.pops = 0
        self.reader_state = self.any_reader_state = 0  # of who waits at this port, or at any of its array
        self.writer_state = self.any_writer_state = 0
        self._head = 0
        self._words, self._values = _room(self.capacity)
        self._seen_from = FAR  # the reader's cycle from which the head is seen
        self._popped = 0  # tokens popped last whose slots may not be free for the writer yet,
        self._freed = 0  # and the writer's cycle from which the last of these is
        self._wanted = 1  # slots whose becoming free wakes the writer
        self._writer_index = self._reader_index = -1

    def attach(self, writer: Clock, writer_index: int, reader: Clock, reader_index: int) -> None:
        """Tell the channel whom it wakes; the kernel does this once all components have an index."""
        self._writer_clock = writer
        self._reader_clock = reader
        self._writer_index = writer_index
        self._reader_index = reader_index
        self._one_clock = writer is reader

    def can_push(self) -> bool:
        """Whether the writer may push in its current cycle; if not, it is woken as soon as it may."""
        if self._free() > 0 or not self.bounded:
            return True
        self.want(1)
        return False

    def space(self) -> int:
        """How many tokens the writer may push in its current cycle; it is woken as soon as there are more."""
        if not self.bounded:
            return FAR
        free = self._free()
        self.want(free + 1)
        return free

    def _free(self) -> int:
        if self._freed <= self._writer_clock.cycle:
            return self.capacity - self.occupancy
        return self._free_among_pops()

    def _free_among_pops(self) -> int:
        """Slots free in the writer's cycle where not all that were popped are."""
        while self._popped > 0 and self._slot(1 - self._popped) <= self._writer_clock.cycle:
            self._popped -= 1
        return self.capacity - self.occupancy - self._popped

    def _slot(self, number: int) -> int:
        """When the slot popped last is free (0), or so many before it (below 0)."""
        place = self._head - 1 + number
        return self._words[WORDS * (place if place >= 0 else place + self.capacity) + ARRIVAL]

    def want(self, slots: int) -> None:
        """Have the writer woken when this many slots become free; after ``space``, to sleep through fewer."""
        self._wanted = slots
        if self._freed > self._writer_clock.cycle:
            self._wake_writer()

    def free_from(self, slots: int) -> int:
        """The writer's first cycle from now on with so many free slots; ``FAR`` if that is not known."""
        lacking = slots - self._free_among_pops()
        if lacking <= 0:
            return self._writer_clock.cycle
        return self._slot(lacking - self._popped) if lacking <= self._popped else FAR

    def push(self, control: int, coordinate: int = 0, reference: int = 0, value: float = 0.0) -> None:
        """Append a token; it is seen ``latency`` cycles later. What its protocol does not carry is left out.

        Raises:
            ChannelError: if the channel is full.
        """
        if self._free() <= 0:
            self._overflow()
        self._put(self._writer_clock.cycle, control, coordinate, reference, value)
        if self._freed > self._writer_clock.cycle:
            self._wake_writer()

    def push_at(
        self, cycle: int, control: int, coordinate: int = 0, reference: int = 0, value: float = 0.0
    ) -> None:
        """Push ahead of the clock, in a cycle of the writer that is not before that of its last push.

        Raises:
            ChannelError: if it is not known that there is a slot in that cycle.
        """
        if self.bounded and self.free_from(1) > cycle:
            self._overflow()
        if self.occupancy == self.capacity:
            self._grow()
        self._put(cycle, control, coordinate, reference, value)
        self._popped = min(self._popped, self.capacity - self.occupancy)

    def _put(self, cycle: int, control: int, coordinate: int, reference: int, value: float) -> None:
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
        self.occupancy += 1
        self.pushes += 1
        self._reader_clock.wake(self._reader_index, arrival)

    def _arrival(self, cycle: int) -> int:
        """The reader's first cycle at or after ``latency`` cycles of the writer from this one."""
        time = (cycle + self.latency) * self._writer_clock.period
        return (time + self._reader_clock.period - 1) // self._reader_clock.period

    def seen_from(self) -> int:
        """The reader's cycle from which the head token is seen; ``FAR`` if there is none yet."""
        return self._seen_from

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
        at = (self._head + place) % self.capacity
        words = self._words[WORDS * at : WORDS * at + ARRIVAL]
        return (words[CONTROL], words[COORDINATE], words[REFERENCE], self._values[WORDS * at + VALUE])

    def pop(self) -> None:
        """Drop the head token; its slot is free for the writer from the next cycle.

        Raises:
            ChannelError: if no token is visible.
        """
        if not self.can_pop():
            self._refuse_pop()
        self._drop(self._reader_clock.cycle)

    def pop_at(self, cycle: int) -> None:
        """Pop ahead of the clock, in a cycle of the reader that is not before that of its last pop.

        Raises:
            ChannelError: if no token is known to be visible in that cycle.
        """
        if self._seen_from > cycle:
            self._refuse_pop()
        self._drop(cycle)

    def _drop(self, cycle: int) -> None:
        self._popped = self._popped + 1 if self._freed > self._writer_clock.cycle else 1
        self._freed = self._freed_by(cycle)
        self._words[WORDS * self._head + ARRIVAL] = self._freed
        self._head += 1
        if self._head == self.capacity:
            self._head = 0
        self.occupancy -= 1
        self._seen_from = self._words[WORDS * self._head + ARRIVAL] if self.occupancy > 0 else FAR
        self.pops += 1
        if self.capacity - self.occupancy == self._wanted:
            self._writer_clock.wake(self._writer_index, self._freed)

    def _freed_by(self, cycle: int) -> int:
        """The writer's first cycle behind one of the reader, in which a token was popped."""
        return cycle * self._reader_clock.period // self._writer_clock.period + 1

    def _wake_writer(self) -> None:
        """Wake the writer when slots that were popped, but are not free yet, make the room that it wants."""
        free = self.capacity - self.occupancy
        if self._free() < self._wanted <= free:
            self._writer_clock.wake(self._writer_index, self._slot(self._wanted - free))

    def _overflow(self) -> None:
        """A push that finds no slot."""
        if self.bounded:
            raise ChannelError(
                f"{self.name}: push into a full channel ({self.occupancy} of {self.capacity} tokens)"
            )
        self._grow()

    def _grow(self) -> None:
        """Move the tokens into twice the room."""
        words, values = self._words, self._values
        room, self.capacity = self.capacity, 2 * self.capacity
        self._words, self._values = _room(self.capacity)
        for place in range(self.occupancy):
            start = WORDS * ((self._head + place) % room)
            for word in range(VALUE):
                self._words[WORDS * place + word] = words[start + word]
            self._values[WORDS * place + VALUE] = values[start + VALUE]
        self._head = 0

    def _refuse_pop(self) -> NoReturn:
        raise ChannelError(f"{self.name}: pop with no visible token ({self.occupancy} in flight)")


def _room(tokens: int) -> tuple[memoryview[int], memoryview[float]]:
    """Room for so many tokens: the same memory, as integers and as doubles."""
    memory = memoryview(bytearray(8 * WORDS * tokens))
    return memory.cast("q"), memory.cast("d")


class Channel(Fifo):
    """A FIFO of tokens; a token is a control word and a payload of coordinate, reference and value.

    Channels are made by ``Kernel.connect``, never by a component.

    Args:
        name: ``<reading component>.<its port>``.
        capacity: tokens it holds, at least one, counting those still in flight; None: as many as come.
        latency: cycles of the writer's clock from a push to the token being seen, at least one.
        protocol: what its tokens mean.

    ``bounded`` says whether it has a capacity; if not, ``capacity`` is the room that it has taken so far.
    ``occupancy`` is the tokens it holds, ``pushes`` and ``pops`` the tokens that ever went in and out.

    Compiled components use the methods as they stand in the ``.pxd`` again, put in place of their calls;
    those here are for Python.
    """
