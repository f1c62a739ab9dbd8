"""SIGMA's filter on bitmaps: which rows of the streaming matrix hold anything, and what that leaves to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fiberscope.hw.lanes.rows import check_size
from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError

if TYPE_CHECKING:
    from numpy.typing import NDArray

PHASES = ("streaming", "stationary")
OF_STREAMING, OF_STATIONARY = range(len(PHASES))


def regor(streaming: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For each row of a streaming bitmap (K x N) whether it holds a nonzero: the OR over its columns."""
    rows: NDArray[np.bool_] = np.logical_or.reduce(streaming, axis=1)
    return rows


def filtered(stationary: NDArray[np.bool_], streaming: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The bits of a stationary bitmap (M x K) that meet a nonzero of the streaming one (K x N)."""
    return stationary & regor(streaming)


def addresses(bitmap: NDArray[np.bool_]) -> NDArray[Any]:
    """Where each element of a bitmap lies among its packed nonzeros: the nonzeros before it, by rows."""
    counts = np.cumsum(bitmap.ravel())
    return (counts - bitmap.ravel()).reshape(bitmap.shape)


def scan_cycles(bits: int, bits_per_cycle: int) -> int:
    """Cycles that a controller takes to look at so many bits."""
    return -(-bits // bits_per_cycle)


class Regor(Component):
    """ORs the columns of a streaming bitmap, then ANDs the result with the rows of a stationary one.

    Interface: bitmaps come a row of words at a time, a word on each lane, as coordinate; ``lanes`` times
    ``width`` bits a cycle, a slice of K. First on ``streaming`` the slice of each column of the streaming
    matrix, and a row of stops behind the last; then on ``stationary`` that of each row of the stationary
    one, and a row of stops. What is left of those leaves on ``kept``, word by word with the references and
    values that they came with, and the row of stops. Then comes the next slice.

    The address of an element of the stationary matrix among its packed nonzeros is the number of bits before
    it, which an ``fiberscope.hw.lanes.prefix_sum.PrefixPopcount`` gives for the words of either bitmap,
    before or behind.

    Timing: one row a cycle, of either bitmap. What is kept leaves in the cycle in which its row is seen, when
    there is space on all lanes.

    Accounting: busy while rows move; in the midst of a slice waiting for the first lane that shows no token,
    or for the first without space.

    Source: SIGMA (HPCA 2020), Section IV: the REGOR of the streaming bitmap filters the stationary one; as
    RTL in merledu/magma-si. Bits a cycle and the two phases on one register are choices of this model.

    Args:
        name: instance name.
        lanes: words a cycle, 1 to 256.
        width: bits of a word, 1 to 62.

    Raises:
        ValueError: for a number out of its range.
        SimulationError: when built, unless as many of each port are connected as there are lanes; in the run,
            if a word has more bits, or a row holds stops and words.
    """

    PORTS = (
        Input("streaming", STREAM, array=True),
        Input("stationary", STREAM, array=True),
        Output("kept", STREAM, array=True),
    )
    COUNTERS = ("slices", "columns", "rows", "bits", "dropped")  # bits: kept; dropped: those that were not
    SIGNALS = (Signal("phase", 1, "state", PHASES), Signal("bits", 48), Signal("dropped", 48))

    streaming: list[Channel]
    stationary: list[Channel]
    kept: list[Channel]

    def __init__(self, name: str, lanes: int, width: int = 32) -> None:
        super().__init__(name)
        check_size(name, lanes, width)
        self.lanes = lanes
        self.width = width
        self.phase = OF_STREAMING
        self.within = False  # a slice
        self.seen = [0] * lanes  # the words of REGOR
        self.slices = self.columns = self.rows = self.bits = self.dropped = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count them."""
        super().elaborate()
        for port in self.PORTS:
            found = len(getattr(self, port.name))
            if found != self.lanes:
                raise SimulationError(
                    f"{self.name}: connect {self.lanes} {port.name}, one a lane, not {found}"
                )

    def tick(self, now: int) -> int:
        """Take one row of words."""
        sources = self.streaming if self.phase == OF_STREAMING else self.stationary
        missing = [source for source in sources if not source.can_pop()]
        if missing:
            begun = self.within or len(missing) < self.lanes
            return self.wait_input(missing[0]) if begun else self.idle()
        full = [sink for sink in self.kept if not sink.can_push()] if self.phase == OF_STATIONARY else []
        if full:
            return self.wait_output(full[0])
        ends = self._ends(sources)
        if self.phase == OF_STREAMING:
            self._gather(ends)
        else:
            self._filter(ends)
        for source in sources:
            source.pop()
        return self.busy(now + 1)

    def _ends(self, sources: list[Channel]) -> bool:
        """Whether the row that shows is one of stops; refuses what is no row."""
        kinds = {source.control() for source in sources}
        if len(kinds) > 1:
            raise SimulationError(f"{self.name}: a row of {PHASES[self.phase]} words has stops among them")
        for lane, source in enumerate(sources):
            if source.coordinate() < 0 or source.coordinate() >> self.width:
                raise SimulationError(
                    f"{self.name}: {source.coordinate()} at {PHASES[self.phase]}[{lane}] is no word of "
                    f"{self.width} bits"
                )
        return STOP in kinds

    def _gather(self, ends: bool) -> None:
        """OR a column into the register."""
        self.within = True
        if ends:
            self.phase = OF_STATIONARY
            return
        self.columns += 1
        for lane, source in enumerate(self.streaming):
            self.seen[lane] |= source.coordinate()

    def _filter(self, ends: bool) -> None:
        """Let through of a row what the register has."""
        if ends:
            for sink in self.kept:
                sink.push(STOP)
            self.seen = [0] * self.lanes
            self.phase = OF_STREAMING
            self.within = False
            self.slices += 1
            return
        self.rows += 1
        for seen, source, sink in zip(self.seen, self.stationary, self.kept, strict=True):
            word = source.coordinate() & seen
            sink.push(DATA, word, source.reference(), source.value())
            self.bits += word.bit_count()
            self.dropped += (source.coordinate() ^ word).bit_count()
