# cython: infer_types=True
"""The base class of prefetch policies, which choose the fiber whose next line is fetched."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.hw.policy import Policy, wrong_choice

__all__ = ["FiberLines", "PrefetchPolicy"]


class FiberLines:  # C: final
    """The lines of a fiber that are not fetched yet.

    Args:
        number: index of the fiber among the inputs of its task.
        row: row of B, -1 for a partial fiber.
        line: number of the next line from the start of its tensor, B or the partial fibers.
        left: number of lines not fetched yet; 0 for an empty fiber, which takes one cycle.
        fetched: number of lines fetched so far.
    """

    def __init__(self, number: int, row: int, line: int, left: int, fetched: int = 0) -> None:
        self.number = number
        self.row = row
        self.line = line
        self.left = left
        self.fetched = fetched

    def advance(self) -> None:  # C: noexcept
        """Record the fetch of the next line."""
        self.line += 1
        self.left -= 1
        self.fetched += 1


class PrefetchPolicy(Policy):
    """A policy of a prefetcher, which chooses the fiber whose next line is fetched.

    This class chooses the first fiber, as a prefetcher without a policy does.
    """

    def fiber(self, fibers: Sequence[FiberLines], now: int) -> FiberLines | None:  # C: def
        """Return the fiber whose next line is fetched, or None to fetch no further line of these fibers.

        The prefetcher calls this method in each cycle in which it can send a fetch. Lines that are not
        fetched miss when they are read, unless the cache already holds them.

        Args:
            fibers: the fibers of the task whose address is known, in the order of the task, at least one.
            now: current cycle of the prefetcher.

        Returns:
            One of ``fibers``, or None. Fibers whose address becomes known later are offered in later calls.
        """
        return fibers[0]

    def choose_index(self, fibers: Sequence[FiberLines], now: int) -> int:
        """Return the index in ``fibers`` of the fiber that ``fiber`` chooses, -1 for none.

        Raises:
            SimulationError: if the policy chooses a fiber that is not one of ``fibers``.
        """
        selected = self.fiber(fibers, now)
        if selected is None:
            return -1
        if selected not in fibers:
            # ``FiberLines`` defines no equality: a copy of a fiber is refused too.
            raise wrong_choice(self, "fiber", selected, "fibers")
        return fibers.index(selected)
