# cython: infer_types=True
"""Recorders for components with several instances: accesses, bodies and multicast reads by instance."""

from __future__ import annotations

from fiberscope.models.trace.recorder import Buffet, Recorder
from fiberscope.workloads.canonical import Integers


class Instances(Recorder):
    """Recorder that distributes accesses: iterations in space go round-robin to the instances.

    Args:
        recorders: one recorder an instance, all alike; at least one.
        serials: number of bodies begun, by loop: the array of the running nest itself.
        level: the index of the loop in space in ``serials``.
    """

    def __init__(self, recorders: list[Recorder], serials: Integers, level: int) -> None:
        first = recorders[0]
        super().__init__(first.elements_per_line, first.shape, first.evict_level)
        self.recorders = recorders
        self.serials = serials  # C: long[::1]
        self.level = level
        self.number = len(recorders)

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """Record an access to an element; see ``Recorder``."""
        recorder: Recorder = self.recorders[self.serials[self.level] % self.number]
        recorder.touch(fiber, position, write, group)


class Multicast(Instances):
    """Buffets by instance; requests for one line in the same round share one read.

    A round is one iteration of the loop in space for each instance. An instance whose buffet evicts or
    bypasses a line reads the line again; that read is shared with as late a read of another instance. The
    buffets count every read of their own: the caller subtracts ``lines_shared`` from the sum.

    Attributes: ``lines_shared``: lines read that a read of another instance in the same round brings.
    ``begun``: number of bodies that have begun at an access of the first iteration: 1 if bodies of the loop
    in space read the rank, 0 if this loop itself or a loop outside reads it.

    Args:
        recorders: the buffet of each instance.
        serials, level: see ``Instances``.
    """

    def __init__(self, recorders: list[Recorder], serials: Integers, level: int) -> None:
        super().__init__(recorders, serials, level)
        self.lines_shared = 0
        self.round = -1
        self.begun = 0  # C: public
        # number of reads in this round by line and instance, and by line the most of an instance
        self.reads: dict[int, int] = {}

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """Record an access to an element; see ``Recorder``."""
        serial = self.serials[self.level]  # C: long
        buffet: Buffet = self.recorders[serial % self.number]
        old_lines = buffet.lines_read  # the buffet decides whether the access moves a line
        buffet.touch(fiber, position, write, group)
        if buffet.lines_read > old_lines:
            this_round = (serial - self.begun) // self.number  # C: long
            if self.round != this_round:
                self.round = this_round
                self.reads.clear()
            # number + 1 keys a line: the last for the most reads, those before for the instances
            most_key = self.line_of(fiber, position) * (self.number + 1) + self.number
            self._share(most_key, most_key - 1 - serial % self.number, buffet.lines_read - old_lines)

    def _share(self, most_key: int, own_key: int, lines: int) -> None:
        """Count lines as shared if another instance has read their line as often in this round."""
        reads = self.reads[own_key] = self.reads.get(own_key, 0) + 1
        # the n-th read of an instance is shared with the n-th read of the first instance that has one
        if reads > self.reads.get(most_key, 0):
            self.reads[most_key] = reads
        else:
            self.lines_shared += lines


class ElementCounter(Recorder):
    """A counter of elements: the accesses of a buffer that compute units cause.

    Every access counts, repeated accesses to one element included.

    Attributes: ``reads``, ``writes``: elements.
    """

    def __init__(self) -> None:
        super().__init__(1, 1, 0)
        self.reads = 0
        self.writes = 0

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """Record an access to an element; see ``Recorder``."""
        self.writes += write
        self.reads += not write


class BodyCounter(Recorder):
    """A counter of the bodies that each instance runs.

    Attributes: ``bodies``: by instance.

    Args:
        bodies: zeros, one an instance.
        level: of the loop in space; its iterations go round-robin to the instances.
    """

    def __init__(self, bodies: Integers, level: int) -> None:
        super().__init__(1, 1, level)
        self.bodies = bodies  # C: long[::1]
        self.number = len(bodies)

    def touch(self, fiber: int, position: int, write: bool, group: int) -> None:
        """Count a body; see ``Recorder``. Only ``group`` matters: the iteration of the loop in space."""
        self.bodies[group % self.number] += 1
