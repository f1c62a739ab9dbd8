# cython: infer_types=True
"""Pace of lanes: so many elements a cycle, those of different steps in different cycles."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY, REF, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input


class Lanes(StreamBlock):
    """Passes the elements of a step to lanes side by side, one to each lane in a cycle.

    Interface: references on ``in_ref``, which leave on ``out_ref``. A stop of ``level`` or above ends a step.

    Timing: a step of e elements takes ceil(e / lanes) cycles, and at least one. Stops take no time of their
    own. Elements that arrive late take further cycles.

    Counts: ``steps``, and the ``elements`` in them.

    Source: loops in space of TeAAL (MICRO 2023); that a step takes whole cycles is a choice of this model.

    Args:
        name: instance name.
        lanes: elements a cycle, at least 1.
        level: level of the stops that end a step.

    Raises:
        ValueError: if there is no lane.
    """

    COUNTERS = ("steps", "elements")
    PORTS = (Input("in_ref", REF), output_stream("out_ref", REF))

    in_ref: Channel
    out_ref: OutputStream

    def __init__(self, name: str, lanes: int, level: int = 0) -> None:
        super().__init__(name)
        if lanes < 1:
            raise ValueError(f"{name}: lanes must be at least 1, not {lanes}")
        self.lanes = lanes
        self.level = level
        self.begun = False  # whether elements of the current step have passed, in this cycle or before
        self.steps = 0
        self.elements = 0

    def update(self, now: int) -> int:
        """Pass elements of one step."""
        source = self.in_ref
        if not source.can_pop():
            return self.wait_input(source)
        free = self.lanes
        closed = False  # whether the step of this cycle has ended
        while source.can_pop() and self.out_ref.first_full() is None:
            kind = source.control()
            if kind in (DATA, EMPTY):
                if closed or free == 0:
                    break
                free -= 1
                self.elements += 1
                self.begun = True
            elif kind == STOP and source.coordinate() >= self.level:
                if closed:
                    break
                closed = free < self.lanes or not self.begun
                self.begun = False
                self.steps += 1
            self.out_ref.push(kind, source.coordinate())
            source.pop()
            if kind == DONE:
                return self.finish(now)
        return self.busy(now + 1)
