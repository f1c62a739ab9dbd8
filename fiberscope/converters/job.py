"""Job that a converter is built for, and the parameters of its blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fiberscope.converters.arrays import shifts_of
from fiberscope.converters.configuration import WORD_BITS, MintParameters
from fiberscope.hw.lanes import prefix_sum
from fiberscope.workloads.formats import Format, Rlc, index_bits

__all__ = ["Job", "run_of"]


@dataclass(frozen=True)
class Job:
    """Job that a converter is built for.

    Args:
        parameters: the parameters of MINT.
        source, target: formats.
        shape: the shape of the tensor.
        nonzeros: the nonzeros of it.
    """

    parameters: MintParameters
    source: Format
    target: Format
    shape: tuple[int, ...]
    nonzeros: int

    @property
    def size(self) -> int:
        """Places of the tensor."""
        return math.prod(self.shape)

    @property
    def shifts(self) -> list[int]:
        """Return the shift of each rank's coordinate in a word."""
        return shifts_of(self.shape)

    @property
    def adders(self) -> int:
        """Adders of the prefix sum."""
        return prefix_sum.adders(self.parameters.scan_form, self.parameters.lanes.scan)

    @property
    def key_rank(self) -> int:
        """The rank by which items are sorted: columns for CSC, rows for what comes out of CSC."""
        return 1 if self.target.name == "csc" else 0

    @property
    def key(self) -> tuple[int, int]:
        """Return the position of the key in a word: shift and bits."""
        return self.shifts[self.key_rank], index_bits(self.shape[self.key_rank])

    @property
    def keys(self) -> int:
        """Keys, and so counters."""
        return self.shape[self.key_rank]

    @property
    def position_bits(self) -> int:
        """Bits of a position: a word's, or as many as the largest has."""
        return max(WORD_BITS, index_bits(self.size))

    @property
    def division_bits(self) -> int:
        """Bits of a quotient that a stage of a divider finds."""
        return self.parameters.division_bits

    @property
    def rounds(self) -> int:
        """Divisions, or multiplications, one behind the other that an item needs."""
        return max(1, len(self.shape) - 1)

    @property
    def window(self) -> int:
        """Keys that there are counters for; more take turns."""
        return min(self.keys, self.parameters.counters)

    @property
    def ranges(self) -> int:
        """Turns that keys take."""
        return -(-self.keys // self.window)

    def lanes_of(self, units: int) -> int:
        """Items a cycle of units of which each item needs one a round."""
        return max(1, units // self.rounds)


def run_of(form: Format) -> tuple[int, bool]:
    """The greatest run of a format, and whether that has a value."""
    assert isinstance(form, Rlc)
    return form.greatest_run, form.continuation_has_value
