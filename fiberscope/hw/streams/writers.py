# cython: infer_types=True
"""Writers: blocks that store streams as the arrays of a result."""

from __future__ import annotations

from array import array

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.fiber_ends import FiberEnds
from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.quirks import NO_QUIRKS
from fiberscope.hw.streams.tokens import BV, CRD, DATA, DONE, STOP, VAL, unsigned
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.protocol import ANY


class Writer(StreamBlock):
    """Stores a stream, one token a cycle, and never stalls.

    The writer is done when it has popped done. Subclasses declare one input, and define ``store_token``,
    which stores any other token; ``update`` pops the token after the call.
    """

    COUNTERS = ("stored",)
    TAKES_ONLY = True

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.stored = 0  # C: public

    def elaborate(self) -> None:
        """Fetch the channel of the only input."""
        super().elaborate()
        self.source = self.inputs[0]  # C: public

    def quiet(self) -> int:  # C: noexcept
        """Return ``MAX_TIME``: a writer sends nothing."""
        return MAX_TIME

    def update(self, now: int) -> int:
        """Take a token."""
        if not self.source.can_pop():
            return self.wait_input(self.source)
        kind = self.source.control()
        if kind != DONE:
            self.store_token(kind)
        self.source.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def store_token(self, kind: int) -> None:
        """Store the head of ``source``, a token of this kind, which is not done."""
        raise NotImplementedError(f"{type(self).__name__} does not define store_token")


class ValuesWriter(Writer):
    """Stores values one after the other, and ignores stops and N.

    Interface: ``in_val`` carries the values. A stream of coordinates, references or words is stored as
    integers.

    Timing: that of ``Writer``. Counts: ``stored``.

    Source: the public simulator's values writer (weiya711/sam at 6e477d1).

    Args:
        room: number of values to allocate at first; the memory grows when necessary.
        quirks: see ``StreamBlock``.
    """

    PORTS = (Input("in_val", ANY),)

    in_val: Channel

    def __init__(self, name: str, room: int = 1, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.memory = Growing(room)
        self.of_integers = False

    def elaborate(self) -> None:
        """Fetch the channel, and note whether it carries values or integers."""
        super().elaborate()
        self.of_integers = self.in_val.protocol != VAL

    def store_token(self, kind: int) -> None:
        """Store a token if it is data."""
        if kind == DATA:
            self.stored += 1
            self._store()

    def _store(self) -> None:
        if self.of_integers:
            self.memory.append(self.in_val.coordinate())
        else:
            self.memory.append_value(self.in_val.value())

    @property
    def values(self) -> array[int] | array[float]:
        """Return the values stored so far."""
        return self.memory.integers() if self.of_integers else self.memory.values()


class FiberWriter(Writer):
    """Stores a level: its elements, and the positions at which its fibers end (see ``FiberEnds``).

    An N is stored as the element 0. Only blocks with quirks send N in a stream of coordinates.

    Args:
        room: number of elements to allocate at first; the memory grows when necessary.
        quirks: see ``StreamBlock``.
    """

    def __init__(self, name: str, room: int = 1, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.level = Growing(room)
        self.ends = FiberEnds(quirks)
        self.fibers = Growing(room)
        # The first fiber starts at 0. Each end of a fiber is the start of the next.
        self.fibers.append(0)
        self.stops = Growing(room)

    def store_token(self, kind: int) -> None:
        """Store an element, or the end of a fiber or of a list of fibers."""
        if kind != STOP:
            self.level.append(self.source.coordinate() if kind == DATA else 0)
            self.stored += 1
            self.ends.element()
        else:
            # A stop can end only a list without fibers: it is recorded, but adds no segment.
            self.stops.append(self.level.count)
            if self.ends.stop(self.source.coordinate()):
                self.fibers.append(self.level.count)

    @property
    def segments(self) -> array[int]:
        """Return the first position of each fiber that has ended, and then the end of the last one."""
        return self.fibers.integers()

    @property
    def stopped_at(self) -> array[int]:
        """Return, for each stop, the number of elements before it, also if the stop ends no fiber."""
        return self.stops.integers()


class CompressedWriter(FiberWriter):
    """Stores the coordinates of a compressed level, and the positions at which its fibers end.

    Interface: ``in_crd`` carries the coordinates. The result is in ``segments`` and ``coordinates``.

    Timing: that of ``Writer``. Counts: ``stored`` coordinates. Quirks: that of ``FiberEnds``.

    Source: the public simulator's compressed writer (weiya711/sam at 6e477d1).

    Args:
        room: number of coordinates to allocate at first; the memory grows when necessary.
        quirks: see ``StreamBlock``.
    """

    PORTS = (Input("in_crd", CRD),)

    in_crd: Channel

    @property
    def coordinates(self) -> array[int]:
        """Return the coordinates of all elements so far."""
        return self.level.integers()


class BitVectorWriter(FiberWriter):
    """Stores the words of a bit-vector level.

    Interface: ``in_bv`` carries the words. The result is in ``segments`` and ``words``, with the low bits of
    a fiber first. A word of more than 64 bits is stored in parts, see ``BitVector``. Every word that arrives
    is stored. After a ``BitVector``, a fiber has no word above its last set bit, and an empty fiber has none;
    a reader of the level takes missing words as 0.

    Timing: that of ``Writer``. Counts: ``stored`` words; each part of a word counts. Quirks: that of
    ``FiberEnds``.

    Source: a choice of this model. The public simulator stores words with its values writer.

    Args:
        room: number of words to allocate at first; the memory grows when necessary.
        quirks: see ``StreamBlock``.
    """

    PORTS = (Input("in_bv", BV),)

    in_bv: Channel

    @property
    def words(self) -> list[int]:
        """Return the words of all fibers so far, as unsigned numbers; each part of a word is a number."""
        return [unsigned(bits) for bits in self.level.integers()]
