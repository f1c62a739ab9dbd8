"""The job of a converter: one conversion, from which the parameters of the converter's blocks follow."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fiberscope.converters.arrays import compute_shifts
from fiberscope.converters.configuration import WORD_BITS, MintParameters
from fiberscope.hw.lanes import prefix_sum
from fiberscope.workloads.formats import Format, Rlc, index_bits


@dataclass(frozen=True)
class Job:
    """A conversion job: both formats, and the shape and number of nonzeros of the tensor.

    Args:
        parameters: parameters of MINT.
        source, target: format of the input, format of the output.
        shape: shape of the tensor.
        nonzeros: number of nonzeros of the tensor.
    """

    parameters: MintParameters
    source: Format
    target: Format
    shape: tuple[int, ...]
    nonzeros: int

    @property
    def size(self) -> int:
        """Return the number of elements of the tensor, including zeros."""
        return math.prod(self.shape)

    @property
    def shifts(self) -> list[int]:
        """Return the shift of each rank's coordinate in a word; the last rank has shift 0."""
        return compute_shifts(self.shape)

    @property
    def adders(self) -> int:
        """Return the number of adders of the prefix-sum unit."""
        return prefix_sum.adders(self.parameters.scan_form, self.parameters.lanes.scan)

    @property
    def key_rank(self) -> int:
        """Return the rank by which a two-pass conversion sorts: 1 (columns) if the target is CSC, else 0."""
        return 1 if self.target.name == "csc" else 0

    @property
    def key_field(self) -> tuple[int, int]:
        """Return the position of the sort key in an item's word: shift and number of bits."""
        return self.shifts[self.key_rank], index_bits(self.shape[self.key_rank])

    @property
    def key_count(self) -> int:
        """Return the number of distinct keys, each of which needs a counter."""
        return self.shape[self.key_rank]

    @property
    def position_bits(self) -> int:
        """Return the bits of a position: the bits of a word, or more if the tensor has more positions."""
        return max(WORD_BITS, index_bits(self.size))

    @property
    def rounds(self) -> int:
        """Return the number of consecutive divisions, or multiplications, that an item needs; at least 1.

        A position in n ranks has n - 1 divisions, since the last quotient is the first coordinate.
        """
        return max(1, len(self.shape) - 1)

    @property
    def window(self) -> int:
        """Return the number of keys in a range: the smaller of the number of counters and of all keys."""
        return min(self.key_count, self.parameters.counters)

    @property
    def ranges(self) -> int:
        """Return the number of ranges of keys, which are counted one after the other."""
        return -(-self.key_count // self.window)

    def lanes_per_round(self, units: int) -> int:
        """Return the items per cycle of dividers or multipliers, of which each round gets an equal share.

        Args:
            units: number of all dividers, or of all multipliers. Each round gets at least one.
        """
        return max(1, units // self.rounds)


def run_limits(form: Format) -> tuple[int, bool]:
    """Return the longest run that an RLC entry can have, and whether an entry with this run has a value.

    Args:
        form: the format, which must be ``Rlc``.
    """
    assert isinstance(form, Rlc)
    return form.greatest_run, form.continuation_has_value
