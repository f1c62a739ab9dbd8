# cython: infer_types=True
"""A sorting network: the keys of a row in order, a row a cycle, by columns of compare-exchanges."""

from __future__ import annotations

from fiberscope.hw.lanes.rows import MAXIMUM_LANES, ArrayPipeline, check_size
from fiberscope.hw.stream import STREAM
from fiberscope.sim.component import Input, Output, Signal

Column = tuple[tuple[int, int], ...]  # pairs of lanes that compare at once; the smaller key goes to the first


def network(lanes: int) -> tuple[Column, ...]:
    """The compare-exchanges, column by column (Batcher 1968): every lane is in one pair of each column.

    Runs of 2, 4, ... lanes are sorted by a bitonic merger each, every other one downwards, so that two
    neighbours are bitonic for the next merger.

    Args:
        lanes: a power of two, at least 2.
    """
    return tuple(
        tuple(_pair(lane, span, run) for lane in range(lanes) if not lane & span)
        for run in _powers(2, lanes)
        for span in reversed(_powers(1, run // 2))
    )


def _powers(first: int, last: int) -> list[int]:
    return [1 << level for level in range(first.bit_length() - 1, last.bit_length())]


def _pair(lane: int, span: int, run: int) -> tuple[int, int]:
    return (lane + span, lane) if lane & run else (lane, lane + span)


def depth(lanes: int) -> int:
    """Cycles from a row in to it sorted: n (n + 1) / 2 columns, n the logarithm of the lanes."""
    levels = lanes.bit_length() - 1
    return levels * (levels + 1) // 2


class SortingNetwork(ArrayPipeline):
    """Sorts each row of an array by its coordinates, ``lanes`` numbers a cycle.

    Interface: an array comes in on ``lanes`` and leaves on ``sorted``, row by row, see
    ``fiberscope.hw.lanes.rows``. Each row leaves with its coordinates in ascending order, stops behind them;
    reference and value stay with the coordinate. Equal coordinates stay in their order: the network compares
    the number of the lane too.

    Timing: a row is taken when all lanes show their token, one row a cycle, and can be seen behind ``depth``
    cycles later where the channels at ``sorted`` have a latency of 1: they are the last column's register.
    Stages in step and accounting: see ``fiberscope.hw.lanes.prefix_sum.PrefixSum``.

    Counts: ``chunks``, the rows with numbers; ``numbers``; ``compare_exchanges``, of every pair once a chunk.

    Source: MINT (Section V-A, Figure 8) sorts a chunk of column ids in a pipelined network as wide as the
    metadata of a cycle. That it is bitonic (Batcher, *Sorting networks and their applications*, 1968), and
    stable, are choices of this model.

    Args:
        name: instance name.
        lanes: numbers a cycle, a power of two from 2 to 256.
        width: bits of a coordinate, 1 to 62.

    Raises:
        ValueError: for a number out of its range.
        SimulationError: as ``fiberscope.hw.lanes.rows.ArrayPipeline``.
    """

    PORTS = (Input("lanes", STREAM, array=True), Output("sorted", STREAM, array=True))

    def __init__(self, name: str, lanes: int, width: int = 32) -> None:
        check_size(name, lanes, width)
        if lanes < 2 or lanes & (lanes - 1):
            raise ValueError(f"{name}: lanes must be a power of two from 2 to {MAXIMUM_LANES}, not {lanes}")
        super().__init__(name, ("lanes", "sorted"), lanes, width, depth(lanes) - 1)
        self.comparators = sum(map(len, network(lanes)))
        self.chunks = 0

    def _compute(self, number: int, reference: int, place: int) -> None:
        self.coordinates[place] = number
        self.references[place] = reference

    def _take(self, place: int) -> None:
        before = self.numbers
        ArrayPipeline._take(self, place)
        count = self.numbers - before
        if count > 0:
            self.chunks += 1
        for last in range(place + 1, place + count):
            self._insert(place, last)

    def _insert(self, first: int, last: int) -> None:
        """Move the last of a row of which all before it are in order to where it belongs."""
        coordinate, reference, value = self.coordinates[last], self.references[last], self.values[last]
        while last > first and self.coordinates[last - 1] > coordinate:
            self.coordinates[last] = self.coordinates[last - 1]
            self.references[last] = self.references[last - 1]
            self.values[last] = self.values[last - 1]
            last -= 1
        self.coordinates[last], self.references[last], self.values[last] = coordinate, reference, value

    def counters(self) -> dict[str, int]:
        """Rows with numbers, numbers, and compare-exchanges."""
        return {
            "chunks": self.chunks,
            "numbers": self.numbers,
            "compare_exchanges": self.chunks * self.comparators,
        }

    def signals(self) -> tuple[Signal, ...]:
        """Rows in the pipeline, and all chunks and numbers so far."""
        return (Signal("in_flight", 6), Signal("chunks", 48), Signal("numbers", 48))

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.pipeline.filled, self.chunks, self.numbers)
