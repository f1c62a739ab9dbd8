# cython: infer_types=True
"""A cache as it is built: sets and ways, and the replacement of the machines' caches."""

from __future__ import annotations

from array import array

from fiberscope.hw.memory.tags import Sets, TagStore
from fiberscope.models.trace.belady import AccessList

READ, WRITE = 0, 1
KIND_BITS = 2
KIND = (1 << KIND_BITS) - 1
OWNERS = 256
REUSE = 3  # SRRIP's largest prediction, of two bits (Jaleel et al., ISCA 2010)


class SetAssociativeCache:  # C: final
    """Traffic of a cache of sets and ways that is empty at first, and replaces as SRRIP does.

    A line's address is its number in the order of first use. A miss of a read brings the line; that of a
    write only takes its place. A line that was written is written back when it is replaced, or at the end.

    Attributes: ``lines_read``, ``lines_written``: by owner.

    Args:
        lines: that it holds, at least as many as ways.
        ways: of a set; lines that fill no whole set are left out.
    """

    def __init__(self, lines: int, ways: int) -> None:
        self.ways = min(ways, lines)
        self.sets = Sets(1, lines // self.ways)
        self.tags = TagStore(lines // self.ways, self.ways, 0, REUSE)
        self.lines_read = array("q", bytes(8 * OWNERS))
        self.lines_written = array("q", bytes(8 * OWNERS))

    def replay(self, listed: AccessList) -> None:
        """Count the traffic of a list of accesses."""
        self.accesses = listed.accesses
        self.owners = listed.owners
        for now in range(listed.length):
            self._access(self.accesses[now] >> KIND_BITS, self.accesses[now] & KIND)
        for place in range(self.sets.sets * self.ways):
            self._write_back(place)

    def _access(self, line: int, kind: int) -> None:
        of = self.sets.of(line)
        place = self.tags.find(of, line)
        if place >= 0:
            self.tags.note_read(place)
        else:
            place = self._bring(of, line, kind)
        if kind == WRITE:
            self.tags.dirty[place] = 1

    def _bring(self, of: int, line: int, kind: int) -> int:
        """Give a line the place of another; returns the place."""
        if kind == READ:
            self.lines_read[self.owners[line]] += 1
        place = self.tags.victim(of)
        self._write_back(place)
        self.tags.place_line(place, line, 0)
        return place

    def _write_back(self, place: int) -> None:  # C: noexcept
        if self.tags.dirty[place]:
            self.lines_written[self.owners[self.tags.lines[place]]] += 1
            self.tags.dirty[place] = 0
