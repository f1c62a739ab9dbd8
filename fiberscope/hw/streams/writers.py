# cython: infer_types=True
"""Writers: where streams end, as the arrays of a result."""

from __future__ import annotations

from array import array

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.fiber_ends import FiberEnds
from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.quirks import CLEAN
from fiberscope.hw.streams.tokens import BV, CRD, DATA, DONE, STOP, VAL, unsigned
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.protocol import ANY


class Writer(StreamBlock):
    """Takes a stream, one token a cycle, and never stalls it.

    The writer is done when it has taken done. Subclasses say by ``take`` what they do with any other token.

    Args:
        name: instance name.
        quirks: see ``StreamBlock``.
    """

    COUNTERS = ("stored",)
    TAKES_ONLY = True

    def __init__(self, name: str, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.stored = 0  # C: public

    def elaborate(self) -> None:
        """Fetch the channel of the only input."""
        super().elaborate()
        self.source = self.inputs[0]  # C: public

    def update(self, now: int) -> int:
        """Take a token."""
        if not self.source.can_pop():
            return self.wait_input(self.source)
        kind = self.source.control()
        if kind != DONE:
            self.take(kind)
        self.source.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def take(self, kind: int) -> None:
        """Take in the head of ``source``, which is not done."""
        raise NotImplementedError(f"{type(self).__name__} does not define take")


class ValuesWriter(Writer):
    """Writes values behind one another; stops are ignored.

    Interface: ``in_val``. A stream of coordinates, references or words can be written as well, as integers.

    Timing: that of ``Writer``. Counts: ``stored``.

    Source: the public simulator's values writer (weiya711/sam at 6e477d1).

    Args:
        name: instance name.
        room: values that are allocated at first; it grows when that is exceeded.
        quirks: see ``StreamBlock``.
    """

    PORTS = (Input("in_val", ANY),)

    in_val: Channel

    def __init__(self, name: str, room: int = 1, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.memory = Growing(room)
        self.of_integers = False

    def elaborate(self) -> None:
        """Fetch the channel, and see what it carries."""
        super().elaborate()
        self.of_integers = self.in_val.protocol != VAL

    def take(self, kind: int) -> None:
        """Store what is data."""
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
        """Return the values that have been stored so far."""
        return self.memory.integers() if self.of_integers else self.memory.values()


class FiberWriter(Writer):
    """Writes a level: its elements, and where its fibers end, for which see ``FiberEnds``, and its quirk.

    N, which only blocks with quirks put on a stream of coordinates, is stored as 0.

    Args:
        name: instance name.
        room: elements that are allocated at first; it grows when that is exceeded.
        quirks: see ``StreamBlock``.
    """

    def __init__(self, name: str, room: int = 1, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.level = Growing(room)
        self.ends = FiberEnds(quirks)
        self.fibers = Growing(room)
        self.fibers.append(0)
        self.stops = Growing(room)

    def take(self, kind: int) -> None:
        """Store an element, or the end of a fiber or of lists of them."""
        if kind != STOP:
            self.level.append(self.source.coordinate() if kind == DATA else 0)
            self.stored += 1
            self.ends.element()
        else:
            self.stops.append(self.level.count)
            if self.ends.stop(self.source.coordinate()):
                self.fibers.append(self.level.count)

    @property
    def segments(self) -> array[int]:
        """Return where each fiber that has ended begins, and the end of the last."""
        return self.fibers.integers()

    @property
    def stopped_at(self) -> array[int]:
        """Elements in front of each stop, also of those that end no fiber."""
        return self.stops.integers()


class CompressedWriter(FiberWriter):
    """Writes the coordinates of a compressed level, and where its fibers end.

    Interface: ``in_crd``; the level is ``segments`` and ``coordinates``.

    Timing: that of ``Writer``. Counts: ``stored`` coordinates. Quirks: that of ``FiberEnds``.

    Source: the public simulator's compressed writer (weiya711/sam at 6e477d1).

    Args:
        name: instance name.
        room: coordinates that are allocated at first; it grows when that is exceeded.
        quirks: see ``StreamBlock``.
    """

    PORTS = (Input("in_crd", CRD),)

    in_crd: Channel

    @property
    def coordinates(self) -> array[int]:
        """Return the coordinates of all elements so far."""
        return self.level.integers()


class BitVectorWriter(FiberWriter):
    """Writes the words of a bit-vector level.

    Interface: ``in_bv``; the level is ``segments`` and ``words``, low bits of a fiber first. A word of more
    than 64 bits is written part by part, see ``BitVector``; a fiber has no words behind that of its last bit,
    an empty one none at all: who reads the level takes 0 for them.

    Timing: that of ``Writer``. Counts: ``stored`` words. Quirks: that of ``FiberEnds``.

    Source: a choice of this model; the public simulator stores words by its values writer.

    Args:
        name: instance name.
        room: words that are allocated at first; it grows when that is exceeded.
        quirks: see ``StreamBlock``.
    """

    PORTS = (Input("in_bv", BV),)

    in_bv: Channel

    @property
    def words(self) -> list[int]:
        """Return the words of all fibers so far, unsigned."""
        return [unsigned(bits) for bits in self.level.integers()]
