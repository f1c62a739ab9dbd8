# cython: infer_types=True
# C compiler: -O2
"""A FiberCache model without timing, for functional runs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.memory.cache_geometry import HASHED, FiberCacheSpecification
from fiberscope.hw.memory.tags import Sets, TagStore

__all__ = ["CacheState", "FunctionalCache"]

HINTS = 1 << 13  # entries of the table of recent lines' indices in the tag store; a power of two


class CacheState:  # C: object
    """A snapshot of a FiberCache.

    Args:
        lines: the line in each bank, set and way, -1 for none; shape (banks, sets, ways).
        reuse: the reuse prediction of each of these lines; same shape.
    """

    def __init__(self, lines: npt.NDArray[np.int64], reuse: npt.NDArray[np.uint8]) -> None:
        self.lines = lines
        self.reuse = reuse


class FunctionalCache:  # C: final
    """A FiberCache without timing, with the banks, sets, priorities and replacement policy of the machine.

    A line arrives in the moment of its request. No request therefore joins a line in flight, and no way is
    blocked. The replacement policy is that of ``TagStore``; a ``ReplacementPolicy`` of the user has no part.

    Args:
        specification: geometry and policies.

    Attributes:
        fetches, reads, consumes, writes: requests of each kind.
        fetch_misses, read_misses, consume_misses, write_misses: requests of each kind that missed.
        write_backs: dirty lines that were evicted. Dirty lines that ``consume`` drops, or that are left at
            the end, do not count.
    """

    def __init__(self, specification: FiberCacheSpecification) -> None:
        self.banks = specification.banks
        self.bank_sets = specification.sets
        self.sets = Sets(specification.banks, specification.sets, specification.index == HASHED)
        self.tags = TagStore(
            specification.banks * specification.sets,
            specification.ways,
            specification.priority_limit,
            specification.reuse_limit,
        )
        # Index in ``tags`` of the line prefetched last, by the low bits of the line number. A read of such a
        # line needs no lookup while the line is cached.
        self.hints = integers_of(np.zeros(HINTS, np.int64))  # C: long[::1]
        self.fetches = self.reads = self.consumes = self.writes = self.write_backs = 0
        self.fetch_misses = self.read_misses = self.consume_misses = self.write_misses = 0

    def _set_of(self, line: int) -> int:  # C: noexcept
        return line % self.banks * self.bank_sets + self.sets.set_of(line)

    def prefetch(self, line: int) -> None:  # C: noexcept
        """Fetch a line that one more read will use; this raises the line's priority by one."""
        set_index = self._set_of(line)
        index = self.tags.find(set_index, line)
        self.fetches += 1
        if index >= 0:
            self.tags.record_fetch(index)
        else:
            self.fetch_misses += 1
            index = self._replace(set_index, line, 1)
        self.hints[line % HINTS] = index

    def read(self, line: int) -> None:  # C: noexcept
        """Read a line and keep it; this lowers its priority by one. On a miss, its priority is 0."""
        self.reads += 1
        index = self.hints[line % HINTS]  # may be of another line or out of date, hence the comparison
        if self.tags.lines[index] == line:
            self.tags.record_read(index)
            return
        set_index = self._set_of(line)
        index = self.tags.find(set_index, line)
        if index >= 0:
            self.tags.record_read(index)
        else:
            self.read_misses += 1
            self._replace(set_index, line, 0)

    def read_all(self, lines: memoryview[int]) -> None:  # C: lines=long[::1]
        """Read lines one after another, and keep them."""
        for i in range(len(lines)):
            self.read(lines[i])

    def consume(self, line: int) -> None:  # C: noexcept
        """Read a line for the last time and drop it without a write-back; a missing line is not stored."""
        index = self.tags.find(self._set_of(line), line)
        self.consumes += 1
        if index >= 0:
            self.tags.drop(index)
        else:
            self.consume_misses += 1

    def write(self, line: int) -> None:  # C: noexcept
        """Write a line; on a miss, allocate it with one expected read. A hit keeps its priority.

        This is the operation ``WRITE``. ``WRITE_UNREAD`` and ``WRITE_THROUGH`` are not supported.
        """
        set_index = self._set_of(line)
        index = self.tags.find(set_index, line)
        self.writes += 1
        if index < 0:
            self.write_misses += 1
            index = self._replace(set_index, line, 1)
        self.tags.dirty[index] = 1

    def _replace(self, set_index: int, line: int, priority: int) -> int:  # C: noexcept
        """Put a line in the place of the victim, and return its index in ``tags``."""
        index = self.tags.victim(set_index)  # never -1, as no line is in flight
        if self.tags.dirty[index]:
            self.write_backs += 1
        self.tags.fill(index, line, priority)
        return index

    def traffic_lines(self) -> int:  # C: noexcept
        """Return the number of lines read from memory or written back so far.

        Misses of writes do not count, as a write allocates its whole line without a fetch.
        """
        return self.fetch_misses + self.read_misses + self.consume_misses + self.write_backs

    def state(self) -> CacheState:
        """Return a copy of the cached lines and their reuse predictions."""
        shape = (self.banks, self.bank_sets, self.tags.ways)
        lines = np.asarray(self.tags.lines).reshape(shape).copy()
        return CacheState(lines, np.asarray(self.tags.reuse).reshape(shape).copy())
