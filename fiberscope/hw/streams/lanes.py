# cython: infer_types=True
"""Pace of parallel lanes: a fixed number of elements per cycle, each step in cycles of its own."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.protocol import ANY


class Lanes(StreamBlock):
    """Limits a stream to the pace of parallel lanes, each of which takes one element of a step per cycle.

    Interface: the stream on ``in_stream`` leaves on ``out_stream`` with the same tokens. A stop of ``level``
    or above ends a step. If ``in_sizes`` is connected, it carries one number for each of these stops, and no
    done: how many elements the lanes hold in the step. ``in_stream`` then contains only some of these
    elements.

    Timing: one token per tick of the block's clock. A cycle of the lanes has ``ticks`` ticks, of which the
    first is the one in which a step begins, or in which an element needs a further cycle. A step of e
    elements takes ceil(e / lanes) cycles, at least one. Stops take no additional cycle. The next step, or
    done, waits until the cycles of the step are over. Elements that arrive late take further cycles.

    Counts: ``steps``, and the ``elements`` that the lanes hold in them.

    Source: spatial loops of TeAAL (MICRO 2023). That a step takes whole cycles is a choice of this model.

    Args:
        lanes: elements per cycle, at least 1.
        level: lowest level of the stops that end a step.
        ticks: ticks of the block's clock per cycle of the lanes, at least 1.

    Raises:
        ValueError: if ``lanes`` or ``ticks`` is below 1.
    """

    COUNTERS = ("steps", "elements")
    PORTS = (Input("in_stream", ANY), Input("in_sizes", CRD, optional=True), output_stream("out_stream", ANY))

    in_stream: Channel
    in_sizes: Channel | None
    out_stream: OutputStream

    def __init__(self, name: str, lanes: int, level: int = 0, ticks: int = 1) -> None:
        super().__init__(name)
        for label, number in (("lanes", lanes), ("ticks", ticks)):
            if number < 1:
                raise ValueError(f"{name}: {label} must be at least 1, not {number}")
        self.lanes = lanes
        self.level = level
        self.ticks = ticks
        self.in_step = False  # whether a step has begun and not ended
        self.free_from = 0  # first tick in which the next step may begin
        self.cycle_end = 0  # first tick after the current cycle of the lanes
        self.free_lanes = 0  # lanes that have no element in this cycle
        self.steps = 0
        self.elements = 0

    def update(self, now: int) -> int:
        """Pass a token, or begin a step with it, or wait until a cycle or a step is over."""
        source = self.in_stream
        if not source.can_pop():
            return self.wait_input(source)
        kind = source.control()
        if not self.in_step:
            if now < self.free_from:
                return self.busy(self.free_from)
            if kind != DONE:
                sizes = self.in_sizes
                if sizes is not None and not sizes.can_pop():
                    return self.wait_input(sizes)
                self._begin_step(now)
        if kind in (DATA, EMPTY):
            if self.free_lanes == 0 or now >= self.cycle_end:
                if now < self.cycle_end:
                    return self.busy(self.cycle_end)
                self._begin_cycle(now)
            self.free_lanes -= 1
            self.elements += self.in_sizes is None
        elif kind == STOP and source.coordinate() >= self.level:
            self.in_step = False
            self.steps += 1
        self.out_stream.forward(source)
        source.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _begin_step(self, now: int) -> None:
        """Begin a step, and pop its size if it is known before its end."""
        self.in_step = True
        self._begin_cycle(now)
        if self.in_sizes is not None:
            size = self.in_sizes.coordinate()
            self.in_sizes.pop()
            self.elements += size
            self.free_from = max(self.free_from, now + self.ticks * ((size + self.lanes - 1) // self.lanes))

    def _begin_cycle(self, now: int) -> None:
        """Begin a cycle of the lanes, all of which are free."""
        self.free_lanes = self.lanes
        self.cycle_end = now + self.ticks
        self.free_from = max(self.free_from, self.cycle_end)
