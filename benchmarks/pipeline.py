"""Three small components for the benchmark of the engine, compiled like the blocks of ``hw``."""

from __future__ import annotations

from fiberscope.sim.component import Component, Input, Output
from fiberscope.sim.protocol import Protocol

NUMBER = Protocol("number", coordinate="number")


class Counter(Component):
    """Sends the numbers from 0, one per cycle."""

    PORTS = (Output("out", NUMBER),)

    def __init__(self, name: str, count: int) -> None:
        super().__init__(name)
        self.count = count
        self.sent = 0

    def elaborate(self) -> None:
        """Fetch the channel."""
        self.out = self.channel("out")

    def tick(self, now: int) -> int:
        """Send one number."""
        if self.sent == self.count:
            return self.idle()
        if not self.out.can_push():
            return self.wait_output(self.out)
        self.out.push(0, self.sent)
        self.sent += 1
        return self.busy(now + 1)


class Increment(Component):
    """Adds one to each number."""

    PORTS = (Input("in", NUMBER), Output("out", NUMBER))

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.additions = 0

    def elaborate(self) -> None:
        """Fetch the channels."""
        self.source = self.channel("in")
        self.out = self.channel("out")

    def tick(self, now: int) -> int:
        """Forward one number."""
        if not self.source.can_pop():
            return self.idle()
        if not self.out.can_push():
            return self.wait_output(self.out)
        self.out.push(0, self.source.coordinate() + 1)
        self.source.pop()
        self.additions += 1
        return self.busy(now + 1)


class Total(Component):
    """Sums all numbers."""

    PORTS = (Input("in", NUMBER),)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.total = 0

    def elaborate(self) -> None:
        """Fetch the channel."""
        self.source = self.channel("in")

    def tick(self, now: int) -> int:
        """Accept one number."""
        if not self.source.can_pop():
            return self.idle()
        self.total += self.source.coordinate()
        self.source.pop()
        return self.busy(now + 1)
