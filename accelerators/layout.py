"""Where the arrays of a machine's tensors lie in memory, and what a run may do with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from fiberscope.hw.memory.protocol import READ, TENSOR_SHIFT

__all__ = ["Layout", "Role"]


class Role(Enum):
    """What a run does with an array."""

    OPERAND = "is only read"  # it is there before the run
    STREAM = "is read once"  # the same, bytes in the order of use: what is used again has another address
    STATE = "is there before the run"  # read and written
    WORK = "is written before it is read"
    PRODUCT = "is written once"  # each line, and not read


@dataclass(frozen=True)
class Layout:
    """One array of a tensor.

    Args:
        start: byte address of its first byte, with the tensor's number as in ``hw.memory``.
        size: bytes; the last line is the array's alone.
        role: what a run may do with it.
        used: byte ranges, from ``start`` on, ``(first, end)`` each, in whose lines a whole run reads or
            writes, and in no others; None if that is not known.
        ahead: bytes behind its last line that may be read too, by who goes on until it is stopped; of an
            empty array those from ``start`` on.
    """

    start: int
    size: int
    role: Role
    used: npt.ArrayLike | None = None
    ahead: int = 0

    @classmethod
    def whole(cls, start: int, size: int, role: Role) -> Layout:
        """An array of which a whole run uses every line."""
        return cls(start, size, role, [(0, size)])

    @classmethod
    def stream(cls, place: Sequence[int], space: int, moved: int) -> Layout:
        """What a ``MemoryStream`` has read or written, so many bytes; ``place`` is what it is made with.

        That is the operation, the tensor, and the byte of the tensor's addresses at which it begins.
        """
        operation, tensor, start = place
        role = Role.STREAM if operation == READ else Role.PRODUCT
        return cls((tensor << TENSOR_SHIFT) + start, space, role, [(0, moved)])

    def lines(self, line_bytes: int) -> set[int]:
        """Numbers of the lines, from address 0 on, that hold what is used."""
        ranges = np.reshape(np.asarray(self.used, np.int64), (-1, 2)) + self.start
        held = ranges[ranges[:, 0] < ranges[:, 1]]
        firsts, ends = held[:, 0] // line_bytes, -(-held[:, 1] // line_bytes)
        return {
            line
            for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)
            for line in range(first, end)
        }
