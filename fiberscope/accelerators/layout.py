"""The layout of the arrays of a machine's tensors in memory, and the roles of these arrays in a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fiberscope.hw.memory.protocol import READ, TENSOR_SHIFT


class Role(Enum):
    """The role of an array in a run, which determines the accesses that are legal."""

    OPERAND = "is only read"  # exists before the run
    STREAM = "is read once"  # exists before the run, in the order of use; data used twice is stored twice
    STATE = "is there before the run"  # may be read and written
    WORK = "is written before it is read"
    PRODUCT = "is written once"  # each line is written once and never read


@dataclass(frozen=True)
class Layout:
    """The layout of one array of a tensor.

    Args:
        start: byte address of the array, which includes the tensor's number as in ``hw.memory``.
        size: number of bytes; no other array shares the last line.
        role: role of the array in a run.
        used: byte ranges ``(first, end)`` relative to ``start``. A whole run accesses exactly the lines of
            these ranges. None if the ranges are not known.
        ahead: number of bytes after the last line that may also be read, because a prefetcher reads on until
            it is stopped. For an empty array, these bytes begin at ``start``.
    """

    start: int
    size: int
    role: Role
    used: npt.ArrayLike | None = None
    ahead: int = 0

    @classmethod
    def whole(cls, start: int, size: int, role: Role) -> Layout:
        """Return the layout of an array of which a whole run uses every line."""
        return cls(start, size, role, [(0, size)])

    @classmethod
    def stream(cls, origin: Sequence[int], size: int, moved_bytes: int) -> Layout:
        """Return the layout of a ``MemoryStream``.

        Args:
            origin: operation, tensor number, and first byte within the tensor's addresses, as the argument of
                the ``MemoryStream``.
            size: number of bytes of the array.
            moved_bytes: number of bytes that the stream moved.
        """
        operation, tensor, start = origin
        role = Role.STREAM if operation == READ else Role.PRODUCT
        return cls((tensor << TENSOR_SHIFT) + start, size, role, [(0, moved_bytes)])

    @property
    def used_bytes(self) -> int:
        """Return the number of bytes in the used ranges; 0 if the ranges are not known."""
        ranges = self._ranges()
        return int((ranges[:, 1] - ranges[:, 0]).sum())

    def _ranges(self) -> npt.NDArray[np.int64]:
        return np.reshape(np.asarray(() if self.used is None else self.used, np.int64), (-1, 2))

    def lines(self, line_bytes: int) -> set[int]:
        """Return the numbers of the lines that the used ranges touch, counted from address 0."""
        ranges = self._ranges() + self.start
        nonempty = ranges[ranges[:, 0] < ranges[:, 1]]
        firsts, ends = nonempty[:, 0] // line_bytes, -(-nonempty[:, 1] // line_bytes)
        return {
            line
            for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)
            for line in range(first, end)
        }


@dataclass(frozen=True)
class RowPlaces:
    """The addresses of the rows of a compressed matrix, which are stored in one or several stripes.

    A *stripe* is a contiguous range of memory with every ``stripes``-th row. With one stripe in each memory
    channel, this is the format C2SR (MatRaptor, MICRO 2020).

    Args:
        start: byte address of the first stripe, which includes the tensor's number.
        lengths: number of elements of each row.
        stripes: number of stripes; row r is in stripe r modulo ``stripes``.
        stripe_bytes: number of bytes from the start of a stripe to the start of the next stripe.
    """

    start: int
    lengths: npt.NDArray[np.integer]
    element_bytes: int
    stripes: int = 1
    stripe_bytes: int = 0

    @cached_property
    def addresses(self) -> npt.NDArray[np.int64]:
        """Return the address of the first byte of each row."""
        addresses = np.empty(len(self.lengths), np.int64)
        for i in range(self.stripes):
            sizes = self._sizes(i)
            addresses[i :: self.stripes] = self._stripe_start(i) + np.cumsum(sizes) - sizes
        return addresses

    def _stripe_start(self, stripe: int) -> int:
        return self.start + stripe * self.stripe_bytes

    def _sizes(self, stripe: int) -> npt.NDArray[np.int64]:
        """Return the bytes of each row of a stripe."""
        return np.asarray(self.lengths[stripe :: self.stripes], np.int64) * self.element_bytes

    def layouts(self, rows: npt.NDArray[np.integer]) -> list[Layout]:
        """Return the layouts of all stripes of an operand, with the given rows as the used ranges."""
        return [self._layout(i, rows[rows % self.stripes == i]) for i in range(self.stripes)]

    def _layout(self, stripe: int, rows: npt.NDArray[np.integer]) -> Layout:
        first = self.addresses[rows] - self._stripe_start(stripe)
        used = np.stack([first, first + self.lengths[rows] * self.element_bytes], axis=1)
        return Layout(self._stripe_start(stripe), int(self._sizes(stripe).sum()), Role.OPERAND, used)
