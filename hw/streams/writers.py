"""Writers: where streams end, as the arrays of a result."""

from __future__ import annotations

from array import array

from hw.streams.block import StreamBlock
from hw.streams.growing import Growing
from hw.streams.quirks import CLEAN, Q16
from hw.streams.tokens import CRD, DATA, DONE, STOP, VAL
from sim.channel import Channel
from sim.component import Input
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


class CompressedWriter(Writer):
    """Writes the coordinates of a compressed level, and where its fibers end.

    Interface: ``in_crd``; the level is ``segments`` and ``coordinates``. A stop ends a fiber, unless it can
    as well be that of a list without any: one of level 1 or higher, at the start or behind another such. N,
    which only blocks with quirks put on a stream of coordinates, is stored as coordinate 0.

    Timing: that of ``Writer``. Counts: ``stored`` coordinates.

    Quirks: Q16, no empty fiber leaves a segment, as if its coordinate in the level above had been dropped.

    Source: the public simulator's compressed writer (weiya711/sam at 6e477d1).

    Args:
        name: instance name.
        room: coordinates that are allocated at first; it grows when that is exceeded.
        quirks: see ``StreamBlock``.
    """

    PORTS = (Input("in_crd", CRD),)

    in_crd: Channel

    def __init__(self, name: str, room: int = 1, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.level = Growing(room)
        self.ends = Growing(room)
        self.ends.append(0)
        self.begun = False  # something has been stored since the last stop
        self.level_before = 1  # of that stop

    def take(self, kind: int) -> None:
        """Store a coordinate, or the end of a fiber."""
        if kind == STOP:
            self._end_fiber(self.in_crd.coordinate())
        else:
            self.level.append(self.in_crd.coordinate() if kind == DATA else 0)
            self.stored += 1
            self.begun = True

    def _end_fiber(self, level: int) -> None:
        empty = not self.quirks & Q16 and (level == 0 or self.level_before == 0)
        if self.begun or empty:
            self.ends.append(self.level.count)
        self.begun = False
        self.level_before = level

    @property
    def coordinates(self) -> array[int]:
        """Of all elements so far."""
        return self.level.integers()

    @property
    def segments(self) -> array[int]:
        """Where each fiber that has ended begins, and the end of the last."""
        return self.ends.integers()
