# cython: infer_types=True
"""The timing of a pipeline whose stages move in step: slots in use, and the cycle in which each is due."""

from __future__ import annotations

from array import array


class Pipeline:  # C: final
    """The timing of a pipeline with one enable for all its registers: all stages move, or all stall.

    An item that enters in cycle t can leave from cycle t + ``depth``. While the item in the last stage cannot
    leave, no item moves and none enters; empty stages between items are not filled. In hardware, the enable
    of all registers is: the last stage is empty, or its item leaves.

    The model keeps no stages. It counts the cycles in which the pipeline has stalled, its ``lag``. The
    pipeline cycle is the cycle minus ``lag``: in pipeline cycles, each item leaves exactly ``depth`` cycles
    after it entered.

    The component that owns the pipeline stores the items in arrays of ``depth`` slots. In each cycle, it
    first removes the oldest item, if that item is due, and then enters a new one.

    Args:
        depth: number of stages, which is the number of cycles from entering to leaving; at least 1, or 0 for
            a pipeline that no item enters.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.filled = 0  # number of slots in use
        self.lag = 0  # number of cycles stalled so far
        self.oldest = 0  # slot of the oldest item
        self._due_cycles = array("q", bytes(8 * depth))  # by slot: pipeline cycle in which the item can leave

    def due(self) -> int:  # C: noexcept
        """Return the cycle from which the oldest item can leave; only when the pipeline is not empty."""
        return self._due_cycles[self.oldest] + self.lag

    def has_due_item(self, now: int) -> bool:  # C: noexcept
        """Return whether the oldest item is due, so that the pipeline stalls unless the item leaves."""
        return self.filled > 0 and now >= self._due_cycles[self.oldest] + self.lag

    def leave(self, now: int) -> int:  # C: noexcept
        """Remove the oldest item, which must be due, and return its slot."""
        slot = self.oldest
        self.lag = now - self._due_cycles[slot]
        self.oldest += 1
        if self.oldest == self.depth:
            self.oldest = 0
        self.filled -= 1
        return slot

    def enter(self, now: int) -> int:  # C: noexcept
        """Return the slot of an item that enters in this cycle; only when the pipeline does not stall."""
        slot = self.oldest + self.filled
        if slot >= self.depth:
            slot -= self.depth
        self._due_cycles[slot] = now - self.lag + self.depth
        self.filled += 1
        return slot
