"""Layout of the arrays of a machine's tensors in memory, and their roles in a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fiberscope.hw.memory.protocol import READ, TENSOR_SHIFT

__all__ = ["Layout", "Role", "RowPlaces"]


class Role(Enum):
    """Role of an array in a run."""

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
        """Return the layout of a ``MemoryStream`` that moved so many bytes; ``place`` is its argument.

        That is the operation, the tensor, and the byte of the tensor's addresses at which it begins.
        """
        operation, tensor, start = place
        role = Role.STREAM if operation == READ else Role.PRODUCT
        return cls((tensor << TENSOR_SHIFT) + start, space, role, [(0, moved)])

    @property
    def used_bytes(self) -> int:
        """Bytes that a whole run uses, each once; 0 where that is not known."""
        ranges = self._ranges()
        return int((ranges[:, 1] - ranges[:, 0]).sum())

    def _ranges(self) -> npt.NDArray[np.int64]:
        return np.reshape(np.asarray(() if self.used is None else self.used, np.int64), (-1, 2))

    def lines(self, line_bytes: int) -> set[int]:
        """Numbers of the lines, from address 0 on, that hold what is used."""
        ranges = self._ranges() + self.start
        held = ranges[ranges[:, 0] < ranges[:, 1]]
        firsts, ends = held[:, 0] // line_bytes, -(-held[:, 1] // line_bytes)
        return {
            line
            for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)
            for line in range(first, end)
        }


@dataclass(frozen=True)
class RowPlaces:
    """Places of the rows of a compressed matrix: one behind the other, or so in each of several stripes.

    With a stripe in each channel of memory that is the format C2SR (MatRaptor, MICRO 2020).

    Args:
        start: byte address of the first stripe, with the tensor's number.
        lengths: elements of each row.
        element_bytes: bytes of an element.
        stripes: row r is in stripe r modulo their number.
        stripe_bytes: addresses from a stripe's beginning to that of the next.
    """

    start: int
    lengths: npt.NDArray[np.integer]
    element_bytes: int
    stripes: int = 1
    stripe_bytes: int = 0

    @cached_property
    def addresses(self) -> npt.NDArray[np.int64]:
        """Return the address of the first byte of each row."""
        places = np.empty(len(self.lengths), np.int64)
        for i in range(self.stripes):
            sizes = self._sizes(i)
            places[i :: self.stripes] = self._begin(i) + np.cumsum(sizes) - sizes
        return places

    def _begin(self, stripe: int) -> int:
        return self.start + stripe * self.stripe_bytes

    def _sizes(self, stripe: int) -> npt.NDArray[np.int64]:
        """Bytes of each row of a stripe."""
        return np.asarray(self.lengths[stripe :: self.stripes], np.int64) * self.element_bytes

    def layouts(self, rows: npt.NDArray[np.integer]) -> list[Layout]:
        """The stripes of an operand of which a run reads these rows."""
        return [self._layout(i, rows[rows % self.stripes == i]) for i in range(self.stripes)]

    def _layout(self, stripe: int, rows: npt.NDArray[np.integer]) -> Layout:
        first = self.addresses[rows] - self._begin(stripe)
        used = np.stack([first, first + self.lengths[rows] * self.element_bytes], axis=1)
        return Layout(self._begin(stripe), int(self._sizes(stripe).sum()), Role.OPERAND, used)
