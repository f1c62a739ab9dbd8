# cython: infer_types=True
"""The page allocator: assigns pages of memory to writers in the order of their requests."""

from __future__ import annotations

from fiberscope.hw.lanes.channels import check_connected
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.protocol import Protocol

# A token of PAGE_REQUEST requests a page; the reference of a token of PAGE is the number of the page.
PAGE_REQUEST = Protocol("page request")
PAGE = Protocol("page", reference="page")


class PageAllocator(Component):
    """Assigns consecutive pages of memory to the components that write one tensor together.

    Each writer has a virtual address range of its own, which is backed page by page, as the writer requests
    pages. The length of the tensor and the share of each writer are therefore not needed in advance. Data
    that is written at about the same time lies in neighboring pages.

    Interface: a token on ``page_requests[i]`` requests a page. The number of the page leaves as reference on
    ``pages[i]``.

    Timing: any number of requests per cycle, in ascending order of i. A page is assigned in the cycle in
    which the request is visible, or in the first later cycle in which ``pages[i]`` has a free slot.

    Accounting: busy while pages are assigned; waiting for any of ``pages`` while a request lacks a free slot.

    Args:
        first: number of the first page to assign.

    Raises:
        SimulationError: when built, unless both arrays have as many connected ports.
    """

    PORTS = (Input("page_requests", PAGE_REQUEST, array=True), Output("pages", PAGE, array=True))

    page_requests: list[Channel]
    pages: list[Channel]

    def __init__(self, name: str, first: int = 0) -> None:
        super().__init__(name)
        self.first = first
        self.allocated = 0

    def elaborate(self) -> None:
        """Look up the channels, and check their number."""
        super().elaborate()
        check_connected(self, "pages", len(self.page_requests))

    def tick(self, now: int) -> int:
        """Assign a page to each writer with a request and a free slot for the page."""
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
        """Return the number of pages assigned."""
        return {"pages": self.allocated}

    def signals(self) -> tuple[Signal, ...]:
        """Return the signal: pages assigned so far."""
        return (Signal("pages", 32),)

    def sample(self) -> tuple[int, ...]:
        """Return the current values of the signals."""
        return (self.allocated,)
