# cython: infer_types=True
"""A sorting network, which sorts the keys of a row by columns of compare-exchange units, a row a cycle."""

from __future__ import annotations

from fiberscope.hw.lanes.rows import MAXIMUM_LANES, ArrayPipeline, check_size
from fiberscope.hw.stream import STREAM
from fiberscope.sim.component import Input, Output, Signal

Column = tuple[tuple[int, int], ...]  # pairs of lanes; the first lane of a pair gets the smaller key


def network(lanes: int) -> tuple[Column, ...]:
    """Return the columns of compare-exchange units of a bitonic sorter (Batcher 1968).

    Each lane is in one pair of each column. Bitonic mergers sort runs of 2, 4, ... lanes, alternately in
    ascending and descending order. Two neighbouring runs are therefore a bitonic sequence for the next
    merger.

    Args:
        lanes: number of lanes, a power of two, at least 2.

    Returns:
        The columns in the order of the stages.
    """
    return tuple(
        tuple(_pair(lane, span, run) for lane in range(lanes) if not lane & span)
        for run in _powers(2, lanes)
        for span in reversed(_powers(1, run // 2))
    )


def _powers(first: int, last: int) -> list[int]:
    """Return the powers of two from ``first`` to ``last``, both powers of two; none if ``last`` is less."""
    return [1 << level for level in range(first.bit_length() - 1, last.bit_length())]


def _pair(lane: int, span: int, run: int) -> tuple[int, int]:
    # A lane whose bit ``run`` is set is in a descending run. The last run has all lanes, so that it ascends.
    return (lane + span, lane) if lane & run else (lane, lane + span)


def depth(lanes: int) -> int:
    """Return the number of columns, a cycle each: n (n + 1) / 2 with n = log2(lanes)."""
    levels = lanes.bit_length() - 1
    return levels * (levels + 1) // 2


class SortingNetwork(ArrayPipeline):
    """A sorting network that sorts each row of an array by its coordinates, ``lanes`` numbers a cycle.

    Interface: ``lanes`` receives arrays and ``sorted`` sends arrays, row by row, see
    ``fiberscope.hw.lanes.rows``. The tokens of each row are sent in ascending order of their coordinates,
    followed by the stops of the row; references and values move with their coordinates. The sort is stable,
    as the network also compares lane numbers.

    Timing: a row is accepted when all lanes have a token, one row a cycle. The reader sees the sorted row
    ``depth`` cycles later if the channels at ``sorted`` have a latency of 1, as they are the register of the
    last column. The stages stall, and cycles are accounted for, as in
    ``fiberscope.hw.lanes.prefix_sum.PrefixSum``.

    Counts: ``chunks``, the rows with numbers; ``numbers``, the numbers; ``compare_exchanges``, the
    operations of all compare-exchange units, one for each unit and chunk.

    Source: MINT (Section V-A, Figure 8) sorts a chunk of column ids in a pipelined network as wide as the
    metadata of a cycle. The bitonic network (Batcher, *Sorting networks and their applications*, 1968) and
    the stable order are choices of this model.

    Args:
        lanes: numbers a cycle, a power of two from 2 to 256.
        width: bits of a coordinate, 1 to 62.

    Raises:
        ValueError: if a number is out of its range.
        SimulationError: as ``fiberscope.hw.lanes.rows.ArrayPipeline``.
    """

    PORTS = (Input("lanes", STREAM, array=True), Output("sorted", STREAM, array=True))

    def __init__(self, name: str, lanes: int, width: int = 32) -> None:
        check_size(name, lanes, width)
        if lanes < 2 or lanes & (lanes - 1):
            raise ValueError(f"{name}: lanes must be a power of two from 2 to {MAXIMUM_LANES}, not {lanes}")
        # The channels at ``sorted`` are the register of the last column
        super().__init__(name, ("lanes", "sorted"), lanes, width, depth(lanes) - 1)
        self.comparators = sum(map(len, network(lanes)))
        self.chunks = 0

    def _compute(self, number: int, reference: int, index: int) -> None:
        self.coordinates[index] = number
        self.references[index] = reference

    def _process_row(self, index: int) -> None:
        """Accept a row, and sort its numbers at once by insertion, which is stable."""
        earlier_numbers = self.numbers
        ArrayPipeline._process_row(self, index)
        count = self.numbers - earlier_numbers
        if count > 0:
            self.chunks += 1
        # All numbers of a row precede its stops, so that they are the first ``count`` elements
        for last in range(index + 1, index + count):
            self._insert(index, last)

    def _insert(self, first: int, last: int) -> None:
        """Insert element ``last`` into the sorted elements ``first`` to ``last`` - 1."""
        coordinate, reference, value = self.coordinates[last], self.references[last], self.values[last]
        while last > first and self.coordinates[last - 1] > coordinate:
            self.coordinates[last] = self.coordinates[last - 1]
            self.references[last] = self.references[last - 1]
            self.values[last] = self.values[last - 1]
            last -= 1
        self.coordinates[last], self.references[last], self.values[last] = coordinate, reference, value

    def counters(self) -> dict[str, int]:
        """Return the numbers of rows with numbers, of numbers, and of compare-exchange operations."""
        return {
            "chunks": self.chunks,
            "numbers": self.numbers,
            "compare_exchanges": self.chunks * self.comparators,
        }

    def signals(self) -> tuple[Signal, ...]:
        """Return the signals: rows in the pipeline, chunks and numbers so far."""
        # At most 35 rows are in the pipeline: a network of 256 lanes has 36 columns
        return (Signal("in_flight", 6), Signal("chunks", 48), Signal("numbers", 48))

    def sample(self) -> tuple[int, ...]:
        """Return the current values of the signals."""
        return (self.pipeline.filled, self.chunks, self.numbers)
