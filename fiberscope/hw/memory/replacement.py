# cython: infer_types=True
"""Replacement policies of the FiberCache."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.hw.memory.tags import TagStore
from fiberscope.hw.policy import Policy, wrong_choice

__all__ = ["Line", "ReplacementPolicy"]


class Line:  # C: final
    """Line that a bank may evict.

    Args:
        number: the address of the line, divided by the bytes of a line.
        reads: reads that are known to come: fetches that were not read yet, and 1 for a partial row.
        dirty: whether it has to be written back.
        reuse: its re-reference prediction of SRRIP; large: the next use is far away.
    """

    def __init__(self, number: int, reads: int, dirty: bool, reuse: int) -> None:
        self.number = number
        self.reads = reads
        self.dirty = dirty
        self.reuse = reuse


class ReplacementPolicy(Policy):
    """Policy of a bank: chooses the line to evict."""

    def requested(self, number: int, operation: int, now: int) -> None:  # C: return=void
        """Take note of a request that the bank takes; does nothing by default.

        Args:
            number: of the line.
            operation: ``READ``, ``FETCH``, ``WRITE``, ... of ``fiberscope.hw.memory.protocol``.
            now: the cycle of the bank.
        """

    def victim(self, lines: Sequence[Line]) -> Line:  # C: def
        """Return the line of a full set that goes; lines that memory has not sent yet are not among them.

        The bank asks once for each line that it evicts, before ``requested``.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say which line goes: define victim(lines)")

    def place_of_victim(self, tags: TagStore, set_index: int) -> int:
        """Return the place of the line that ``victim`` chooses in a full set.

        Raises:
            SimulationError: the policy chose a line that is none of those.
        """
        lines: list[Line] = []
        first = set_index * tags.ways
        for way in range(first, first + tags.ways):
            if tags.pending[way] < 0:
                dirty = tags.dirty[way] != 0
                lines.append(Line(tags.lines[way], tags.priorities[way], dirty, tags.reuse[way]))
        chosen = self.victim(lines)
        if chosen not in lines:
            raise wrong_choice(self, "victim", chosen, "lines")
        return tags.find(set_index, chosen.number)
