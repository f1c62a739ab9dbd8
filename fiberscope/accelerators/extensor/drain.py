# cython: infer_types=True
"""Drain of ExTensor: merges complete rows of output tiles with the elements of Z in memory."""

from __future__ import annotations

from collections import deque

from fiberscope.accelerators.extensor.layout import HALVES, ROW, SIGNAL, TILE
from fiberscope.accelerators.extensor.output import OutputRow
from fiberscope.accelerators.extensor.product import StoredProduct
from fiberscope.hw.fibers.memory_stream import DONE, JOB
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal


class Drain(Component):
    """A component that writes output tiles to memory, each row of microtiles when it is complete.

    Interface: ``finished`` announces a tile with its number of rows, and each complete row. For the visited
    microtiles of a row, the drain reads the elements that memory holds (``read_jobs``, ``read_done``), merges
    them and writes them back (``partial_jobs``, ``partial_done``). Elements that memory did not hold are
    written separately (``new_jobs``, ``new_done``). ``drained`` announces that all rows of a tile are
    written. The rows of a pair wait while an earlier pair with the same output tile is not drained, because
    they merge with the elements that this pair leaves in memory.

    Timing: in each cycle the drain takes one row and requests its elements in memory, as far ahead as the
    stream takes jobs. In the same cycle it writes one row that was read. Merging takes no cycles of its own.

    Args:
        output_rows: rows of the output tile in the first half of the buffer, then of the following halves.
        output_tiles: for each pair in order, the first row M1 of its output tile and its N2, counted from 0.
        product: Z in memory.
        element_bytes: bytes of an element of Z.
        halves: number of halves of the buffer, each with a tile; may exceed two.
    """

    PORTS = (
        Input("finished", ROW),
        Output("drained", SIGNAL),
        Output("read_jobs", JOB),
        Input("read_done", DONE),
        Output("partial_jobs", JOB),
        Input("partial_done", DONE),
        Output("new_jobs", JOB),
        Input("new_done", DONE),
    )
    COUNTERS = ("tiles",)  # completely written tiles
    SIGNALS = (Signal("tiles", 32), Signal("reading", 16), Signal("writing", 16))

    finished: Channel
    drained: Channel
    read_jobs: Channel
    read_done: Channel
    partial_jobs: Channel
    partial_done: Channel
    new_jobs: Channel
    new_done: Channel

    def __init__(
        self,
        name: str,
        output_rows: list[OutputRow],
        output_tiles: list[tuple[int, int]],
        product: StoredProduct,
        element_bytes: int,
        *,
        halves: int = HALVES,
    ) -> None:
        super().__init__(name)
        self.output_rows = output_rows
        self.height = len(output_rows) // halves
        self.output_tiles = output_tiles
        self.product = product
        self.element_bytes = element_bytes
        self.pairs = 0  # pairs announced so far
        self.tiles = 0  # tiles drained
        self.pair = [0] * halves  # number of the pair in each half
        self.output_tile = [(0, 0)] * halves  # output tile in each half, as in ``output_tiles``
        self.undrained_rows = [0] * halves  # rows in each half that are not drained
        self.waiting_rows: deque[tuple[int, int]] = deque()  # half and row; wait for an earlier pair
        self.reading: deque[tuple[int, int, int]] = deque()  # half, bytes held in memory, new bytes
        self.writing: deque[int] = deque()  # half of each row that is being written
        self.read_rows = 0  # rows read and not written
        self.written_rows = [0, 0]  # rows in ``writing`` whose old, and whose new elements are written

    def elaborate(self) -> None:
        """Look up the channels, and pair those of the two streams that write."""
        super().elaborate()
        self.write_jobs = (self.partial_jobs, self.new_jobs)
        self.write_done = (self.partial_done, self.new_done)

    def tick(self, now: int) -> int:
        """Pop finished reads and writes, take a row or a tile, and write a row."""
        progress = self._receive()
        progress = self._take() or progress
        progress = self._write() or progress
        return self.busy(now + 1) if progress else self._wait()

    def _receive(self) -> bool:
        progress = False
        if self.read_done.can_pop():
            self.read_done.pop()
            self.read_rows += 1
            progress = True
        for i, channel in enumerate(self.write_done):
            if channel.can_pop():
                channel.pop()
                self.written_rows[i] += 1
                progress = True
        if all(self.written_rows):
            self._end_row()
        return progress

    def _end_row(self) -> None:
        """Finish the oldest row that is being written; ``drained`` has a slot for each half."""
        self.written_rows = [count - 1 for count in self.written_rows]
        half = self.writing.popleft()
        self.undrained_rows[half] -= 1
        if self.undrained_rows[half] == 0:
            self.drained.push(half)
            self.tiles += 1

    def _take(self) -> bool:
        """Take a new tile, or a complete row and request its elements in memory; return whether it did."""
        if not self.read_jobs.can_push():
            return False
        if self._read_waiting():
            return True
        if not self.finished.can_pop():
            return False
        half, row = self.finished.control(), self.finished.coordinate()
        if row == TILE:
            self.output_tile[half] = self.output_tiles[self.pairs]
            self.undrained_rows[half] = self.finished.reference()
            self.pair[half] = self.pairs
            self.pairs += 1
        elif self._must_wait(half):
            self.waiting_rows.append((half, row))
        else:
            self._read(half, row)
        self.finished.pop()
        return True

    def _read_waiting(self) -> bool:
        """Request the first waiting row whose earlier pair is drained; return whether there is one."""
        for half, row in self.waiting_rows:
            if not self._must_wait(half):
                self.waiting_rows.remove((half, row))
                self._read(half, row)
                return True
        return False

    def _must_wait(self, half: int) -> bool:
        """Return whether an earlier pair with the same output tile is not drained."""
        return any(
            count > 0 and pair < self.pair[half] and tile == self.output_tile[half]
            for count, pair, tile in zip(self.undrained_rows, self.pair, self.output_tile, strict=True)
        )

    def _read(self, half: int, row: int) -> None:
        """Request the elements of a row that memory holds, and merge the row into memory."""
        first_row, n2 = self.output_tile[half]
        elements = self.output_rows[half * self.height + row].take()
        old_elements, new_elements = self.product.merge((first_row + row, n2), *elements)
        self.read_jobs.push(0, old_elements * self.element_bytes)
        self.reading.append((half, old_elements * self.element_bytes, new_elements * self.element_bytes))

    def _write(self) -> bool:
        """Write the next row that was read; return whether it could."""
        if not self.read_rows or not all(channel.can_push() for channel in self.write_jobs):
            return False
        half, *sizes = self.reading.popleft()
        for channel, size in zip(self.write_jobs, sizes, strict=True):
            channel.push(0, size)
        self.writing.append(half)
        self.read_rows -= 1
        return True

    def _wait(self) -> int:
        if self.read_rows:
            return self.wait_output(next(jobs for jobs in self.write_jobs if not jobs.can_push()))
        if self.reading:
            return self.wait_input(self.read_done)
        if self.writing:
            return self.wait_input(self.write_done[1 if self.written_rows[0] else 0])
        return self.wait_input(self.finished) if any(self.undrained_rows) else self.idle()

    def counters(self) -> dict[str, int]:
        """Return the tiles drained, the nonzeros of Z so far and the additions to elements in memory."""
        return {**super().counters(), "output_nonzeros": self.product.nonzeros, "add": self.product.additions}

    def sample(self) -> tuple[int, ...]:
        """Return the numbers of tiles drained, of rows being read and of rows being written."""
        return self.tiles, len(self.reading), len(self.writing)
