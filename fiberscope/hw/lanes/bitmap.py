# cython: infer_types=True
"""SIGMA's filter on bitmaps: which rows of the streaming matrix hold anything, and what that leaves to do."""

from __future__ import annotations

from fiberscope.hw.lanes.rows import RowPipeline, check_size
from fiberscope.hw.stream import BITMAP, COLUMN, ROW
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.errors import SimulationError


class Regor(RowPipeline):
    """ORs the columns of a streaming bitmap, then ANDs the result with the rows of a stationary one.

    Interface: vectors, each a slice of K of a column of the streaming matrix or of a row of the stationary
    one, come in on ``bitmaps``: so many a cycle, one behind the other, a word on each lane. First come the
    columns of a slice, then its rows; a column behind a row is the first of the next slice. What is left of a
    row leaves on ``kept``, with the references that its words came with; of a column an empty token.

    Timing: a row of vectors a cycle, which leaves in the cycle in which it is seen, when there is space on
    all lanes, see ``fiberscope.hw.lanes.rows``. Columns and rows may be in it together: each row meets all
    columns before it.

    Source: SIGMA (HPCA 2020), Section IV: the REGOR of the streaming bitmap filters the stationary one; as
    RTL in merledu/magma-si. Vectors a cycle, and both bitmaps on one port, are choices of this model.

    Args:
        name: instance name.
        vectors: a cycle.
        words: of a vector; there are 1 to 256 lanes in all.
        width: bits of a word, 1 to 62.

    Raises:
        ValueError: for a number out of its range.
        SimulationError: when built, unless as many of each port are connected as there are lanes; in the run,
            if a word has more bits, or the words of a vector are of both operands.
    """

    PORTS = (Input("bitmaps", BITMAP, array=True), Output("kept", BITMAP, array=True))
    SIGNALS = (Signal("rows", 32), Signal("ones", 48), Signal("ones_kept", 48))

    def __init__(self, name: str, vectors: int, words: int, width: int = 32) -> None:
        check_size(name, vectors * words, width)
        super().__init__(name, ("bitmaps", "kept"), vectors * words, 0)
        self.vectors = vectors
        self.words = words
        self.width = width
        self.seen = [0] * words  # the OR of the slice's columns
        self.filters = False  # whether the vector before was a row
        self.ones = self.ones_kept = 0

    def _take(self, place: int) -> None:
        for first in range(0, self.lanes, self.words):
            kind = self.inputs[first].control()
            if kind == COLUMN and self.filters:
                self.seen = [0] * self.words
            self.filters = kind == ROW
            for word in range(self.words):
                self._take_word(kind, word, first + word)

    def _take_word(self, kind: int, word: int, lane: int) -> None:
        """OR a word of a column into the register, or let through of one of a row what the register has."""
        source = self.inputs[lane]
        bits = source.coordinate()
        if source.control() != kind:
            raise SimulationError(f"{self.name}: the vector that ends at bitmaps[{lane}] is of both operands")
        if bits < 0 or bits >> self.width:
            raise SimulationError(f"{self.name}: {bits} at bitmaps[{lane}] is no word of {self.width} bits")
        self.kinds[lane] = kind
        if kind == COLUMN:
            self.seen[word] |= bits
            return
        self.coordinates[lane] = bits & self.seen[word]
        self.references[lane] = source.reference()
        self.ones += bits.bit_count()
        self.ones_kept += (bits & self.seen[word]).bit_count()

    def counters(self) -> dict[str, int]:
        """Rows of vectors taken; ones of the stationary operand's rows, and those of them that were kept."""
        return {"rows": self.rows, "ones": self.ones, "kept": self.ones_kept}
