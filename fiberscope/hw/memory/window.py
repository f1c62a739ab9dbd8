# cython: infer_types=True
"""The bookkeeping of a reorder buffer: requests sent in order, answered in any, counted without a gap."""

from __future__ import annotations

from array import array

from fiberscope.sim.errors import SimulationError


class ReorderWindow:  # C: final
    """Which of the requests that were sent have been answered, the oldest first.

    Requests are numbered as they are sent. A request goes out with its slot, a number below ``size``, which
    the answer brings back. An answer that came before that of an older request waits for it here.

    Attributes: ``sent`` is requests ever sent; ``arrived`` how many of them are answered without a gap: all
    with a lower number are.

    Args:
        size: requests in flight at the most, those counted whose answer waits for an older one's.

    Raises:
        ValueError: if the size is below 1.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"a window must have a size of at least 1, not {size}")
        self.size = size
        self.sent = 0
        self.arrived = 0
        self._next = self._oldest = 0  # slots: of the next request, and of the oldest in flight
        self._here = array("b", bytes(size))

    def in_flight(self) -> int:  # C: noexcept
        """Requests without an answer, or whose answer waits for an older one's."""
        return self.sent - self.arrived

    def has_room(self) -> bool:  # C: noexcept
        """Return whether another request may be sent."""
        return self.sent - self.arrived < self.size

    def send(self) -> int:
        """Send the next request; returns its slot.

        Raises:
            SimulationError: if the window is full.
        """
        if not self.has_room():
            raise SimulationError(f"a window of {self.size} has no room for another request")
        slot = self._next
        self._next = self._next_slot(slot)
        self.sent += 1
        return slot

    def _next_slot(self, slot: int) -> int:  # C: noexcept, inline
        """The slot of the request that follows; a division would take as long as all else."""
        return slot + 1 if slot + 1 < self.size else 0

    def receive(self, slot: int) -> int:
        """Take the answer to the request in a slot; returns by how many ``arrived`` grows.

        Raises:
            SimulationError: if no request in this slot waits for an answer.
        """
        place = slot - self._oldest if slot >= self._oldest else slot - self._oldest + self.size
        if slot < 0 or slot >= self.size or place >= self.in_flight() or self._here[slot]:
            raise SimulationError(f"a reply for slot {slot}, which has no open request")
        self._here[slot] = 1
        before = self.arrived
        while self._here[self._oldest]:
            self._here[self._oldest] = 0
            self._oldest = self._next_slot(self._oldest)
            self.arrived += 1
        return self.arrived - before
