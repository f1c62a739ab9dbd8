"""Writers: where streams end, as the arrays of a result."""

from __future__ import annotations

from array import array

from hw.streams.block import StreamBlock
from hw.streams.fiber_ends import FiberEnds
from hw.streams.growing import Growing
from hw.streams.quirks import CLEAN
from hw.streams.tokens import BV, CRD, DATA, DONE, STOP, VAL, unsigned
from sim.channel import Channel
from sim.component import Input
from sim.errors import SimulationError
from sim.protocol import ANY


class Writer(StreamBlock):
    """Takes a stream, one token a cycle, and never stalls it.

    The writer is done when it has taken done. Subclasses say by ``take`` what they do with any other token.

    Args:
        name: instance name.
        quirks: see ``StreamBlock``.
    """

    COUNTERS = ("stored",)

    def __init__(self, name: str, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.stored = 0

    def elaborate(self) -> None:
        """Fetch the channel of the only input."""
        super().elaborate()
        self.source = self.inputs[0]

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
        """What has been stored so far."""
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
        """Where each fiber that has ended begins, and the end of the last."""
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
        """Of all elements so far."""
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
        """Of all fibers so far, unsigned."""
        return [unsigned(bits) for bits in self.level.integers()]


class DenseWriter(StreamBlock):
    """Writes values into the fibers of a dense level, each at its coordinate; the others are 0.

    Interface: ``in_crd`` and ``in_val``, of one shape; ``values`` has ``size`` of them for each fiber that
    has ended; which stops end one, see ``FiberEnds``.

    Timing: a token a cycle, when both are seen; never stalls.

    Counts: ``stored``, and ``fibers`` that have ended.

    Source: a choice of this model; the public simulator's class for it is not usable, and writes dense
    results by its values writer.

    Args:
        name: instance name.
        size: coordinates of the level.
        quirks: see ``StreamBlock``.

    Raises:
        ValueError: if the size is negative.
        SimulationError: in the run, if a coordinate lies beyond, or the streams differ in shape.
    """

    PORTS = (Input("in_crd", CRD), Input("in_val", VAL))
    COUNTERS = ("stored", "fibers")

    in_crd: Channel
    in_val: Channel

    def __init__(self, name: str, size: int, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        if size < 0:
            raise ValueError(f"{name}: the size of a dense level must not be negative, as {size} is")
        self.size = size
        self.memory = Growing(size)
        self.stored = self.fibers = 0
        self.ends = FiberEnds(quirks)

    def update(self, now: int) -> int:
        """Take a coordinate with its value."""
        if not self.in_crd.can_pop():
            return self.wait_input(self.in_crd)
        if not self.in_val.can_pop():
            return self.wait_input(self.in_val)
        kind = self.in_crd.control()
        if kind != self.in_val.control():
            raise SimulationError(f"{self.name}: in_crd and in_val must have the same shape")
        if kind == DATA:
            self._store(self.in_crd.coordinate(), self.in_val.value())
        elif kind == STOP:
            self._end_fiber(self.in_crd.coordinate())
        self.in_crd.pop()
        self.in_val.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _store(self, coordinate: int, value: float) -> None:
        if coordinate < 0 or coordinate >= self.size:
            raise SimulationError(
                f"{self.name}: coordinate {coordinate} lies outside a dense level of size {self.size}"
            )
        self.memory.put_value(self.fibers * self.size + coordinate, value)
        self.stored += 1
        self.ends.element()

    def _end_fiber(self, level: int) -> None:
        if self.ends.stop(level):
            self.fibers += 1
            self.memory.extend_to(self.fibers * self.size)

    @property
    def values(self) -> array[float]:
        """Of all fibers that have ended."""
        return self.memory.values()
