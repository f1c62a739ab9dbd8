# cython: infer_types=True
"""The base class of replacement policies of a FiberCache bank."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.hw.memory.tags import TagStore
from fiberscope.hw.policy import Policy, wrong_choice

__all__ = ["Line", "ReplacementPolicy"]


class Line:  # C: final
    """A line that a bank can evict.

    Args:
        number: byte address of the line, divided by the bytes of a line.
        reads: number of expected reads, from 0 to the ``priority_limit`` of the cache: the fetches of the
            line, and the write that allocated it, less the reads since.
        dirty: whether an eviction has to write the line back.
        reuse: re-reference prediction value (SRRIP) of the line; a large value predicts a distant next use.
    """

    def __init__(self, number: int, reads: int, dirty: bool, reuse: int) -> None:
        self.number = number
        self.reads = reads
        self.dirty = dirty
        self.reuse = reuse


class ReplacementPolicy(Policy):
    """A policy that chooses the line which a bank evicts.

    The bank asks the policy only if no way of the set is free. A subclass defines ``victim``.
    """

    def requested(self, number: int, operation: int, now: int) -> None:  # C: return=void
        """Observe a request that the bank accepts; does nothing by default.

        Args:
            number: number of the requested line.
            operation: ``READ``, ``FETCH``, ``WRITE``, ... of ``fiberscope.hw.memory.protocol``.
            now: current cycle of the bank.
        """

    def victim(self, lines: Sequence[Line]) -> Line:  # C: def
        """Return the line of a full set to evict.

        The bank calls this method once for each line that it evicts, before it calls ``requested`` for the
        request that needs the place.

        Args:
            lines: the lines of the set, without the lines in flight; at least one. The objects are new in
                each call.

        Returns:
            One of ``lines``.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not choose the line to evict: define victim(lines)"
        )

    def choose_entry(self, tags: TagStore, set_index: int) -> int:
        """Return the entry of the line that ``victim`` chooses in a full set.

        At least one line of the set must not be in flight.

        Args:
            tags: tag store of the bank.
            set_index: number of the set.

        Raises:
            SimulationError: if the policy chooses a line that it was not offered.
        """
        lines: list[Line] = []
        first_entry = set_index * tags.ways
        for entry in range(first_entry, first_entry + tags.ways):
            if tags.pending[entry] < 0:
                dirty = tags.dirty[entry] != 0
                lines.append(Line(tags.lines[entry], tags.priorities[entry], dirty, tags.reuse[entry]))
        line = self.victim(lines)
        if line not in lines:  # ``Line`` defines no equality: a copy of a line is refused too
            raise wrong_choice(self, "victim", line, "lines")
        return tags.find(set_index, line.number)
