"""Sparse acceleration features (SAFs) of a design: formats, gating and skipping.

Source: Sparseloop (MICRO 2022), Section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# uncompressed, uncompressed with a bitmask, bitmask, coordinate and payload, run-length encoding,
# uncompressed offset pairs: see ``RankFormat``
Kind = Literal["U", "UB", "B", "CP", "RLE", "UOP"]
COMPRESSED_KINDS: tuple[Kind, ...] = ("B", "CP", "RLE")  # kinds that store only nonempty coordinates


@dataclass(frozen=True)
class RankFormat:
    """One rank of a format.

    Args:
        kind: ``U``: payloads of all coordinates; ``UB``: the same, with a bitmask; ``B``: a bitmask, and
            payloads of nonempty coordinates; ``CP``: pairs of coordinate and payload; ``RLE``: run lengths
            and payloads; ``UOP``: offsets of the fibers below.
        metadata_bits: bits of a word of metadata; None: 1 for the kinds B and UB, else the level's.
        payload_bits: bits of a payload; None: the bits of a word of metadata of the level.
        flattened: lists of indices of dimensions. The rank takes only loops over the listed dimensions, and
            consecutive ones share it. If empty, the rank takes one loop, over any dimension.
    """

    kind: Kind
    metadata_bits: int | None = None
    payload_bits: int | None = None
    flattened: tuple[tuple[int, ...], ...] = ()

    @property
    def is_compressed(self) -> bool:
        """Return whether coordinates without a nonzero are not stored."""
        return self.kind in COMPRESSED_KINDS


@dataclass(frozen=True)
class Format:
    """The ranks of a tensor at a level.

    Args:
        ranks: innermost first.
        inner_to_outer: True to assign loops from the innermost, starting at the innermost rank; False to
            assign loops from the outermost, starting at the outermost rank.
    """

    ranks: tuple[RankFormat, ...]
    inner_to_outer: bool = False

    @property
    def is_compressed(self) -> bool:
        """Return whether any rank is compressed, so that zeros are not stored."""
        return any(rank.is_compressed for rank in self.ranks)

    def __str__(self) -> str:
        """Return the kinds of the ranks, outermost first: ``uop cp``."""
        return " ".join(rank.kind.lower() for rank in reversed(self.ranks))


@dataclass(frozen=True)
class Condition:
    """A condition under which accesses are omitted: reads, and for an output updates too.

    Args:
        target: index of the tensor whose accesses are omitted (the follower).
        leaders: indices of other tensors. An access is omitted if the tile of at least one leader is empty.
    """

    target: int
    leaders: tuple[int, ...]


@dataclass(frozen=True)
class ReadOmission:
    """A feature that omits accesses of a tensor at a level: reads, and updates of an output.

    Args:
        is_skipping: True for skipping (an omitted access takes no cycle), False for gating (a cycle each).
        options: alternative conditions; in each mapping, the condition with the largest saving applies.
    """

    is_skipping: bool
    options: tuple[Condition, ...]


@dataclass(frozen=True)
class SparseFeatures:
    """Sparse features of a design: formats, gating and skipping.

    Args:
        formats: the formats by the indices of level and tensor.
        features: the features by the index of the level.
        compute_gating: whether the compute unit idles for a compute with a zero or absent operand. An operand
            is absent if it is zero and its innermost level has a format for it. A compute whose operands are
            all absent does not reach the unit.
        compute_skipping: whether the compute unit skips a compute if some, but not all, operands are absent.
    """

    formats: Mapping[tuple[int, int], Format] = field(default_factory=dict)
    features: Mapping[int, tuple[ReadOmission, ...]] = field(default_factory=dict)
    compute_gating: bool = False
    compute_skipping: bool = False

    def is_compressed(self, level: int, tensor: int) -> bool:
        """Return whether a level stores no zeros of a tensor."""
        tensor_format = self.formats.get((level, tensor))
        return tensor_format is not None and tensor_format.is_compressed
