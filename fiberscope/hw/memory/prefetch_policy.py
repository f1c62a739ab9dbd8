# cython: infer_types=True
"""Prefetch policies: which line of which fiber is fetched next."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.hw.policy import Policy, wrong_choice

__all__ = ["FiberLines", "PrefetchPolicy"]


class FiberLines:  # C: final
    """Lines of a fiber that are not fetched yet.

    Args:
        number: which input of its task the fiber is.
        row: the row of B; -1 for a partial fiber.
        line: the address of the next line, divided by the bytes of a line.
        left: lines that are not fetched yet; 0 for an empty fiber, which takes one cycle.
        fetched: lines that are.
    """

    def __init__(self, number: int, row: int, line: int, left: int, fetched: int = 0) -> None:
        self.number = number
        self.row = row
        self.line = line
        self.left = left
        self.fetched = fetched

    def advance(self) -> None:  # C: noexcept
        """The next line is fetched."""
        self.line += 1
        self.left -= 1
        self.fetched += 1


class PrefetchPolicy(Policy):
    """Policy of a prefetcher: chooses the fiber whose next line is fetched.

    The first of the fibers is what the prefetcher would choose by itself. This class chooses the first.
    """

    def fiber(self, fibers: Sequence[FiberLines], now: int) -> FiberLines | None:  # C: def
        """Return the fiber whose next line is fetched; None to fetch no further line of all these.

        The prefetcher asks in each cycle in which it can send a fetch. Lines that are not fetched miss when
        they are read.

        Args:
            fibers: those of the task whose place is known, in the order of the task, at least one.
            now: the cycle of the prefetcher.
        """
        return fibers[0]

    def place_of_fiber(self, fibers: Sequence[FiberLines], now: int) -> int:
        """Return the place of the fiber that ``fiber`` chooses among these; -1 for none.

        Raises:
            SimulationError: the policy chose a fiber that is none of those.
        """
        chosen = self.fiber(fibers, now)
        if chosen is None:
            return -1
        if chosen not in fibers:
            raise wrong_choice(self, "fiber", chosen, "fibers")
        return fibers.index(chosen)
