# cython: infer_types=True
"""Blocks whose memory has a registered output, as block RAM and SRAM macros have.

A word is read in a cycle and used in the next.
"""

from __future__ import annotations

import numpy.typing as npt

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.fiber_states import IN_FIBER, OWES_STOP, WANTS_FIBER
from fiberscope.hw.streams.quirks import CLEAN
from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY, STOP

NOTHING = -1  # in the place of a token's kind


class RegisteredArray(ArrayLoad):
    """Reads for each reference the value that it names, from a memory with a registered output.

    Interface, counts and errors: those of ``ArrayLoad``.

    Timing: a token leaves in the cycle behind that in which its reference was taken. A token a cycle. While a
    consumer has no space, the block takes no reference, and the memory holds the word that it has read.

    Source: a choice of this model; block RAM of FPGAs and SRAM macros are read so.

    Args:
        name: instance name.
        values: of the array; copied.
        quirks: see ``StreamBlock``.
    """

    def __init__(self, name: str, values: npt.ArrayLike, quirks: int = CLEAN) -> None:
        super().__init__(name, values, quirks)
        self.holds = False  # whether a token is on its way
        self.kind = 0  # of this token
        self.level = 0  # of a stop
        self.word = 0.0  # of a reference

    def update(self, now: int) -> int:
        """Send the token that was taken a cycle ago, and take the next."""
        sends = self.holds
        if sends:
            self.holds = False
            self._send()
            if self.kind == DONE:
                return self.finish(now)
        if self.in_ref.can_pop():
            self._take()
        elif not sends:
            return self.wait_input(self.in_ref)
        return self.busy(now + 1)

    def _send(self) -> None:
        if self.kind == DATA:
            self.out_val.push(DATA, self.mark, self.word)
        elif self.kind == EMPTY:
            self.out_val.push_absent(self.mark_of_empty, self.empty)
        else:
            self.out_val.push(self.kind, self.level)

    def _take(self) -> None:
        self.holds = True
        self.kind, self.level = self.in_ref.control(), self.in_ref.coordinate()
        self.in_ref.pop()
        if self.kind == DATA:
            self.word = self.load(self.level)


class RegisteredScanner(CompressedScanner):
    """Scans the fibers of a compressed level in memories with registered outputs.

    Interface, counts and errors: those of ``CompressedScanner``.

    Timing: that of ``CompressedScanner`` between two stages of a cycle each: one reads where the fiber of a
    reference begins and ends, the other reads coordinates. The next reference is looked up while a fiber is
    sent, so a fiber of m elements still takes m + 1 cycles, an empty one 2. The first token leaves two cycles
    after its reference was taken. While a consumer has no space, both stages stand still.

    Source: a choice of this model; block RAM of FPGAs and SRAM macros are read so.

    Args:
        name: instance name.
        level: what is scanned.
    """

    def __init__(self, name: str, level: Level) -> None:
        super().__init__(name, level)
        self.looked_up = NOTHING  # kind of the token behind the first stage
        self.payload = 0  # of this token
        self.leaving = NOTHING  # kind of the token behind the second stage
        self.coordinate = 0  # of this token
        self.reference = 0  # of this token

    def update(self, now: int) -> int:
        """Advance both stages."""
        kind = self.leaving
        works = kind != NOTHING
        if works:
            self.send(kind, self.coordinate, self.reference)
            self.leaving = NOTHING
            if kind == DONE:
                return self.finish(now)
        if self._walk():
            works = True
        if self.looked_up == NOTHING and self.in_ref.can_pop():
            self._look_up()
            works = True
        return self.busy(now + 1) if works else self.wait_input(self.in_ref)

    def _look_up(self) -> None:
        """Take a token, and read the segments of a reference."""
        self.looked_up, self.payload = self.in_ref.control(), self.in_ref.coordinate()
        self.in_ref.pop()
        if self.looked_up == DATA:
            self.note_fiber(self.payload)

    def _walk(self) -> bool:
        """Move a token from the first stage, or the next element, to the second; return whether it can."""
        if self.mode == IN_FIBER and self.position != self.end - 1:
            self._leave_element(self.position + 1)
        elif self.looked_up == NOTHING:
            return False
        elif self.mode != WANTS_FIBER:
            self._end()
        else:
            self._begin()
        return True

    def _end(self) -> None:
        """Send the stop of a fiber, one with that of the lists above if these end too."""
        level = 0
        if self.looked_up == STOP:
            level = self.payload + 1
            self.looked_up = NOTHING
        self._leave(STOP, level, level)
        self.mode = WANTS_FIBER

    def _begin(self) -> None:
        """Take the token behind the first stage where a reference is due."""
        kind = self.looked_up
        self.looked_up = NOTHING
        if kind == DATA:
            self.fiber = self.payload
            self.first = self.level.begin(self.fiber)
            self.end = self.level.end(self.fiber)
        if kind == EMPTY or (kind == DATA and self.first == self.end):
            self.mode = OWES_STOP
        elif kind == DATA:
            self.mode = IN_FIBER
            self._leave_element(self.first)
        else:
            level = self.payload + 1 if kind == STOP else 0
            self._leave(kind, level, level)

    def _leave_element(self, position: int) -> None:
        self.position = position
        self._leave(DATA, self.level.coordinate(position), position)

    def _leave(self, kind: int, coordinate: int, reference: int) -> None:
        self.leaving, self.coordinate, self.reference = kind, coordinate, reference
