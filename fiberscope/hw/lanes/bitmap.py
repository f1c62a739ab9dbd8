# cython: infer_types=True
"""SIGMA's bitmap filter, which removes stationary elements that meet only zeros of the streaming matrix."""

from __future__ import annotations

from fiberscope.hw.lanes.rows import RowPipeline, check_size
from fiberscope.hw.stream import BITMAP, COLUMN, ROW
from fiberscope.sim.component import Input, Output, Signal
from fiberscope.sim.errors import SimulationError


class Regor(RowPipeline):
    """A filter that ANDs the rows of a stationary bitmap with the OR of the columns of a streaming one.

    Interface: ``bitmaps`` receives vectors, ``vectors`` of them a cycle, with one word on each lane. A
    vector is a slice along K of a column of the streaming matrix or of a row of the stationary matrix. The
    columns of a slice precede its rows; a column after a row is the first one of the next slice. Rows before
    the first column lose all their ones. ``kept`` sends the filtered words of each row with the references of
    the received words, and a token ``COLUMN`` without word and reference for each word of a column.

    Timing: ``vectors`` vectors a cycle, which are sent in the cycle in which they are seen, if all outputs
    have a free slot, see ``fiberscope.hw.lanes.rows``. The vectors of a cycle can be columns and rows: each
    row is filtered with all columns of its slice, those of the same cycle included.

    Counts: ``rows``, the cycles in which vectors are accepted; ``ones`` and ``kept``, the ones of the rows
    of the stationary bitmap before and after the filter.

    Source: SIGMA (HPCA 2020), Section IV: the REGOR of the streaming bitmap filters the stationary one; as
    RTL in merledu/magma-si. The number of vectors a cycle, and one port for both bitmaps, are choices of
    this model.

    Args:
        vectors: number of vectors a cycle.
        words: number of words of a vector; ``vectors`` * ``words`` is the number of lanes, 1 to 256.
        width: bits of a word, 1 to 62.

    Raises:
        ValueError: if a number is out of its range.
        SimulationError: when built, unless both port arrays have a connected port for each lane; during the
            run, if a word has more than ``width`` bits, or a vector has words of both operands.
    """

    PORTS = (Input("bitmaps", BITMAP, array=True), Output("kept", BITMAP, array=True))
    SIGNALS = (Signal("rows", 32), Signal("ones", 48), Signal("ones_kept", 48))

    def __init__(self, name: str, vectors: int, words: int, width: int = 32) -> None:
        check_size(name, vectors * words if words > 0 else words, width)
        super().__init__(name, ("bitmaps", "kept"), vectors * words, 0)
        self.vectors = vectors
        self.words = words
        self.width = width
        self.column_union = [0] * words  # the OR of the columns of the slice so far
        self.filters = False  # whether the last vector was a row
        self.ones = self.ones_kept = 0

    def _process_row(self, index: int) -> None:
        """Filter the vectors of a row in order; a column after a row starts a new slice."""
        for first_lane in range(0, self.lanes, self.words):
            kind = self.inputs[first_lane].control()
            if kind == COLUMN and self.filters:
                self.column_union = [0] * self.words
            self.filters = kind == ROW
            for word in range(self.words):
                self._take_word(kind, word, first_lane + word)

    def _take_word(self, kind: int, word: int, lane: int) -> None:
        """OR a word of a column into the register, or AND a word of a row with the register."""
        source = self.inputs[lane]
        bits = source.coordinate()
        if source.control() != kind:
            raise SimulationError(f"{self.name}: the vector that ends at bitmaps[{lane}] is of both operands")
        if bits < 0 or bits >> self.width:
            raise SimulationError(f"{self.name}: {bits} at bitmaps[{lane}] is no word of {self.width} bits")
        self.kinds[lane] = kind
        if kind == COLUMN:
            self.column_union[word] |= bits
            return
        self.coordinates[lane] = bits & self.column_union[word]
        self.references[lane] = source.reference()
        self.ones += bits.bit_count()
        self.ones_kept += (bits & self.column_union[word]).bit_count()

    def counters(self) -> dict[str, int]:
        """Return the cycles with vectors, the ones of the stationary rows, and the ones that were kept."""
        return {"rows": self.rows, "ones": self.ones, "kept": self.ones_kept}
