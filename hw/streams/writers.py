"""Writers: where streams end, as the arrays of a result."""

from __future__ import annotations

from array import array

from hw.streams.block import StreamBlock
from hw.streams.growing import Growing
from hw.streams.quirks import CLEAN
from hw.streams.tokens import DATA, DONE, VAL
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
