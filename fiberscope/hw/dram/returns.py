# cython: infer_types=True
"""The read bursts in flight, in the order of their arrival, and their requests."""

from __future__ import annotations

from array import array

from fiberscope.sim.constants import MAX_TIME


def _numbers(count: int) -> array[int]:
    return array("q", bytes(8 * count))


class Returns:  # C: final
    """A FIFO of read bursts in flight. A request is complete when its last burst has arrived.

    A burst enters when its RD is issued, or when it is forwarded from the write queue without a RD.

    Args:
        bursts: maximum number of bursts in flight.
        requests: maximum number of open requests, that is, of reads without a reply.

    ``count`` is the number of bursts in flight. ``awaited`` is the number of bursts of open requests that are
    neither in flight nor arrived: they wait for their RD. ``tag``, ``address`` and ``arrival`` (the
    cycle in which the channel accepted the request) are arrays by request.
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

    def open_request(self, tag: int, address: int, bursts: int, cycle: int) -> int:  # C: cdef, noexcept
        """Open a request of ``bursts`` bursts and return its number; a number must be free.

        Args:
            tag, address: tag and address of the request, for the reply.
            bursts: number of its bursts, at least 1.
            cycle: cycle in which the channel accepts the request.
        """
        # ``_unused`` is a stack of the free numbers
        self._unused_count -= 1
        request = self._unused[self._unused_count]
        self.tag[request] = tag
        self.address[request] = address
        self.arrival[request] = cycle
        self._missing[request] = bursts
        self.awaited += bursts
        return request

    def append(self, request: int, due: int) -> None:  # C: cdef, noexcept
        """Append a burst of a request. It arrives in cycle ``due``, but not before the bursts ahead of it.

        Call this only if ``count`` is below ``capacity``.
        """
        tail = self._head + self.count
        if tail >= self.capacity:
            tail -= self.capacity
        self._request[tail] = request
        self._due[tail] = due
        self.count += 1
        self.awaited -= 1

    def due(self) -> int:  # C: cdef, noexcept
        """Return the cycle in which the first burst arrives, ``MAX_TIME`` if none is in flight.

        The cycle lies in the past if a full channel of replies has held up the burst.
        """
        return self._due[self._head] if self.count else MAX_TIME

    def completes(self) -> bool:  # C: cdef, noexcept
        """Return whether the first burst is the last of its request; a burst must be in flight."""
        return self._missing[self._request[self._head]] == 1

    def pop(self) -> int:  # C: cdef, noexcept
        """Remove the first burst, which must exist, and return its request.

        The caller waits for the cycle ``due`` first; this method does not check it.
        The last burst of a request frees the request's number. ``tag``, ``address`` and ``arrival`` of this
        number stay valid until the next ``open_request``.
        """
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
        """Return the numbers of the open requests."""
        return [request for request in range(len(self._missing)) if self._missing[request] > 0]
