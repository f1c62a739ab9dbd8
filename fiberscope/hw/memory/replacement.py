"""Replacement policies of the FiberCache, and the bank that asks one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.memory.cache_geometry import FiberCacheSpecification
from fiberscope.hw.memory.protocol import CONSUME, WRITE_THROUGH
from fiberscope.hw.policy import Policy
from fiberscope.sim.errors import SimulationError

__all__ = ["Line", "ReplacementPolicy"]

FREE = -1  # line of a way that has none
SET, TAKEN = 3, 8  # place of the set among the words of a request in the pipeline, and their number


class Line(NamedTuple):
    """Line that a bank may evict.

    Args:
        number: the address of the line, divided by the bytes of a line.
        reads: reads that are known to come: fetches that were not read yet, and 1 for a partial row.
        dirty: whether it has to be written back.
        reuse: its re-reference prediction of SRRIP; large: the next use is far away.
    """

    number: int
    reads: int
    dirty: bool
    reuse: int


class _ReplacingBank(FiberCacheBank):
    """A bank that evicts the line that a policy chooses.

    The tags evict the line of the lowest priority. While a request may look its line up, the chosen line has
    the priority 0, and the others of the set have 1; afterwards all have the priorities that they had.
    """

    POLICY: ClassVar[type[ReplacementPolicy]]

    def __init__(self, name: str, specification: FiberCacheSpecification, port: int) -> None:
        super().__init__(name, specification, port)
        self.policy = self.POLICY()

    def tick(self, now: int) -> int:
        """Let the policy choose if a line may have to go, and tell it of the request that is taken."""
        requests, pops = self.requests, self.requests.pops
        if not requests.can_pop():
            return super().tick(now)
        operation, line = requests.control(), requests.reference() // self.line_bytes
        set_index = self.sets.set_of(line)
        if set_index in list(self.taken)[SET::TAKEN]:  # the request waits, and another may change it
            return super().tick(now)
        first = set_index * self.tags.ways
        ways = range(first, first + self.tags.ways)
        before = [self.tags.priorities[way] for way in ways]
        if operation not in (CONSUME, WRITE_THROUGH):
            self._choose(line, ways)
        next_cycle = super().tick(now)
        for way, priority in zip(ways, before, strict=True):
            self.tags.priorities[way] = priority
        if requests.pops != pops:
            self.policy.requested(line, operation, now)
        return next_cycle

    def _choose(self, line: int, ways: range) -> None:
        """Give the line that is to go the lowest priority, if the line is not here and no way is free.

        Raises:
            SimulationError: the policy chose a line that is none of those.
        """
        tags = self.tags
        held = {tags.lines[way]: way for way in ways}
        lines = {
            number: Line(number, tags.priorities[way], bool(tags.dirty[way]), tags.reuse[way])
            for number, way in held.items()
            if tags.pending[way] < 0
        }
        if line in held or FREE in held or not lines:
            return
        chosen = self.policy.victim(list(lines.values()))
        if chosen not in lines.values():
            fault = f"{type(self.policy).__name__}.victim chose {chosen!r}, which is no line of the set"
            raise SimulationError(f"{self.name}: {fault}")
        for way in ways:
            tags.priorities[way] = way != held[chosen.number]


class ReplacementPolicy(Policy):
    """Policy of a bank: chooses the line to evict."""

    BLOCK = _ReplacingBank

    def requested(self, number: int, operation: int, now: int) -> None:
        """Take note of a request that the bank takes; does nothing by default.

        Args:
            number: of the line.
            operation: ``READ``, ``FETCH``, ``WRITE``, ... of ``fiberscope.hw.memory.protocol``.
            now: the cycle of the bank.
        """

    def victim(self, lines: Sequence[Line]) -> Line:
        """Return the line of a full set that goes; lines that memory has not sent yet are not among them.

        While a request waits, the bank asks in every cycle, and the last answer counts.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say which line goes: define victim(lines)")
