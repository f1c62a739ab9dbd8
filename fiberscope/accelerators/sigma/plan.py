"""Plan of a run, pass by pass: the tables that the controller makes and the other parts follow."""

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

__all__ = ["Pass", "Plan", "Table"]

MOST_BITS = 32  # of a word of a bitmap


@dataclass(frozen=True)
class Table:
    """Table of the controller for a chunk.

    Attributes: ``lines`` are to be loaded, behind a flush if ``flush``; ``bits`` of the bitmaps are scanned
    for it. A column takes ``sending`` cycles at the input and ``serving`` at the accumulators, and the next
    one begins ``interval`` cycles after it. ``fresh`` of a column's sums begin an element of the product,
    ``done`` are the last of one. ``useful`` multiplications have no zero. ``shares`` has the shares of the
    Flex-DPEs by line, as far as they have been asked for.
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
    """The columns ``first`` to ``last`` - 1 of the streamed operand with one chunk of the stationary one.

    ``begins`` and ``ends`` say whether they are the chunk's first and last, ``final`` whether it is the run's
    last pass. It needs the bytes ``fetched`` of the stationary operand, the streamed one and partial sums,
    the latter when ``awaited_writes`` passes have been written, and writes the bytes ``written``.
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
    """Cuts a product into passes, one after the other, so that no more than a few are ever held.

    Args:
        stationary: rows x K.
        streamed: K x columns.
        parameters: the machine's.
        chosen: numbers of the passes to be simulated, in order, the last pass among them; None for all.

    Attributes: ``passes`` has those that were taken and not dropped, by number; ``resident`` is how many
    columns of the product stay in the accumulators; ``width`` the coordinates of a slice, in ``words`` of
    ``word_bits`` bits as units scan them, ``narrowest`` those of the last one; ``value_type`` that of all
    values; ``exact`` whether the product's sums are the same in any order, in the precision ``kind``;
    ``router`` sets the distribution networks, None where words are gathered.

    Raises:
        ConfigurationError: a fold cannot be packed, for a slice's bitmaps or values do not fit.
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
        self._seen = np.zeros(self.rows, dtype=bool)  # rows of the product that have sums
        self._done = 0  # of them, whose last sums the last slice has
        self._bits = 0  # of the stationary bitmap, in the slices so far
        self._fetched = 0  # bytes of it
        passes = self._passes(chunks(slices(stationary, streamed, parameters), parameters))
        self._coming = passes if chosen is None else _spliced(passes, chosen)
        self._next = next(self._coming, None)

    def _resident(self, width: int) -> int:
        """Columns of the product for which there is room beside two slices of one operand, two folds of the
        other.
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
        """The next pass; only while it is not ``finished``."""
        pass_ = self._next
        assert pass_ is not None
        self.passes[pass_.number] = pass_
        self._next = next(self._coming, None)
        return pass_

    def following(self) -> Pass | None:
        """Return what ``take`` gives next, None at the end."""
        return self._next

    def share(self, table: Table, dpe: int) -> Share:
        """Return what the Flex-DPE of this number has of a table's chunk."""
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
        """Cycles of a column at the input, at the accumulators, and from one to the next."""
        parameters, value = self.parameters, self.parameters.value
        words, taken = parameters.input.words_per_cycle, parameters.output.words_per_cycle
        width = chunk.words if parameters.pack.by == "rows" else chunk.parts[0].slice.width
        sending = -(-width // words) if words else 1
        serving = -(-chunk.sums // taken) if taken else 1
        moved = width * value.bytes * bool(words) + 2 * chunk.sums * value.sum_bytes * bool(taken)
        sram = -(-moved * parameters.clock // parameters.sram.bandwidth)
        return sending, serving, max(sending, serving, sram)

    def _scanned(self, part: Part) -> int:
        """Bits of both bitmaps that lie between the nonzeros before and the last of these."""
        width = part.slice.width
        begin, end = (self._place(part, at) for at in (part.first, part.last))
        return end - begin + (width * self.columns if part.first == 0 else 0)

    def rows_scanned(self, part: Part) -> range:
        """Rows of the slice's stationary bitmap that no chunk before this part's has had scanned."""
        begin, end = (-(-self._place(part, at) // part.slice.width) for at in (part.first, part.last))
        return range(begin, end)

    def _place(self, part: Part, at: int) -> int:
        """The bit of the slice's stationary bitmap up to which the first ``at`` nonzeros lie."""
        slice_ = part.slice
        if at == len(slice_.rows):
            return self.rows * slice_.width
        return int(slice_.rows[at - 1]) * slice_.width + int(slice_.inner[at - 1]) + 1 if at else 0

    def _begun(self, part: Part) -> int:
        """Return the number of rows of the product that have their first sums."""
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
        """Values of the chunk, and the whole bytes of its bitmap that have not come with one before."""
        for part in table.chunk.parts:
            self._bits += self._place(part, part.last) - self._place(part, part.first)
        before, self._fetched = self._fetched, -(-self._bits // 8)
        return table.chunk.length * self.parameters.value.bytes + self._fetched - before

    def _streamed_bytes(self, table: Table, first: int, last: int) -> int:
        """Values and bitmaps of the slices that begin with the chunk, of these columns."""
        total = 0
        for part in table.chunk.parts:
            if part.first == 0:
                counts = part.slice.stream_counts
                total += int(counts[last] - counts[first]) * self.parameters.value.bytes
                total += -(-part.slice.width * (last - first) // 8)
        return total

    def _partial_bytes(self, sums: int, first: int, last: int) -> int:
        """Sums of those columns that do not stay in the accumulators."""
        return sums * max(0, last - max(first, self.resident)) * self.parameters.value.sum_bytes

    def _written_bytes(self, table: Table, first: int, last: int, final: bool) -> int:
        """Partial sums that do not stay, elements that are done, and at the end those without any sum."""
        staying = max(0, min(last, self.resident) - first)
        elements = table.done * staying
        if final:
            elements += (self.rows - self._done) * self.resident
            elements += int(np.count_nonzero(~self._seen)) * (self.columns - self.resident)
        return self._partial_bytes(table.chunk.sums, first, last) + elements * self.parameters.value.sum_bytes


def _spliced(passes: Iterator[Pass], chosen: Sequence[int]) -> Iterator[Pass]:
    """The chosen passes one behind another, numbered anew; what they move and load stays as it is.

    A pass awaits the writes of the pass that is as far before it as in the whole run.
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
    """Multiplications of two nonzeros."""
    counts = np.diff(part.slice.streamed.indptr)[part.inner]
    return int(counts[part.values != 0].sum())
