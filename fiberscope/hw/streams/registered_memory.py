# cython: infer_types=True
"""Blocks whose memory has a registered output, as block RAM and SRAM macros have.

A word is read in a cycle and used in the next.
"""

from __future__ import annotations

import numpy.typing as npt

from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.quirks import CLEAN
from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY


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
