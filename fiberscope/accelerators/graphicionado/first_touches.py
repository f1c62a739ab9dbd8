# cython: infer_types=True
"""A counter of the vertices that a stream's updates touch, for machines without a bitmap of them."""

from __future__ import annotations

from fiberscope.hw.memory.atomic_update import TOUCHED
from fiberscope.hw.memory.touched import COUNT
from fiberscope.hw.stream import STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output


class FirstTouches(Component):
    """A counter of touched vertices.

    Interface: ``touched`` brings a token for each vertex that an update touches for the first time. When a
    stop arrives, ``ready`` sends the number of tokens since the previous stop.

    Timing: one token per cycle.

    Counts: ``touches``.
    """

    PORTS = (Input("touched", TOUCHED), Output("ready", COUNT))
    COUNTERS = ("touches",)

    touched: Channel
    ready: Channel

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.count = 0  # tokens since the last stop
        self.touches = 0

    def tick(self, now: int) -> int:
        """Take a token; send the count at a stop."""
        if not self.touched.can_pop():
            return self.idle()
        if self.touched.control() == STOP:
            if not self.ready.can_push():
                return self.wait_output(self.ready)
            self.ready.push(0, 0, self.count)
            self.count = 0
        else:
            self.count += 1
            self.touches += 1
        self.touched.pop()
        return self.busy(now + 1)
