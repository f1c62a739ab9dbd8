# cython: infer_types=True
"""Recorders that see the machine's many instances: which one works, and what each of them holds and does."""

from __future__ import annotations

from fiberscope.models.trace.recorder import Buffet, LineTable, Recorder
from fiberscope.workloads.canonical import Integers


class Instances(Recorder):
    """Hands each access on to the instance in which it happens: iterations in space are dealt out in turn.

    Args:
        recorders: one an instance, all alike.
        serials: of the loop nest: how many bodies of each loop have begun.
        level: in ``serials``, of the loop in space.
    """

    def __init__(self, recorders: list[Recorder], serials: Integers, level: int) -> None:
        first = recorders[0]
        super().__init__(first.elements_per_line, first.shape, first.evict_level)
        self.recorders = recorders
        self.serials = serials  # C: long[::1]
        self.level = level
        self.number = len(recorders)

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """An access to an element; see ``Recorder``."""
        recorder: Recorder = self.recorders[self.serials[self.level] % self.number]
        recorder.touch(fiber, position, write, group)


class Multicast(Instances):
    """Buffets by instance, of which those that ask for the same line in one round are answered by one read.

    A round is an iteration of each instance.

    Attributes: ``lines_shared``: reads that were another's, too.
    """

    def __init__(self, recorders: list[Recorder], serials: Integers, level: int) -> None:
        super().__init__(recorders, serials, level)
        self.lines_shared = 0
        self.round = -1
        self.table = LineTable()

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """An access to an element; see ``Recorder``."""
        serial = self.serials[self.level]  # C: long
        buffet: Buffet = self.recorders[serial % self.number]
        before = buffet.lines_read
        buffet.touch(fiber, position, write, group)
        if buffet.lines_read > before:
            self._share(serial // self.number, self.line_of(fiber, position), buffet.lines_read - before)

    def _share(self, now: int, line: int, lines: int) -> None:
        """Read the share of an instance in this round."""
        if now != self.round:
            self.round = now
            self.table.clear()
        table_lines = self.table.count
        if self.table.number(line) < table_lines:
            self.lines_shared += lines


class Served(Recorder):
    """Counts accesses one by one: what a buffer serves to compute.

    Attributes: ``reads``, ``writes``: elements.
    """

    def __init__(self) -> None:
        super().__init__(1, 1, 0)
        self.reads = 0
        self.writes = 0

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """An access to an element; see ``Recorder``."""
        self.writes += write
        self.reads += not write


class Work(Recorder):
    """Counts the bodies that each instance runs.

    Attributes: ``bodies``: by instance.

    Args:
        bodies: as many zeros as instances.
        level: of the loop in space, whose iterations are dealt out in turn.
    """

    def __init__(self, bodies: Integers, level: int) -> None:
        super().__init__(1, 1, level)
        self.bodies = bodies  # C: long[::1]
        self.number = len(bodies)

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """A body; see ``Recorder``."""
        self.bodies[group % self.number] += 1
