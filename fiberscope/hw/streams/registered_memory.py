# cython: infer_types=True
"""Blocks that read a memory with a registered output, such as block RAM or an SRAM macro.

A word is read in one cycle and used in the next.
"""

from __future__ import annotations

import numpy.typing as npt

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.fiber_states import IN_FIBER, OWES_STOP, WANTS_FIBER
from fiberscope.hw.streams.quirks import NO_QUIRKS
from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY, STOP

NOTHING = -1  # kind of a stage that holds no token


class RegisteredArray(ArrayLoad):
    """Loads the value of each reference from a memory with a registered output.

    Interface, counts and errors: those of ``ArrayLoad``.

    Timing: one token a cycle. A token leaves in the cycle after the one in which its reference was popped.
    While a consumer has no free slot, the block pops no reference, and the memory holds the last word read.

    Source: a choice of this model, the timing of block RAM in FPGAs and of SRAM macros.

    Args:
        values: the values of the array, by reference; see ``ArrayLoad``.
        quirks: see ``StreamBlock``.
    """

    def __init__(self, name: str, values: npt.ArrayLike, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, values, quirks)
        self.holds_token = False  # whether a token leaves in the next cycle
        self.kind = 0  # kind of this token
        self.level = 0  # payload of this token: the level of a stop, or the reference
        self.word = 0.0  # value read for the reference

    def update(self, now: int) -> int:
        """Send the token that was popped in the last cycle, and pop the next."""
        sends = self.holds_token
        if sends:
            self.holds_token = False
            self._send()
            if self.kind == DONE:
                return self.finish(now)
        if self.in_ref.can_pop():
            self._load_token()
        elif not sends:
            return self.wait_input(self.in_ref)
        return self.busy(now + 1)

    def _send(self) -> None:
        """Send the token that the last cycle popped; the word read for its reference is in ``word``."""
        if self.kind == DATA:
            self.out_val.push(DATA, self.mark, self.word)
        elif self.kind == EMPTY:
            self.out_val.push_absent(self.mark_of_empty, self.empty)
        else:
            self.out_val.push(self.kind, self.level)

    def _load_token(self) -> None:
        """Pop the next token, and read the word of its reference."""
        self.holds_token = True
        self.kind, self.level = self.in_ref.control(), self.in_ref.coordinate()
        self.in_ref.pop()
        if self.kind == DATA:
            self.word = self.load(self.level)


class RegisteredScanner(CompressedScanner):
    """Scans the fibers of a compressed level in memories with registered outputs.

    Interface, counts and errors: those of ``CompressedScanner``.

    Timing: that of ``CompressedScanner``, in two pipeline stages of a cycle each. The first stage reads the
    start and the end of the fiber of a reference, the second stage reads coordinates. The first stage works
    on the next reference while a fiber is sent. A fiber of m elements therefore still takes m + 1 cycles, and
    an empty fiber 2. The first element of a fiber leaves two cycles after its reference was popped, the stop
    of an empty fiber three cycles after it at the earliest. While a consumer has no free slot, both stages
    stall.

    Source: a choice of this model, the timing of block RAM in FPGAs and of SRAM macros.

    Args:
        level: compressed level to scan.
    """

    def __init__(self, name: str, level: Level) -> None:
        super().__init__(name, level)
        self.lookup_kind = NOTHING  # kind of the token in the output register of the first stage
        self.payload = 0  # payload of this token
        self.output_kind = NOTHING  # kind of the token in the output register of the second stage
        self.coordinate = 0  # coordinate of this token
        self.reference = 0  # reference of this token

    def update(self, now: int) -> int:
        """Advance both stages."""
        kind = self.output_kind
        works = kind != NOTHING
        if works:
            self.send(kind, self.coordinate, self.reference)
            self.output_kind = NOTHING
            if kind == DONE:
                return self.finish(now)
        if self._advance_stages():
            works = True
        if self.lookup_kind == NOTHING and self.in_ref.can_pop():
            self._look_up()
            works = True
        return self.busy(now + 1) if works else self.wait_input(self.in_ref)

    def _look_up(self) -> None:
        """Pop a token into the first stage, and read the segments of a reference."""
        self.lookup_kind, self.payload = self.in_ref.control(), self.in_ref.coordinate()
        self.in_ref.pop()
        if self.lookup_kind == DATA:
            self.note_fiber(self.payload)

    def _advance_stages(self) -> bool:
        """Put the next element, or a token of the first stage, into the second; return whether one moved."""
        if self.mode == IN_FIBER and self.position != self.end - 1:
            self._output_element(self.position + 1)
        elif self.lookup_kind == NOTHING:
            return False
        elif self.mode != WANTS_FIBER:
            self._output_stop()
        else:
            self._start_fiber()
        return True

    def _output_stop(self) -> None:
        """Put the stop of a fiber into the second stage, merged with a stop that follows."""
        level = 0
        if self.lookup_kind == STOP:
            level = self.payload + 1
            self.lookup_kind = NOTHING
        self._set_output(STOP, level, level)
        self.mode = WANTS_FIBER

    def _start_fiber(self) -> None:
        """Take a token of the first stage between fibers: start a fiber, or pass on a stop or done."""
        kind = self.lookup_kind
        self.lookup_kind = NOTHING
        if kind == DATA:
            self.fiber = self.payload
            self.first = self.level.begin(self.fiber)
            self.end = self.level.end(self.fiber)
        if kind == EMPTY or (kind == DATA and self.first == self.end):
            self.mode = OWES_STOP
        elif kind == DATA:
            self.mode = IN_FIBER
            self._output_element(self.first)
        else:
            level = self.payload + 1 if kind == STOP else 0
            self._set_output(kind, level, level)

    def _output_element(self, position: int) -> None:
        """Read the element at this position into the second stage."""
        self.position = position
        self._set_output(DATA, self.level.coordinate(position), position)

    def _set_output(self, kind: int, coordinate: int, reference: int) -> None:
        """Put a token into the second stage; ``update`` sends it in the next cycle."""
        self.output_kind, self.coordinate, self.reference = kind, coordinate, reference
