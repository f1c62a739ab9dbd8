# cython: infer_types=True
"""Counts the destinations that a stream's updates reach first, where no bitmap notes which they are."""

from __future__ import annotations

from fiberscope.hw.memory.atomic_update import TOUCHED
from fiberscope.hw.memory.touched import COUNT
from fiberscope.hw.stream import STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output


class FirstTouches(Component):
    """Takes what is touched; behind the stop it is ``ready`` and tells how many they were.

    Counts: ``touches``.

    Args:
        name: instance name.
    """

    PORTS = (Input("touched", TOUCHED), Output("ready", COUNT))
    COUNTERS = ("touches",)

    touched: Channel
    ready: Channel

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.count = 0  # since the last stop
        self.touches = 0

    def tick(self, now: int) -> int:
        """Take one."""
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
