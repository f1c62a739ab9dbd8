# cython: infer_types=True
"""Read bursts on their way back, in the order in which they were issued, and the requests they make up."""

from __future__ import annotations

from array import array

from fiberscope.sim.constants import MAX_TIME


def _numbers(count: int) -> array[int]:
    return array("q", bytes(8 * count))


class Returns:  # C: final
    """A first-in first-out of bursts; a request is complete when the last of its bursts has come.

    Args:
        bursts: bursts on their way back, at the most.
        requests: reads not yet answered, at the most.

    ``count`` is the bursts on their way, ``awaited`` those of open requests that are not yet; ``tag``,
    ``address``, ``arrival`` (cycle) are by request.
    """

    def __init__(self, bursts: int, requests: int) -> None:
        self.capacity = bursts
        self.count = 0
        self.awaited = 0
        self._head = 0
        self._request = _numbers(bursts)
        self._due = _numbers(bursts)
        self.tag = _numbers(requests)
        self.address = _numbers(requests)
        self.arrival = _numbers(requests)
        self._missing = _numbers(requests)
        self._unused = array("q", range(requests))
        self._unused_count = requests

    def open(self, tag: int, address: int, bursts: int, cycle: int) -> int:  # C: cdef, noexcept
        """Number of a new request of this many bursts."""
        self._unused_count -= 1
        request = self._unused[self._unused_count]
        self.tag[request] = tag
        self.address[request] = address
        self.arrival[request] = cycle
        self._missing[request] = bursts
        self.awaited += bursts
        return request

    def append(self, request: int, due: int) -> None:  # C: cdef, noexcept
        """A burst of this request will be here at cycle ``due``, but not before those ahead of it."""
        tail = self._head + self.count
        if tail >= self.capacity:
            tail -= self.capacity
        self._request[tail] = request
        self._due[tail] = due
        self.count += 1
        self.awaited -= 1

    def due(self) -> int:  # C: cdef, noexcept
        """When the first burst is here; ``MAX_TIME`` if none is on its way."""
        return self._due[self._head] if self.count else MAX_TIME

    def completes(self) -> bool:  # C: cdef, noexcept
        """Return whether the first burst is the last of its request."""
        return self._missing[self._request[self._head]] == 1

    def pop(self) -> int:  # C: cdef, noexcept
        """Take the first burst; returns its request, whose number is free again if it was the last."""
        request = self._request[self._head]
        self._head += 1
        if self._head == self.capacity:
            self._head = 0
        self.count -= 1
        self._missing[request] -= 1
        if self._missing[request] == 0:
            self._unused[self._unused_count] = request
            self._unused_count += 1
        return request

    def open_requests(self) -> list[int]:  # C: def
        """The numbers of the reads that are not yet answered."""
        return [request for request in range(len(self._missing)) if self._missing[request] > 0]
