"""The plan of a run: its passes in order, with the tables that the controller makes for the other parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.sigma.configuration import SigmaConfiguration
from fiberscope.accelerators.sigma.packing import Chunk, Part, chunks, slice_width, slices
from fiberscope.accelerators.sigma.share import Share
from fiberscope.hw.networks.benes_router import MulticastRouter
from fiberscope.hw.value_type import TYPES
from fiberscope.workloads.dense_product import exact_kind
from fiberscope.workloads.gemm import Sliced

MOST_BITS = 32  # largest number of bits in a word of a bitmap


@dataclass(frozen=True)
class Table:
    """A table of the controller for one chunk.

    Attributes:
        chunk: the chunk.
        lines: numbers of the lines to load for the chunk.
        flush: whether the adders are flushed before the chunk.
        bits: number of bits of both bitmaps that are scanned for the chunk.
        sending: cycles of a column at the input.
        serving: cycles of a column at the accumulators.
        interval: cycles from the start of a column to the start of the next column.
        fresh: number of sums of a column that are the first of an element of the product.
        done: number of sums of a column that are the last of an element of the product.
        useful: number of multiplications of two nonzeros.
        shares: shares of the Flex-DPEs by line; ``Plan.share`` adds a share when it is first requested.
    """

    chunk: Chunk
    lines: range
    flush: bool
    bits: int
    sending: int
    serving: int
    interval: int
    fresh: int
    done: int
    useful: int
    shares: dict[int, Share] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class Pass:
    """A pass: columns of the streamed operand are streamed past one chunk of the stationary operand.

    Attributes:
        number: number of the pass, from 0.
        table: table of the chunk.
        first, last: the columns ``first`` to ``last`` - 1.
        begins, ends: whether these columns are the first and the last of the chunk.
        final: whether this is the last pass of the run.
        fetched: bytes of the stationary operand, of the streamed operand and of partial sums to fetch.
        written: bytes to write.
        awaited_writes: number of passes whose writes must have finished before partial sums are fetched.
    """

    number: int
    table: Table
    first: int
    last: int
    begins: bool
    ends: bool
    final: bool
    fetched: tuple[int, int, int]
    written: int
    awaited_writes: int

    @property
    def columns(self) -> int:
        """Return the number of columns."""
        return self.last - self.first


class Plan:
    """A plan that divides a product into passes, one after the other, and holds only a few at a time.

    Args:
        stationary: the stationary operand (rows x K).
        streamed: the streamed operand (K x columns).
        parameters: configuration of the machine.
        chosen: numbers of the passes to simulate, ascending, including the last pass; None for all passes.

    Attributes:
        passes: by number, the passes that were taken and are not finished.
        resident: number of columns of the product that stay in the accumulators.
        width: number of coordinates of K in a slice.
        words, word_bits: number of words in which units scan a row of a slice's bitmap, and bits of a word.
        narrowest: number of coordinates of K in the last slice.
        value_type: type of all values.
        exact: whether the sums of the product are the same in any order.
        kind: NumPy type in which the sums are computed.
        router: router that sets the distribution networks; None if words are gathered.

    Raises:
        ConfigurationError: if a fold cannot be packed, because bitmaps or values of a slice do not fit.
    """

    def __init__(
        self,
        stationary: Sliced,
        streamed: Sliced,
        parameters: SigmaConfiguration,
        chosen: Sequence[int] | None = None,
    ) -> None:
        self.parameters = parameters
        self.rows, self.columns = stationary.shape[0], streamed.shape[1]
        width = slice_width(stationary.shape[1], parameters)
        self.slices = -(-stationary.shape[1] // width)
        self.passes: dict[int, Pass] = {}
        self.value_type = TYPES[parameters.value.type]
        exact = None if self.value_type.floats else exact_kind(stationary, streamed)
        self.exact, self.kind = exact is not None, exact or np.float64
        self.router = None if parameters.gathered else MulticastRouter(parameters.dpe.multipliers)
        self.keeps_zeros = parameters.pack.zeros == "keep"
        self.without_memory = parameters.memory.model == "none"
        self.width = min(width, stationary.shape[1])
        self.words = -(-self.width // MOST_BITS)
        self.word_bits = -(-self.width // self.words)
        self.narrowest = stationary.shape[1] - (self.slices - 1) * width
        self.resident = self.columns if self.without_memory else self._resident(self.width)
        self._block = self.columns if self.without_memory else parameters.stream.columns
        self._seen = np.zeros(self.rows, dtype=bool)  # whether a row of the product has a sum so far
        self._done = 0  # rows of the product that are finished in the last slice
        self._bits = 0  # bits of the stationary bitmap up to the current chunk
        self._fetched = 0  # bytes of the stationary bitmap fetched so far
        passes = self._passes(chunks(slices(stationary, streamed, parameters), parameters))
        self._coming = passes if chosen is None else _spliced(passes, chosen)
        self._next = next(self._coming, None)

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
        self._next = next(self._coming, None)
        return pass_

    def following(self) -> Pass | None:
        """Return the pass that ``take`` will return next, or None at the end."""
        return self._next

    def share(self, table: Table, dpe: int) -> Share:
        """Return the share that the Flex-DPE with the number ``dpe`` has in the chunk of a table."""
        first = table.chunk.lines.start
        line = first + (dpe - first) % self.parameters.dpe.count
        if line not in table.shares:
            table.shares[line] = Share(table.chunk, line, self.router)
        return table.shares[line]

    def _passes(self, coming: Iterator[Chunk]) -> Iterator[Pass]:
        number = loaded = fold = 0
        ahead = next(coming, None)
        while ahead is not None:
            chunk, ahead = ahead, next(coming, None)
            lines = range(max(loaded, chunk.lines.start), chunk.lines.stop)
            loaded = lines.stop
            newest = (loaded - 1) // self.parameters.dpe.count
            table = self._table(chunk, lines, newest > fold)
            for pass_ in self._of_chunk(table, number, ahead is None):
                yield pass_
                number = pass_.number + 1
            fold = newest

    def _table(self, chunk: Chunk, lines: range, flush: bool) -> Table:
        sending, serving, interval = self._pace(chunk)
        done = sum(len(part.distinct_rows) - part.row_goes_on for part in chunk.parts if part.slice.last)
        self._done += done
        return Table(
            chunk=chunk,
            lines=lines,
            flush=flush,
            bits=sum(self._scanned(part) for part in chunk.parts),
            sending=sending,
            serving=serving,
            interval=interval,
            fresh=sum(self._begun(part) for part in chunk.parts),
            done=done,
            useful=sum(_useful(part) for part in chunk.parts),
        )

    def _pace(self, chunk: Chunk) -> tuple[int, int, int]:
        """Return the cycles of a column at the input and at the accumulators, and from column to column."""
        parameters, value = self.parameters, self.parameters.value
        words, taken = parameters.input.words_per_cycle, parameters.output.words_per_cycle
        width = chunk.words if parameters.pack.by == "rows" else chunk.parts[0].slice.width
        sending = -(-width // words) if words else 1
        serving = -(-chunk.sums // taken) if taken else 1
        moved = width * value.bytes * bool(words) + 2 * chunk.sums * value.sum_bytes * bool(taken)
        sram = -(-moved * parameters.clock // parameters.sram.bandwidth)
        return sending, serving, max(sending, serving, sram)

    def _scanned(self, part: Part) -> int:
        """Return the number of bits of both bitmaps that are scanned for a part.

        The scan continues in the stationary bitmap up to the last nonzero of the part. The first part of a
        slice also scans the streamed bitmap.
        """
        width = part.slice.width
        begin, end = (self._place(part, at) for at in (part.first, part.last))
        return end - begin + (width * self.columns if part.first == 0 else 0)

    def rows_scanned(self, part: Part) -> range:
        """Return the rows of the slice's stationary bitmap that are first scanned for this part."""
        begin, end = (-(-self._place(part, at) // part.slice.width) for at in (part.first, part.last))
        return range(begin, end)

    def _place(self, part: Part, at: int) -> int:
        """Return the number of bits of the slice's stationary bitmap up to its nonzero number ``at`` - 1."""
        slice_ = part.slice
        if at == len(slice_.rows):
            return self.rows * slice_.width
        return int(slice_.rows[at - 1]) * slice_.width + int(slice_.inner[at - 1]) + 1 if at else 0

    def _begun(self, part: Part) -> int:
        """Return the number of rows of the product whose first sum comes from this part."""
        fresh = int(np.count_nonzero(~self._seen[part.distinct_rows]))
        self._seen[part.distinct_rows] = True
        return fresh

    def _of_chunk(self, table: Table, number: int, last_chunk: bool) -> Iterator[Pass]:
        blocks = -(-self.columns // self._block)
        for block in range(blocks):
            first, last = block * self._block, min((block + 1) * self._block, self.columns)
            final = last_chunk and block == blocks - 1
            partial = self._partial_bytes(table.chunk.sums - table.fresh, first, last)
            yield Pass(
                number=number + block,
                table=table,
                first=first,
                last=last,
                begins=block == 0,
                ends=block == blocks - 1,
                final=final,
                fetched=(
                    self._held_bytes(table) if block == 0 else 0,
                    self._streamed_bytes(table, first, last),
                    partial,
                ),
                written=self._written_bytes(table, first, last, final),
                awaited_writes=number + block - blocks + 1 if partial else 0,
            )

    def _held_bytes(self, table: Table) -> int:
        """Return the bytes of the chunk's values, and of its bitmap that no earlier chunk has fetched."""
        for part in table.chunk.parts:
            self._bits += self._place(part, part.last) - self._place(part, part.first)
        before, self._fetched = self._fetched, -(-self._bits // 8)
        return table.chunk.length * self.parameters.value.bytes + self._fetched - before

    def _streamed_bytes(self, table: Table, first: int, last: int) -> int:
        """Return the bytes of values and bitmaps, in these columns, of the slices that begin in the chunk."""
        total = 0
        for part in table.chunk.parts:
            if part.first == 0:
                counts = part.slice.stream_counts
                total += int(counts[last] - counts[first]) * self.parameters.value.bytes
                total += -(-part.slice.width * (last - first) // 8)
        return total

    def _partial_bytes(self, sums: int, first: int, last: int) -> int:
        """Return the bytes of ``sums`` sums in each of these columns that does not stay on chip."""
        return sums * max(0, last - max(first, self.resident)) * self.parameters.value.sum_bytes

    def _written_bytes(self, table: Table, first: int, last: int, final: bool) -> int:
        """Return the bytes that a pass writes.

        These are partial sums that do not stay in the accumulators, finished elements of the product, and in
        the final pass the elements without any sum.
        """
        staying = max(0, min(last, self.resident) - first)
        elements = table.done * staying
        if final:
            elements += (self.rows - self._done) * self.resident
            elements += int(np.count_nonzero(~self._seen)) * (self.columns - self.resident)
        return self._partial_bytes(table.chunk.sums, first, last) + elements * self.parameters.value.sum_bytes


def _spliced(passes: Iterator[Pass], chosen: Sequence[int]) -> Iterator[Pass]:
    """Yield the chosen passes, renumbered; the data that each pass loads and moves does not change.

    A pass waits for the writes of the pass that precedes it by the same number of passes as in the full run.
    """
    place = 0
    for pass_ in passes:
        if place < len(chosen) and pass_.number == chosen[place]:
            yield replace(
                pass_,
                number=place,
                ends=pass_.ends or chosen[place + 1] > pass_.number + 1,
                awaited_writes=max(0, pass_.awaited_writes - pass_.number + place),
            )
            place += 1


def _useful(part: Part) -> int:
    """Return the number of multiplications of two nonzeros in a part."""
    counts = np.diff(part.slice.streamed.indptr)[part.inner]
    return int(counts[part.values != 0].sum())
