"""Scans the bitmaps, packs folds and makes their tables, while the fold before is worked on."""

from __future__ import annotations

from collections import deque

from fiberscope.accelerators.sigma.plan import Pass, Plan
from fiberscope.accelerators.sigma.protocols import CHUNK, PASS
from fiberscope.accelerators.sigma.vectors import Vector, vectors
from fiberscope.hw.fibers.memory_stream import DONE, JOB
from fiberscope.hw.stream import BITMAP, DATA, ROW, STOP, STREAM
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

__all__ = ["FETCHES", "Controller"]

FETCHES = ("held", "streamed", "partial")  # the operands, and sums that did not stay


class Controller(Component):
    """Component that fetches passes, makes their tables and sends them on in order.

    Interface: the bytes of a pass are asked for on ``<what>_jobs`` and reported on ``<what>_done``, of each
    of ``FETCHES``; a pass that is there and whose tables are made goes out on ``ready``. A token on
    ``written`` says that the oldest pass under way is done with. Where units make the tables or follow them,
    see ``fiberscope.accelerators.sigma.tables``, a chunk goes out on ``chunks`` with its first pass. Where
    they scan, so do before it the vectors of its bitmaps on ``bitmaps``, and the stationary operand's words
    on ``words``, behind the last of which is a row of stops. Without memory and units only ``ready`` is
    connected.

    Timing: the bitmaps of a chunk are scanned ``bits_per_cycle`` bits a cycle; the settings of one Flex-DPE
    are made a cycle, as it is loaded, which takes no time of its own.

    Args:
        name: instance name.
        plan: what is to be done.
        most: passes under way, at the most.
        bits_per_cycle: bits of bitmaps that are scanned.
        counted: whether the scan for the first chunk counts.
    """

    PORTS = (
        *(Output(f"{what}_jobs", JOB, optional=True) for what in FETCHES),
        *(Input(f"{what}_done", DONE, optional=True) for what in FETCHES),
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

    def __init__(self, name: str, plan: Plan, *, most: int, bits_per_cycle: int, counted: bool) -> None:
        super().__init__(name)
        self.plan = plan
        self.most = most
        self.bits_per_cycle = bits_per_cycle
        self.counted = counted
        self.fetching: deque[Pass] = deque()
        self.scanning: Pass | None = None
        self.until = 0  # the cycle at which the scan under way ends
        self.passes = self.bits = 0
        self.retired = 0
        self.unscanned: list[Vector] = []  # by units, the next one last
        self.rows = 0  # of vectors that they have had

    def elaborate(self) -> None:
        """Fetch the channels of memory, if there is any."""
        super().elaborate()
        ways = ("jobs", "done") if self.written is not None else ()
        self.jobs, self.done = (
            [getattr(self, f"{what}_{way}") for what in FETCHES if ways] for way in ("jobs", "done")
        )

    @property
    def under_way(self) -> int:
        """Passes that are asked for and not done with; without memory those that wait for their scan."""
        return len(self.fetching) if self.written is None else self.passes - self.retired

    def tick(self, now: int) -> int:
        """Retire a pass, ask for one, take one that is here, hand one on whose tables are made."""
        progress = self._retire()
        progress = self._fetch() or progress
        progress = self._hand_on(now) or progress
        progress = self._begin(now) or progress
        progress = self._hand_on(now) or progress  # one without a scan of its own
        progress = self._scan() or progress
        if progress:
            return self.busy(now + 1)
        if self.scanning is not None and now < self.until:
            return self.busy(self.until)
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
        """Ask for the next pass, if there is room for it and its partial sums have been written."""
        coming = self.plan.following()
        if coming is None or self.under_way == self.most:
            return False
        if self.written is not None and self.retired < coming.awaited_writes:
            return False
        if not all(channel.can_push() for channel in self.jobs):
            return False
        for channel, size in zip(self.jobs, coming.fetched, strict=False):
            channel.push(0, size)
        self.fetching.append(self.plan.take())
        self.passes += 1
        return True

    def _begin(self, now: int) -> bool:
        """Take a pass whose bytes are here, and scan the bitmaps for its tables."""
        if self.scanning is not None or not self.fetching:
            return False
        if not all(channel.can_pop() for channel in self.done):
            return False
        for channel in self.done:
            channel.pop()
        self.scanning = pass_ = self.fetching.popleft()
        bits = pass_.table.bits if pass_.begins else 0
        hidden = pass_.number == 0 and not self.counted
        self.until = now + (0 if hidden else -(-bits // self.bits_per_cycle))
        self.bits += bits
        if self.bitmaps and pass_.begins:
            self.unscanned = list(vectors(pass_.table.chunk, self.plan))[::-1]
        return True

    def _hand_on(self, now: int) -> bool:
        if self.scanning is None or now < self.until or not self.ready.can_push():
            return False
        self.ready.push(0, self.scanning.number)
        if self.chunks is not None and self.scanning.begins:
            self.chunks.push(0, self.scanning.number, self.rows)
        if self.scanning.final:
            for lane in self.words:
                lane.push(STOP)
        self.scanning = None
        return True

    def _scan(self) -> bool:
        """Send units a row of vectors, the last one filled up."""
        if not self.unscanned:
            return False
        split = max(0, len(self.unscanned) - len(self.bitmaps) // self.plan.words)
        row, self.unscanned = self.unscanned[split:], self.unscanned[:split]
        tokens = [(kind, at, word) for kind, at, words in reversed(row) for word in words]
        for place, (bitmap, held) in enumerate(zip(self.bitmaps, self.words, strict=True)):
            kind, at, word = tokens[place] if place < len(tokens) else (ROW, 0, 0)
            bitmap.push(kind, word, at)
            held.push(DATA, word if kind == ROW else 0)
        self.rows += 1
        return True
