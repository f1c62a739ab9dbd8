# cython: infer_types=True
"""The components at the ends of a replay: a source of requests from a trace, and a sink of replies."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.memory.protocol import READ, READ_BURST, REPLY, REQUEST
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.errors import SimulationError

Request = tuple[int, int, int]  # earliest cycle, operation, byte address


class TraceSource(Component):
    """A source that issues the requests of a trace in order, each in or after its earliest cycle.

    The tag of a request is its index in the trace.

    Args:
        requests: requests as (earliest cycle, operation, byte address).
        issue_per_cycle: maximum number of requests issued in a cycle.
    """

    PORTS = (Output("requests", REQUEST),)

    requests: Channel

    def __init__(self, name: str, requests: Sequence[Request], issue_per_cycle: int) -> None:
        super().__init__(name)
        # An entry that is never issued follows the last request, so that the index needs no check
        self._earliest = array("q", [request[0] for request in requests] + [MAX_TIME])
        self._operation = array("q", [request[1] for request in requests] + [READ])
        self._address = array("q", [request[2] for request in requests] + [0])
        self._total = len(requests)
        self._issue_per_cycle = issue_per_cycle
        self._position = 0

    def tick(self, now: int) -> int:
        """Issue the requests of one cycle."""
        for _ in range(self._issue_per_cycle):
            if self._earliest_of_next() > now or not self.requests.can_push():
                break
            position = self._position
            self.requests.push(self._operation[position], position, self._address[position], 0.0)
            self._position += 1
        if self._position == self._total:
            return self.idle()
        if not self.requests.can_push():
            return self.wait_output(self.requests)
        return self.busy(max(now + 1, self._earliest_of_next()))

    def _earliest_of_next(self) -> int:  # C: noexcept
        """Return the earliest cycle of the next request, ``MAX_TIME`` after the last one."""
        return self._earliest[self._position]


class ReplySink(Component):
    """A sink that records the tag of every reply, and the cycle in which the memory sent the reply.

    Args:
        replies: expected number of replies.

    ``count`` is the number of replies so far. ``tags`` and ``cycles_sent`` are arrays by order of arrival, of
    which the first ``count`` elements are valid.

    Raises:
        SimulationError: in the run, if more replies arrive.
    """

    PORTS = (Input("replies", REPLY),)

    replies: Channel

    def __init__(self, name: str, replies: int) -> None:
        super().__init__(name)
        self.count = 0
        self.tags = array("q", bytes(8 * max(1, replies)))
        self.cycles_sent = array("q", bytes(8 * max(1, replies)))
        self._expected = replies

    def tick(self, now: int) -> int:
        """Pop all visible replies."""
        while self.replies.can_pop():
            if self.count == self._expected:
                raise SimulationError(f"{self.name}: more replies than the {self._expected} reads")
            self.tags[self.count] = self.replies.coordinate()
            # The sink pops every reply in the first cycle in which it sees it, so this is the cycle of its
            # push
            self.cycles_sent[self.count] = now - self.replies.latency
            self.count += 1
            self.replies.pop()
        return self.idle()

    def completions(self) -> tuple[tuple[int, int], ...]:  # C: def
        """Return (tag, cycle) of every reply, in the order of arrival."""
        return tuple((self.tags[index], self.cycles_sent[index]) for index in range(self.count))


def reads_of(requests: Sequence[Request]) -> int:
    """Return the number of requests that get a reply."""
    return sum(request[1] in (READ, READ_BURST) for request in requests)
