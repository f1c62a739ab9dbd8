# cython: infer_types=True
"""A reorder window: tracks replies that arrive out of the order in which their requests were sent."""

from __future__ import annotations

from array import array

from fiberscope.hw.memory.protocol import refuse_reply
from fiberscope.sim.errors import SimulationError


class ReorderWindow:  # C: final
    """The bookkeeping of a reorder buffer, without its data: which requests in flight have a reply.

    Requests are numbered in the order in which they are sent. Each request carries a slot, a number below
    ``size``, and its reply returns the slot. A request leaves the window when it and all older requests have
    a reply. A reply that overtakes the reply of an older request is recorded until then.

    Attributes: ``sent`` is the number of requests sent so far. ``arrived`` is the number of requests that
    have left the window: requests 0 to ``arrived`` - 1 all have a reply.

    Args:
        size: maximum number of requests in the window. A request whose reply has overtaken an older reply
            still counts.

    Raises:
        ValueError: if ``size`` is below 1.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a window must have a size of at least 1, not {size}")
        self.size = size
        self.sent = 0
        self.arrived = 0
        # Slots of the next request and of the oldest request in the window
        self._next_free = self._oldest = 0
        self._complete = array("b", bytes(size))  # by slot: 1 if only older replies are missing

    def in_flight(self) -> int:  # C: noexcept
        """Return the number of requests in the window, those whose reply overtook an older one included."""
        return self.sent - self.arrived

    def has_free_slot(self) -> bool:  # C: noexcept
        """Return whether the window has a free slot for another request."""
        return self.sent - self.arrived < self.size

    def send(self) -> int:
        """Record the sending of the next request, and return its slot.

        Raises:
            SimulationError: if the window is full.
        """
        if not self.has_free_slot():
            raise SimulationError(f"a window of {self.size} has no room for another request")
        slot = self._next_free
        self._next_free = self._next_slot(slot)
        self.sent += 1
        return slot

    def _next_slot(self, slot: int) -> int:  # C: noexcept, inline
        """Return the slot after this one; a comparison is much faster than the division of a modulo."""
        return slot + 1 if slot + 1 < self.size else 0

    def receive(self, slot: int) -> int:
        """Record the reply to the request in a slot, and return by how much ``arrived`` grows.

        The result is 0 while the reply of an older request is missing.

        Raises:
            SimulationError: if no request in this slot waits for a reply.
        """
        # The slots form a ring: the requests in the window are in the slots from the oldest one on.
        age = slot - self._oldest if slot >= self._oldest else slot - self._oldest + self.size
        if slot < 0 or slot >= self.size or age >= self.in_flight() or self._complete[slot]:
            refuse_reply(slot)
        self._complete[slot] = 1
        previous = self.arrived
        # The loop ends: the flag of a slot is cleared before the next slot is looked at
        while self._complete[self._oldest]:
            self._complete[self._oldest] = 0
            self._oldest = self._next_slot(self._oldest)
            self.arrived += 1
        return self.arrived - previous
