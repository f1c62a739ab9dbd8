"""The controller, which scans bitmaps and builds the tables of a fold while the previous fold is computed."""

from __future__ import annotations

from collections import deque

from fiberscope.accelerators.sigma.plan import Pass, Plan
from fiberscope.accelerators.sigma.protocols import CHUNK, PASS
from fiberscope.accelerators.sigma.vectors import Vector, vectors
from fiberscope.hw.fibers.memory_stream import DONE, JOB
from fiberscope.hw.stream import BITMAP, DATA, ROW, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

FETCHES = ("held", "streamed", "partial")  # stationary operand, streamed operand, spilled partial sums


class Controller(Component):
    """A controller that fetches the data of passes, builds their tables and sends the passes on in order.

    Interface:

    - ``<fetch>_jobs`` requests the bytes of a pass for each entry of ``FETCHES``, and ``<fetch>_done``
      reports that these bytes have arrived;
    - ``ready`` sends a pass on once its bytes have arrived and its tables are built;
    - a token on ``written`` reports that the oldest pass in flight is finished;
    - ``chunks`` sends a chunk with its first pass, if units make or use the tables (see
      ``fiberscope.accelerators.sigma.tables``);
    - ``bitmaps`` sends the vectors of the chunk's bitmaps before the chunk, and ``words`` the words of the
      stationary operand, if units scan the bitmaps. A row of stops follows the last words.

    Without memory and units, only ``ready`` is connected.

    Timing: the bitmaps of a chunk are scanned at ``bits_per_cycle``. The settings of a Flex-DPE are computed
    while that Flex-DPE is loaded, and add no cycles.

    Args:
        plan: the passes of the run.
        max_passes: largest number of passes in flight.
        bits_per_cycle: number of bits of the bitmaps scanned per cycle.
        counts_first_scan: whether the scan for the first chunk takes cycles; later scans always do.
    """

    PORTS = (
        *(Output(f"{fetch}_jobs", JOB, optional=True) for fetch in FETCHES),
        *(Input(f"{fetch}_done", DONE, optional=True) for fetch in FETCHES),
        Input("written", DONE, optional=True),
        Output("ready", PASS),
        Output("chunks", CHUNK, optional=True),
        Output("bitmaps", BITMAP, array=True, optional=True),
        Output("words", STREAM, array=True, optional=True),
    )
    COUNTERS = ("passes", "bits")
    SIGNALS = (Signal("passes", 32), Signal("bits", 48), Signal("under_way", 16))

    ready: Channel
    written: Channel | None
    chunks: Channel | None
    bitmaps: list[Channel]
    words: list[Channel]

    def __init__(
        self, name: str, plan: Plan, *, max_passes: int, bits_per_cycle: int, counts_first_scan: bool
    ) -> None:
        super().__init__(name)
        self.plan = plan
        self.max_passes = max_passes
        self.bits_per_cycle = bits_per_cycle
        self.counts_first_scan = counts_first_scan
        self.fetching: deque[Pass] = deque()
        self.scanning: Pass | None = None
        self.scan_end = 0  # cycle in which the current scan ends
        self.passes = self.bits = 0
        self.retired = 0
        self.unscanned: list[Vector] = []  # vectors not yet sent to the units; the next one is the last entry
        self.rows = 0  # number of rows of vectors sent to the units

    def elaborate(self) -> None:
        """Collect the channels to and from memory, if the machine has a memory."""
        super().elaborate()
        fetches = FETCHES if self.written is not None else ()
        self.jobs, self.done = (
            [getattr(self, f"{fetch}_{port}") for fetch in fetches] for port in ("jobs", "done")
        )

    @property
    def under_way(self) -> int:
        """Return the number of requested, unfinished passes; without memory, of passes waiting for a scan."""
        return len(self.fetching) if self.written is None else self.passes - self.retired

    def tick(self, now: int) -> int:
        """Retire a finished pass, request the next, begin to scan for an arrived one, and send one on."""
        progress = self._retire()
        progress = self._fetch() or progress
        progress = self._send_pass(now) or progress
        progress = self._begin(now) or progress
        progress = self._send_pass(now) or progress  # a pass that needs no scan is sent on in the same cycle
        progress = self._send_vectors() or progress
        if progress:
            return self.busy(now + 1)
        if self.scanning is not None and now < self.scan_end:
            return self.busy(self.scan_end)
        return self._wait()

    def _wait(self) -> int:
        if self.scanning is not None:
            return self.wait_output(self.ready)
        if self.fetching:
            missing = next(channel for channel in self.done if not channel.can_pop())
            return self.wait_input(missing)
        if self.plan.finished or self.written is None:
            return self.idle()
        return self.wait_input(self.written)

    def _retire(self) -> bool:
        if self.written is None or not self.written.can_pop():
            return False
        self.written.pop()
        self.retired += 1
        return True

    def _fetch(self) -> bool:
        """Request the data of the next pass, if a slot is free and its partial sums have been written."""
        pass_ = self.plan.following()
        if pass_ is None or self.under_way == self.max_passes:
            return False
        if self.written is not None and self.retired < pass_.awaited_writes:
            return False
        if not all(channel.can_push() for channel in self.jobs):
            return False
        for channel, size in zip(self.jobs, pass_.fetched, strict=False):
            channel.push(0, size)
        self.fetching.append(self.plan.take())
        self.passes += 1
        return True

    def _begin(self, now: int) -> bool:
        """Take the oldest pass once its bytes have arrived, and begin to scan the bitmaps for its tables."""
        if self.scanning is not None or not self.fetching:
            return False
        if not all(channel.can_pop() for channel in self.done):
            return False
        for channel in self.done:
            channel.pop()
        self.scanning = pass_ = self.fetching.popleft()
        bits = pass_.table.bits if pass_.is_chunk_start else 0
        is_hidden = pass_.number == 0 and not self.counts_first_scan
        self.scan_end = now + (0 if is_hidden else -(-bits // self.bits_per_cycle))
        self.bits += bits
        if self.bitmaps and pass_.is_chunk_start:
            self.unscanned = list(vectors(pass_.table.chunk, self.plan))[::-1]
        return True

    def _send_pass(self, now: int) -> bool:
        if self.scanning is None or now < self.scan_end or not self.ready.can_push():
            return False
        self.ready.push(0, self.scanning.number)
        if self.chunks is not None and self.scanning.is_chunk_start:
            self.chunks.push(0, self.scanning.number, self.rows)
        if self.scanning.is_final:
            for lane in self.words:
                lane.push(STOP)
        self.scanning = None
        return True

    def _send_vectors(self) -> bool:
        """Send one row of vectors to the units; the last row is padded with empty vectors."""
        if not self.unscanned:
            return False
        split = max(0, len(self.unscanned) - len(self.bitmaps) // self.plan.words)
        row, self.unscanned = self.unscanned[split:], self.unscanned[:split]
        tokens = [(kind, index, word) for kind, index, words in reversed(row) for word in words]
        for lane, (bitmap, values) in enumerate(zip(self.bitmaps, self.words, strict=True)):
            kind, index, word = tokens[lane] if lane < len(tokens) else (ROW, 0, 0)
            bitmap.push(kind, word, index)
            values.push(DATA, word if kind == ROW else 0)
        self.rows += 1
        return True
