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

    Timing: a step of e elements takes ceil(e / lanes) cycles, at least one. Stops take no additional time.
    Elements that arrive late take further cycles.

    Counts: ``steps``, and the ``elements`` that the lanes hold in them.

    Source: spatial loops of TeAAL (MICRO 2023). That a step takes whole cycles is a choice of this model.

    Args:
        lanes: elements per cycle, at least 1.
        level: lowest level of the stops that end a step.

    Raises:
        ValueError: if ``lanes`` is below 1.
    """

    COUNTERS = ("steps", "elements")
    PORTS = (Input("in_stream", ANY), Input("in_sizes", CRD, optional=True), output_stream("out_stream", ANY))

    in_stream: Channel
    in_sizes: Channel | None
    out_stream: OutputStream

    def __init__(self, name: str, lanes: int, level: int = 0) -> None:
        super().__init__(name)
        if lanes < 1:
            raise ValueError(f"{name}: lanes must be at least 1, not {lanes}")
        self.lanes = lanes
        self.level = level
        self.in_step = False  # whether elements of the current step have passed, in this cycle or before
        self.free_from = 0  # first cycle in which a step with a known size may begin
        self.steps = 0
        self.elements = 0

    def update(self, now: int) -> int:
        """Pass elements of one step."""
        if not self.in_stream.can_pop():
            return self.wait_input(self.in_stream)
        return self._count(now) if self.in_sizes is None else self._hold(now, self.in_sizes)

    def _hold(self, now: int, sizes: Channel) -> int:
        """Pass elements of a step with a known size; the next step waits until that time is over."""
        source = self.in_stream
        if not self.in_step:
            if now < self.free_from:
                return self.busy(self.free_from)
            if source.control() == DONE:
                self.out_stream.push(DONE)
                source.pop()
                return self.finish(now)
            if not sizes.can_pop():
                return self.wait_input(sizes)
            size = sizes.coordinate()
            sizes.pop()
            self.in_step = True
            self.elements += size
            self.free_from = now + max(1, (size + self.lanes - 1) // self.lanes)
        for _lane in range(self.lanes + 1):  # one element for each lane, and the stop
            if not source.can_pop() or self.out_stream.first_full() is not None:
                break
            ends_step = source.control() == STOP and source.coordinate() >= self.level
            self.out_stream.forward(source)
            source.pop()
            if ends_step:
                self.in_step = False
                self.steps += 1
                return self.busy(max(now + 1, self.free_from))
        return self.busy(now + 1)

    def _count(self, now: int) -> int:
        """Pass elements of a step whose size is the number of its elements in the stream."""
        source = self.in_stream
        free_lanes = self.lanes
        has_ended = False  # whether the step of this cycle has ended
        while source.can_pop() and self.out_stream.first_full() is None:
            kind = source.control()
            if kind in (DATA, EMPTY):
                if has_ended or free_lanes == 0:
                    break
                free_lanes -= 1
                self.elements += 1
                self.in_step = True
            elif kind == STOP and source.coordinate() >= self.level:
                if has_ended:
                    break
                has_ended = free_lanes < self.lanes or not self.in_step
                self.in_step = False
                self.steps += 1
            self.out_stream.forward(source)
            source.pop()
            if kind == DONE:
                return self.finish(now)
        return self.busy(now + 1)
