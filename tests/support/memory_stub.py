"""A memory of random latency behind a block."""

from collections.abc import Sequence
from heapq import heappop, heappush

from fiberscope.hw.memory.protocol import READ, REPLY, REQUEST
from fiberscope.sim import Component, Input, Output
from fiberscope.sim.testing import Token, head

LINE = 64  # bytes


class MemoryStub(Component):
    """A memory that takes a request in each cycle and replies with random latency, possibly out of order.

    Args:
        name: instance name.
        latencies: cycles from taking a request to its answer, by turns.
        pauses: cycles in which nothing is taken after a request, by turns.
        answered: the operations that it answers.

    ``received`` is the list of (cycle, token) as taken, ``log`` the same as (cycle, operation, line, tag).
    """

    PORTS = (Input("requests", REQUEST), Output("replies", REPLY))

    def __init__(
        self,
        name: str,
        latencies: Sequence[int],
        pauses: Sequence[int] = (0,),
        answered: Sequence[int] = (READ,),
    ) -> None:
        super().__init__(name)
        self.answered = answered
        self.latencies = latencies
        self.pauses = pauses
        self.received: list[tuple[int, Token]] = []
        self.under_way: list[tuple[int, int, int, int]] = []  # ready, number, tag, address
        self.ready = 0

    def elaborate(self) -> None:
        self.requests = self.channel("requests")
        self.replies = self.channel("replies")

    def tick(self, now: int) -> int:
        if self.under_way and self.under_way[0][0] <= now and self.replies.can_push():
            _, _, tag, address = heappop(self.under_way)
            self.replies.push(READ, tag, address, 0.0)
        if self.requests.can_pop() and now >= self.ready:
            self._take(now)
        elif not self.under_way and not self.requests.can_pop():
            return self.idle()
        return self.busy(now + 1)

    def _take(self, now: int) -> None:
        number = len(self.received)
        self.received.append((now, head(self.requests)))
        if self.requests.control() in self.answered:
            latency = self.latencies[number % len(self.latencies)]
            tag, address = self.requests.coordinate(), self.requests.reference()
            self._answer(now + latency, number, tag, address)
        self.ready = now + 1 + self.pauses[number % len(self.pauses)]
        self.requests.pop()

    def _answer(self, cycle: int, number: int, tag: int, address: int) -> None:
        """Reply to a request from a cycle on."""
        heappush(self.under_way, (cycle, number, tag, address))

    @property
    def log(self) -> list[tuple[int, int, int, int]]:
        """Return the requests in lines of ``LINE`` bytes."""
        return [(cycle, token[0], token[2] // LINE, token[1]) for cycle, token in self.received]


class StrayMemory(MemoryStub):
    """A memory that replies twice to each request, or with another tag.

    Args:
        strays: the differences between the tags of the replies and that of the request.
    """

    def __init__(self, name: str, strays: Sequence[int]) -> None:
        super().__init__(name, (3,))
        self.strays = strays

    def _answer(self, cycle: int, number: int, tag: int, address: int) -> None:
        for stray in self.strays:
            heappush(self.under_way, (cycle, number, tag + stray, address))


STRAYS = {"twice": (0, 0), "the next": (1,), "far away": (1 << 20,)}
