"""The plan of a run: its passes in order, with the tables that the controller makes for the other parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.sigma.configuration import SigmaConfiguration
from fiberscope.accelerators.sigma.packing import Chunk, Segment, cut_slices, pack_chunks, slice_width
from fiberscope.accelerators.sigma.share import Share
from fiberscope.hw.networks.benes_router import MulticastRouter
from fiberscope.hw.value_type import TYPES
from fiberscope.workloads.dense_product import choose_exact_kind
from fiberscope.workloads.gemm import SlicedMatrix

MAX_WORD_BITS = 32  # largest number of bits in a word of a bitmap


@dataclass(frozen=True)
class Table:
    """A table of the controller for one chunk.

    Attributes:
        chunk: the chunk.
        lines: numbers of the lines to load for the chunk.
        flush: whether the adders are flushed before the chunk.
        bits: number of bits of both bitmaps that are scanned for the chunk.
        send_cycles: cycles of a column at the input.
        serve_cycles: cycles of a column at the accumulators.
        interval: cycles from the start of a column to the start of the next column.
        first_sums: number of sums of a column that are the first of an element of the product.
        finished_sums: number of sums of a column that are the last of an element of the product.
        useful_products: number of multiplications of two nonzeros.
        shares: shares of the Flex-DPEs by line; ``Plan.share`` adds a share when it is first requested.
    """

    chunk: Chunk
    lines: range
    flush: bool
    bits: int
    send_cycles: int
    serve_cycles: int
    interval: int
    first_sums: int
    finished_sums: int
    useful_products: int
    shares: dict[int, Share] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class Pass:
    """A pass: columns of the streamed operand are streamed past one chunk of the stationary operand.

    Attributes:
        number: number of the pass, from 0.
        table: table of the chunk.
        first, end: the columns ``first`` to ``end`` - 1.
        is_chunk_start, is_chunk_end: whether these columns are the first and the last of the chunk.
        is_final: whether this is the last pass of the run.
        fetched: bytes of the stationary operand, of the streamed operand and of partial sums to fetch.
        written: bytes to write.
        awaited_writes: number of passes whose writes must have finished before partial sums are fetched.
    """

    number: int
    table: Table
    first: int
    end: int
    is_chunk_start: bool
    is_chunk_end: bool
    is_final: bool
    fetched: tuple[int, int, int]
    written: int
    awaited_writes: int

    @property
    def columns(self) -> int:
        """Return the number of columns."""
        return self.end - self.first


class Plan:
    """A plan that divides a product into passes, one after the other, and holds only a few at a time.

    Args:
        stationary: the stationary operand (rows x K).
        streamed: the streamed operand (K x columns).
        parameters: configuration of the machine.
        chosen: numbers of the passes to simulate, ascending, including the last pass; None for all passes.

    Attributes:
        passes: by number, the passes that were taken; the code that finishes a pass deletes it.
        resident: number of columns of the product that stay in the accumulators.
        width: number of coordinates of K in a slice.
        words, word_bits: number of words in which units scan a row of a slice's bitmap, and bits of a word.
        narrowest: number of coordinates of K in the last slice.
        value_type: type of all values.
        exact: whether the sums of the product are the same in any order.
        kind: NumPy type in which the sums are computed.
        router: router that sets the distribution networks; None if words are gathered.
        is_empty: whether there is no pass: no two nonzeros meet, and the machine moves nothing.

    Raises:
        ConfigurationError: if there is a memory, and a fold cannot be packed, because bitmaps or values of a
            slice do not fit.
    """

    def __init__(
        self,
        stationary: SlicedMatrix,
        streamed: SlicedMatrix,
        parameters: SigmaConfiguration,
        chosen: Sequence[int] | None = None,
    ) -> None:
        self.parameters = parameters
        self.rows, self.columns = stationary.shape[0], streamed.shape[1]
        width = slice_width(stationary.shape[1], parameters)
        self.slices = -(-stationary.shape[1] // width)
        self.passes: dict[int, Pass] = {}
        self.value_type = TYPES[parameters.value.type]
        exact = None if self.value_type.floats else choose_exact_kind(stationary, streamed)
        self.exact, self.kind = exact is not None, exact or np.float64
        self.router = None if parameters.gathered else MulticastRouter(parameters.dpe.multipliers)
        self.keeps_zeros = parameters.pack.zeros == "keep"
        self.without_memory = parameters.memory.model == "none"
        self.width = min(width, stationary.shape[1])
        self.words = -(-self.width // MAX_WORD_BITS)
        self.word_bits = -(-self.width // self.words)
        self.narrowest = stationary.shape[1] - (self.slices - 1) * width
        self.resident = self.columns if self.without_memory else self._resident(self.width)
        self._block = self.columns if self.without_memory else parameters.stream.columns
        self._has_sum = np.zeros(self.rows, dtype=bool)  # by row of the product, in the passes so far
        self._finished_rows = 0  # rows of the product that are finished in the last slice
        self._scanned_bits = 0  # bits of the stationary bitmap up to the current chunk
        self._bitmap_bytes = 0  # bytes of the stationary bitmap fetched so far
        passes = self._passes(pack_chunks(cut_slices(stationary, streamed, parameters), parameters))
        self._remaining = passes if chosen is None else _select_passes(passes, chosen)
        self._next = next(self._remaining, None)
        self.is_empty = self._next is None

    def _resident(self, width: int) -> int:
        """Return the number of columns of the product that fit in the data SRAM.

        The SRAM also holds two slices of the streamed operand and two folds of the stationary operand.
        """
        sram, value = self.parameters.sram, self.parameters.value
        bitmaps = 2 * -(-width * (self.rows + self.columns) // 8)
        if bitmaps > sram.bitmap:
            raise ConfigurationError(
                f"a fold cannot be packed: the bitmaps of two slices have {bitmaps} bytes, and sram.bitmap "
                f"{sram.bitmap}; a smaller slice.k would do"
            )
        operands = 2 * (width * self.columns + self.parameters.fold) * value.bytes
        if operands > sram.data:
            raise ConfigurationError(
                f"a fold cannot be packed: two folds and two slices that are streamed may have {operands} "
                f"bytes, and sram.data {sram.data}; a smaller slice.k or fewer multipliers would do"
            )
        return min(self.columns, (sram.data - operands) // (self.rows * value.sum_bytes))

    @property
    def finished(self) -> bool:
        """Return whether all passes have been taken."""
        return self._next is None

    def take(self) -> Pass:
        """Take and return the next pass; only while the plan is not ``finished``."""
        pass_ = self._next
        assert pass_ is not None
        self.passes[pass_.number] = pass_
        self._next = next(self._remaining, None)
        return pass_

    def following(self) -> Pass | None:
        """Return the pass that ``take`` will return next, or None at the end."""
        return self._next

    def share(self, table: Table, dpe: int) -> Share:
        """Return the share that the Flex-DPE with the number ``dpe`` has in the chunk of a table.

        The chunk must occupy a line of this Flex-DPE.
        """
        # Lines go to the Flex-DPEs in turn, and a chunk has at most one line for each
        first = table.chunk.lines.start
        line = first + (dpe - first) % self.parameters.dpe.count
        if line not in table.shares:
            table.shares[line] = Share(table.chunk, line, self.router)
        return table.shares[line]

    def _passes(self, chunks: Iterator[Chunk]) -> Iterator[Pass]:
        number = loaded = fold = 0
        # One chunk is taken ahead, so that the last chunk is known when its passes are made
        next_chunk = next(chunks, None)
        while next_chunk is not None:
            chunk, next_chunk = next_chunk, next(chunks, None)
            # The chunk may begin in a line that the previous chunk has loaded
            lines = range(max(loaded, chunk.lines.start), chunk.lines.stop)
            loaded = lines.stop
            last_fold = (loaded - 1) // self.parameters.dpe.count
            table = self._table(chunk, lines, last_fold > fold)
            for pass_ in self._passes_of_chunk(table, number, next_chunk is None):
                yield pass_
                number = pass_.number + 1
            fold = last_fold

    def _table(self, chunk: Chunk, lines: range, flush: bool) -> Table:
        """Return the table of a chunk; call it once for each chunk, in order, as it counts rows."""
        send_cycles, serve_cycles, interval = self._column_cycles(chunk)
        # A row is finished in the last slice, unless the next segment has further nonzeros of it
        finished_sums = sum(
            len(segment.distinct_rows) - segment.has_split_row
            for segment in chunk.segments
            if segment.slice.is_last
        )
        self._finished_rows += finished_sums
        return Table(
            chunk=chunk,
            lines=lines,
            flush=flush,
            bits=sum(self._count_bits(segment) for segment in chunk.segments),
            send_cycles=send_cycles,
            serve_cycles=serve_cycles,
            interval=interval,
            first_sums=sum(self._count_first_sums(segment) for segment in chunk.segments),
            finished_sums=finished_sums,
            useful_products=sum(_count_useful(segment) for segment in chunk.segments),
        )

    def _column_cycles(self, chunk: Chunk) -> tuple[int, int, int]:
        """Return the cycles of a column at the input and at the accumulators, and from column to column."""
        parameters, value = self.parameters, self.parameters.value
        input_words, output_words = parameters.input.words_per_cycle, parameters.output.words_per_cycle
        width = chunk.word_count if parameters.pack.by == "rows" else chunk.segments[0].slice.width
        # 0 words per cycle stand for any number
        send_cycles = -(-width // input_words) if input_words else 1
        serve_cycles = -(-chunk.sum_count // output_words) if output_words else 1
        sram_bytes = width * value.bytes * bool(input_words)
        sram_bytes += 2 * chunk.sum_count * value.sum_bytes * bool(output_words)  # read and write
        # The bandwidth is in bytes per second
        sram_cycles = -(-sram_bytes * parameters.clock // parameters.sram.bandwidth)
        return send_cycles, serve_cycles, max(send_cycles, serve_cycles, sram_cycles)

    def _count_bits(self, segment: Segment) -> int:
        """Return the number of bits of both bitmaps that are scanned for a segment.

        The scan continues in the stationary bitmap up to the last nonzero of the segment. The first segment
        of a slice also scans the streamed bitmap.
        """
        width = segment.slice.width
        begin, end = (self._bit_position(segment, index) for index in (segment.first, segment.end))
        return end - begin + (width * self.columns if segment.first == 0 else 0)

    def rows_scanned(self, segment: Segment) -> range:
        """Return the rows of the slice's stationary bitmap that are first scanned for this segment."""
        start, end = (
            -(-self._bit_position(segment, index) // segment.slice.width)
            for index in (segment.first, segment.end)
        )
        return range(start, end)

    def _bit_position(self, segment: Segment, index: int) -> int:
        """Return the number of bits of the slice's stationary bitmap that precede the search of a nonzero.

        These are the bits up to nonzero ``index`` - 1; if there is no nonzero ``index``, all bits.
        """
        slice_ = segment.slice
        if index == len(slice_.rows):
            return self.rows * slice_.width
        return int(slice_.rows[index - 1]) * slice_.width + int(slice_.inner[index - 1]) + 1 if index else 0

    def _count_first_sums(self, segment: Segment) -> int:
        """Return the number of rows whose first sum comes from this segment, and note their sums."""
        row_count = int(np.count_nonzero(~self._has_sum[segment.distinct_rows]))
        self._has_sum[segment.distinct_rows] = True
        return row_count

    def _passes_of_chunk(self, table: Table, number: int, is_last_chunk: bool) -> Iterator[Pass]:
        blocks = -(-self.columns // self._block)
        for block in range(blocks):
            first, end = block * self._block, min((block + 1) * self._block, self.columns)
            is_final = is_last_chunk and block == blocks - 1
            partial = self._partial_bytes(table.chunk.sum_count - table.first_sums, first, end)
            yield Pass(
                number=number + block,
                table=table,
                first=first,
                end=end,
                is_chunk_start=block == 0,
                is_chunk_end=block == blocks - 1,
                is_final=is_final,
                fetched=(
                    self._stationary_bytes(table) if block == 0 else 0,
                    self._streamed_bytes(table, first, end),
                    partial,
                ),
                written=self._written_bytes(table, first, end, is_final),
                # The pass over these columns in the previous chunk, ``blocks`` passes before, wrote the sums
                awaited_writes=number + block - blocks + 1 if partial else 0,
            )

    def _stationary_bytes(self, table: Table) -> int:
        """Return the bytes of the chunk's values, and of its bitmap that no earlier chunk has fetched."""
        for segment in table.chunk.segments:
            self._scanned_bits += self._bit_position(segment, segment.end) - self._bit_position(
                segment, segment.first
            )
        # Bits are counted over all chunks, so that a byte that two chunks share is fetched once
        earlier_bytes, self._bitmap_bytes = self._bitmap_bytes, -(-self._scanned_bits // 8)
        return table.chunk.length * self.parameters.value.bytes + self._bitmap_bytes - earlier_bytes

    def _streamed_bytes(self, table: Table, first: int, end: int) -> int:
        """Return the bytes of values and bitmaps, in these columns, of the slices that begin in the chunk."""
        total = 0
        for segment in table.chunk.segments:
            if segment.first == 0:
                counts = segment.slice.stream_counts
                total += int(counts[end] - counts[first]) * self.parameters.value.bytes
                total += -(-segment.slice.width * (end - first) // 8)
        return total

    def _partial_bytes(self, sums: int, first: int, end: int) -> int:
        """Return the bytes of ``sums`` sums in each of these columns that does not stay on chip."""
        return sums * max(0, end - max(first, self.resident)) * self.parameters.value.sum_bytes

    def _written_bytes(self, table: Table, first: int, end: int, is_final: bool) -> int:
        """Return the bytes that a pass writes.

        These are partial sums that do not stay in the accumulators, finished elements of the product, and in
        the final pass the elements without any sum.
        """
        resident_columns = max(0, min(end, self.resident) - first)
        elements = table.finished_sums * resident_columns
        if is_final:
            # Resident rows that no sum of the last slice finishes; elsewhere, rows without any sum (zeros)
            elements += (self.rows - self._finished_rows) * self.resident
            elements += int(np.count_nonzero(~self._has_sum)) * (self.columns - self.resident)
        partial_bytes = self._partial_bytes(table.chunk.sum_count, first, end)
        return partial_bytes + elements * self.parameters.value.sum_bytes


def _select_passes(passes: Iterator[Pass], numbers: Sequence[int]) -> Iterator[Pass]:
    """Yield the passes with these numbers, renumbered; the data that a pass moves does not change.

    A pass waits for the writes of the pass that precedes it by the same number of passes as in the full run.
    """
    new_number = 0
    for pass_ in passes:
        if new_number < len(numbers) and pass_.number == numbers[new_number]:
            yield replace(
                pass_,
                number=new_number,
                # ``numbers`` ends with the last pass, which ends a chunk: the index is in range
                is_chunk_end=pass_.is_chunk_end or numbers[new_number + 1] > pass_.number + 1,
                awaited_writes=max(0, pass_.awaited_writes - pass_.number + new_number),
            )
            new_number += 1


def _count_useful(segment: Segment) -> int:
    """Return the number of multiplications of two nonzeros in a segment."""
    counts = np.diff(segment.slice.streamed.indptr)[segment.inner]
    return int(counts[segment.values != 0].sum())
