"""Size of a fiber tree in bits, with a format for each rank (TeAAL, MICRO 2023, Section 4.1).

A ``RankFormat`` gives the size of fibers in memory. Level formats of graphs
(``fiberscope.models.graphs.levels``) give their layout in arrays and the blocks that access them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.sorting import INTEGER_LIMIT


@dataclass(frozen=True)
class RankFormat:
    """Format of the fibers of a rank. All sizes are in bits.

    Args:
        kind: ``U``, uncompressed: a payload for each coordinate of the shape, and no coordinates; ``C``,
            compressed: a coordinate and a payload for each element; ``B``, bitmask: one bit for each
            coordinate of the shape, and a payload for each element.
        coordinate: bits of a coordinate; only ``C`` stores coordinates.
        payload: bits of a payload.
        header: bits of each fiber before its elements.
        layout: ``structs``: coordinate and payload of an element are adjacent, and each pair fills whole
            words; ``arrays``: all coordinates of a fiber, then all payloads, each array in whole words. Only
            ``C`` has a choice: ``B`` has its bits and its payloads, and ``U`` its payloads, as arrays.
        word: bits of a word; 1 adds no padding.

    Raises:
        ValueError: an unknown kind or layout, a size below 0, or a word below 1.
    """

    kind: Literal["U", "C", "B"]
    coordinate: int = 0
    payload: int = 0
    header: int = 0
    layout: Literal["structs", "arrays"] = "structs"
    word: int = 1

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name, values_allowed in (("kind", "UCB"), ("layout", ("structs", "arrays"))):
            if getattr(self, name) not in values_allowed:
                raise ValueError(f"{name} should be {' or '.join(values_allowed)}, not {getattr(self, name)}")
        for name, least in (("coordinate", 0), ("payload", 0), ("header", 0), ("word", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} should be at least {least} bits, not {getattr(self, name)}")

    def bits(self, occupancy: Integers, shape: int) -> Integers:
        """Return the bits of fibers with these numbers of elements and coordinates below ``shape``.

        Args:
            occupancy: for each fiber, the number of its elements.
            shape: number of coordinates of the rank.

        Raises:
            ValueError: the total exceeds 64-bit numbers, as is possible for U and B with a large shape. The
                total is without headers and padding.
        """
        # C is not checked: its bits are proportional to elements that are in memory
        if self.kind != "C" and len(occupancy) * shape * max(1, self.payload) > INTEGER_LIMIT:
            fibers = f"{len(occupancy)} fibers of shape {shape} in format {self.kind}"
            raise ValueError(f"{fibers} have more than {INTEGER_LIMIT} bits")
        everywhere = np.full_like(occupancy, shape)
        if self.kind == "U":
            return self.header + self._pad(everywhere * self.payload)
        if self.kind == "B":
            return self.header + self._pad(everywhere) + self._pad(occupancy * self.payload)
        if self.layout == "structs":
            return self.header + occupancy * self._pad(np.int64(self.coordinate + self.payload))
        return self.header + self._pad(occupancy * self.coordinate) + self._pad(occupancy * self.payload)

    def _pad(self, bits: Integers | np.int64) -> Integers:
        """Return the bits rounded up to whole words."""
        return np.asarray(-(-bits // self.word) * self.word)


def count_fiber_bits(tree: FiberTree, name: str, rank_format: RankFormat) -> Integers:
    """Return the bits of each fiber of a rank, without the ranks below.

    Args:
        tree: the tensor.
        name: name of the rank.

    Raises:
        ValueError: there is no such rank, or it has too many bits (``RankFormat.bits``).
    """
    level = tree.level(name)
    return rank_format.bits(np.diff(tree.segments[level]), tree.ranks[level].shape)


def footprint(tree: FiberTree, formats: Mapping[str, RankFormat]) -> dict[str, int]:
    """Return the bits of each rank with a format. The other ranks are not stored.

    Args:
        tree: the tensor.
        formats: format by name of the rank.

    Raises:
        ValueError: a format for a rank that the tree does not have, or a rank has too many bits.
    """
    return {
        name: int(count_fiber_bits(tree, name, rank_format).sum()) for name, rank_format in formats.items()
    }


def count_subtree_bits(tree: FiberTree, name: str, formats: Mapping[str, RankFormat]) -> Integers:
    """Return the bits below each element of a rank, without the rank itself.

    Args:
        tree: the tensor.
        name: name of the rank.
        formats: format by name of the rank; ranks without a format are not stored.

    Raises:
        ValueError: there is no such rank, a format for a rank that the tree does not have, or a rank has too
            many bits.
    """
    for other in formats:
        tree.level(other)
    top = tree.level(name)
    # ``below`` has the bits below each element of a rank: from the last rank, whose elements have no fibers,
    # up to the rank ``name``
    below = np.zeros(tree.nonzeros, dtype=np.int64)
    for level in range(len(tree.ranks) - 1, top, -1):
        segments, rank_format = tree.segments[level], formats.get(tree.ranks[level].name)
        sums = np.concatenate([[0], np.cumsum(below)])
        below = sums[segments[1:]] - sums[segments[:-1]]  # of each fiber, that is, each element one rank up
        if rank_format is not None:
            below += count_fiber_bits(tree, tree.ranks[level].name, rank_format)
    return below
