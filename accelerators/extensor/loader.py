"""Brings pairs of tiles into the last-level buffer, the next one while one is worked on."""

from __future__ import annotations

import numpy as np

from fiberscope.accelerators.extensor.layout import HALVES, PAIR, SIGNAL
from fiberscope.accelerators.extensor.operand import TiledOperand
from fiberscope.hw.fibers.memory_stream import DONE, JOB
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal


class Loader(Component):
    """Fills the halves of the last-level buffer in turn.

    Interface: pairs come in on ``pairs``; their bytes are asked for on ``a_jobs`` and ``b_jobs`` and reported
    on ``a_done`` and ``b_done``; a pair that is there goes out on ``loaded``. A token on ``released`` frees a
    half. Of A's tile only the microtiles come whose K1 coordinate B's tile has too: the others cannot meet
    anything. A tile of B that is there already, for another tile of A, is not brought again.

    Args:
        name: instance name.
        a, b: the operands.
        halves: of the last-level buffer.
    """

    PORTS = (
        Input("pairs", PAIR),
        Output("a_jobs", JOB),
        Input("a_done", DONE),
        Output("b_jobs", JOB),
        Input("b_done", DONE),
        Output("loaded", PAIR),
        Input("released", SIGNAL),
    )
    SIGNALS = (Signal("held", 4), Signal("begun", 32))

    pairs: Channel
    a_jobs: Channel
    a_done: Channel
    b_jobs: Channel
    b_done: Channel
    loaded: Channel
    released: Channel

    def __init__(self, name: str, a: TiledOperand, b: TiledOperand, *, halves: int = HALVES) -> None:
        super().__init__(name)
        self.a = a
        self.b = b
        self.halves = halves
        self.held = 0  # of them in use
        self.pair: tuple[int, int] | None = None
        self.missing = [False, False]  # whether the pair's tile of A is in flight, and of B
        self.tile_of_b = -1
        self.begun = 0  # pairs

    def elaborate(self) -> None:
        """Fetch the channels; those of A's stream and of B's go side by side."""
        super().elaborate()
        self.jobs = (self.a_jobs, self.b_jobs)
        self.done = (self.a_done, self.b_done)

    def tick(self, now: int) -> int:
        """Free a half, note what came, hand on a pair that is complete, begin the next."""
        progress = self._free()
        progress = self._receive() or progress
        if self.pair is not None and not any(self.missing):
            self.loaded.push(0, *self.pair)  # there is space, for both halves
            self.pair = None
            progress = True
        elif self.pair is None and self.held < self.halves and self.pairs.can_pop():
            self._begin()
            progress = True
        return self.busy(now + 1) if progress else self._wait()

    def _wait(self) -> int:
        if any(self.missing):
            return self.wait_input(self.done[self.missing.index(True)])
        return self.wait_input(self.released) if self.held else self.idle()

    def _free(self) -> bool:
        if not self.released.can_pop():
            return False
        self.released.pop()
        self.held -= 1
        return True

    def _receive(self) -> bool:
        progress = False
        for i, channel in enumerate(self.done):
            if channel.can_pop():
                channel.pop()
                self.missing[i] = False
                progress = True
        return progress

    def _begin(self) -> None:
        """Ask for a pair; there is space for its jobs, since those of the last one are done."""
        self.pair = self.pairs.coordinate(), self.pairs.reference()
        self.pairs.pop()
        self.held += 1
        for channel, size in zip(self.jobs, self._bytes(*self.pair), strict=True):
            channel.push(0, size)
        self.missing = [True, True]
        self.tile_of_b = self.pair[1]
        self.begun += 1

    def _bytes(self, tile_a: int, tile_b: int) -> tuple[int, int]:
        """Bytes of both tiles that have to come."""
        coordinates, sizes = self.a.microtiles(tile_a)
        met = np.isin(coordinates, self.b.microtiles(tile_b)[0])
        return int(sizes[met].sum()), 0 if tile_b == self.tile_of_b else int(self.b.tile_bytes[tile_b])

    def counters(self) -> dict[str, int]:
        """Pairs of tiles brought."""
        return {"pairs": self.begun}
