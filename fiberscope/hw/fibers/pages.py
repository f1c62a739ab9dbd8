# cython: infer_types=True
"""Pages of memory for what is written in an order nobody knows beforehand: the next to whoever asks first."""

from __future__ import annotations

from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.protocol import Protocol

# Protocols: a token asks for a page, one with its number as reference gives it.
PAGE_REQUEST = Protocol("page request")
PAGE = Protocol("page", reference="page")


class PageAllocator(Component):
    """Gives those who write one tensor together its pages of memory, one behind the other.

    What each of them writes follows in addresses of its own, which memory backs page by page as they are
    first written: how long the tensor will be, and who will write how much of it, nobody knows beforehand. So
    what is written at about the same time lies close together.

    Interface: a token on ``page_requests[i]`` asks for a page, its number comes as reference on ``pages[i]``.

    Timing: any number of requests a cycle, the lower number first; a page is given in the cycle in which the
    request is seen, or when there is space for it.

    Args:
        name: instance name.
        first: number of the first page it gives.
    """

    PORTS = (Input("page_requests", PAGE_REQUEST, array=True), Output("pages", PAGE, array=True))

    page_requests: list[Channel]
    pages: list[Channel]

    def __init__(self, name: str, first: int = 0) -> None:
        super().__init__(name)
        self.first = first
        self.allocated = 0

    def tick(self, now: int) -> int:
        """Give a page to everyone who asks and has space for it."""
        pages_before, waits = self.allocated, False
        for i in range(len(self.page_requests)):
            asks, gets = self.page_requests[i], self.pages[i]
            if asks.can_pop() and gets.can_push():
                asks.pop()
                gets.push(0, 0, self.first + self.allocated)
                self.allocated += 1
            elif asks.can_pop():
                waits = True
        if self.allocated > pages_before:
            return self.busy(now + 1)
        return self.wait_any_output(self.pages) if waits else self.idle()

    def counters(self) -> dict[str, int]:
        """Pages given."""
        return {"pages": self.allocated}

    def signals(self) -> tuple[Signal, ...]:
        """Pages given so far."""
        return (Signal("pages", 32),)

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.allocated,)
