"""Loader of ExTensor: fetches pairs of tiles into the last-level buffer, one pair ahead of its use."""

from __future__ import annotations

from collections import deque

import numpy as np

from fiberscope.accelerators.extensor.layout import HALVES, PAIR, SIGNAL
from fiberscope.accelerators.extensor.operand import TiledOperand
from fiberscope.hw.fibers.memory_stream import DONE, JOB
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal


class Loader(Component):
    """A component that fills the halves of the last-level buffer, one after another.

    Interface: pairs arrive on ``pairs``. Their bytes are requested on ``a_jobs`` and ``b_jobs``, and
    ``a_done`` and ``b_done`` report their arrival. A complete pair leaves on ``loaded``. A token on
    ``released`` frees a half. Only the microtiles of A's tile are fetched whose K1 coordinate B's tile has
    too, because the others give no product. A tile of B that the previous pair loaded is not fetched again.

    With ``rows``, A's tiles are rows, and the buffer holds one tile of B. The lists of B's tile are fetched
    with the first row. With each row, the microtiles of B are fetched that the row needs and the buffer
    lacks. The next tile of B waits until no row needs the current one. If ``completed`` is connected, it also
    waits for a barrier: a token for each earlier pair whose products are all done.

    Args:
        a, b: the operands.
        halves: number of halves of the last-level buffer, each with a tile of A; may exceed two.
        rows: whether A's tiles are rows.
        ahead: largest number of pairs requested and not complete; at most the jobs that a stream takes.
    """

    PORTS = (
        Input("pairs", PAIR),
        Output("a_jobs", JOB),
        Input("a_done", DONE),
        Output("b_jobs", JOB),
        Input("b_done", DONE),
        Output("loaded", PAIR),
        Input("released", SIGNAL),
        Input("completed", SIGNAL, optional=True),
    )
    SIGNALS = (Signal("held", 16), Signal("begun", 32))

    pairs: Channel
    a_jobs: Channel
    a_done: Channel
    b_jobs: Channel
    b_done: Channel
    loaded: Channel
    released: Channel
    completed: Channel | None

    def __init__(
        self,
        name: str,
        a: TiledOperand,
        b: TiledOperand,
        *,
        halves: int = HALVES,
        rows: bool = False,
        ahead: int = 1,
    ) -> None:
        super().__init__(name)
        self.a = a
        self.b = b
        self.halves = halves
        self.rows = rows
        self.ahead = ahead
        self.held = 0  # halves in use
        self.pending: deque[tuple[int, int]] = deque()  # pairs requested and not complete
        self.arrived = [0, 0]  # number of tiles of A and of B that arrived for these pairs
        self.tile_of_b = -1  # tile of B requested last
        self.absent = np.zeros(0, bool)  # with rows, for each microtile of this tile, whether it is absent
        self.begun = 0  # pairs requested so far
        self.finished_pairs = 0  # with a barrier, pairs whose products are all done

    def elaborate(self) -> None:
        """Look up the channels, and pair those of A's stream with those of B's stream."""
        super().elaborate()
        self.jobs = (self.a_jobs, self.b_jobs)
        self.completions = (self.a_done, self.b_done)

    def tick(self, now: int) -> int:
        """Free a half, pop what arrived, and pass on a complete pair or request the next one."""
        progress = self._release_halves()
        progress = self._receive() or progress
        progress = self._count_completed() or progress
        if self.pending and all(self.arrived):
            self.loaded.push(0, *self.pending.popleft())  # has a slot for each half
            self.arrived = [count - 1 for count in self.arrived]
            progress = True
        elif len(self.pending) < self.ahead and self._has_free_half() and not self._must_wait():
            self._begin()
            progress = True
        return self.busy(now + 1) if progress else self._wait()

    def _wait(self) -> int:
        if self.pending:
            return self.wait_input(self.completions[self.arrived.index(0)])
        if self.completed is not None and self._has_free_half():
            return self.wait_input(self.completed)
        return self.wait_input(self.released) if self.held else self.idle()

    def _release_halves(self) -> bool:
        if not self.released.can_pop():
            return False
        self.released.pop()
        self.held -= 1
        return True

    def _receive(self) -> bool:
        progress = False
        for i, channel in enumerate(self.completions):
            if channel.can_pop():
                channel.pop()
                self.arrived[i] += 1
                progress = True
        return progress

    def _count_completed(self) -> bool:
        if self.completed is None or not self.completed.can_pop():
            return False
        self.completed.pop()
        self.finished_pairs += 1
        return True

    def _has_free_half(self) -> bool:
        """Return whether there is a pair to fetch and a free half for it."""
        return self.held < self.halves and self.pairs.can_pop()

    def _must_wait(self) -> bool:
        """Return whether the next pair must wait because it replaces a tile of B that is still needed."""
        if self.pairs.reference() == self.tile_of_b:
            return False
        return (self.rows and self.held > 0) or (
            self.completed is not None and self.finished_pairs < self.begun
        )

    def _begin(self) -> None:
        """Request a pair. Its jobs find free slots, because at most ``ahead`` pairs are incomplete."""
        pair = self.pairs.coordinate(), self.pairs.reference()
        self.pairs.pop()
        self.held += 1
        for channel, size in zip(self.jobs, self._bytes(*pair), strict=True):
            channel.push(0, size)
        self.pending.append(pair)
        self.tile_of_b = pair[1]
        self.begun += 1

    def _bytes(self, tile_a: int, tile_b: int) -> tuple[int, int]:
        """Return the bytes to fetch of A's tile and of B's tile."""
        a_bytes = bytes_of_a(self.a, self.b, tile_a, tile_b)
        is_new = tile_b != self.tile_of_b
        if not self.rows:
            return a_bytes, int(self.b.tile_bytes[tile_b]) if is_new else 0
        coordinates, _sizes = self.a.microtiles(tile_a)
        b_coordinates, b_microtile_bytes = self.b.microtiles(tile_b)
        list_bytes = int(self.b.tile_bytes[tile_b] - b_microtile_bytes.sum()) if is_new else 0
        if is_new:
            self.absent = np.ones(len(b_coordinates), bool)
        needed = self.absent & np.isin(b_coordinates, coordinates)
        self.absent &= ~needed
        return a_bytes, list_bytes + int(b_microtile_bytes[needed].sum())

    def counters(self) -> dict[str, int]:
        """Return the number of pairs of tiles requested."""
        return {"pairs": self.begun}


def bytes_of_a(a: TiledOperand, b: TiledOperand, tile_a: int, tile_b: int) -> int:
    """Return the bytes of the microtiles of A's tile whose K1 coordinate B's tile has too."""
    coordinates, sizes = a.microtiles(tile_a)
    return int(sizes[np.isin(coordinates, b.microtiles(tile_b)[0])].sum())
