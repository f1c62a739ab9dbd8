"""Sparse acceleration features of levels: formats, gating and skipping.

Source: Sparseloop (MICRO 2022), Section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["U", "UB", "B", "CP", "RLE", "UOP"]
COMPRESSED: tuple[Kind, ...] = ("B", "CP", "RLE")  # kinds that do not store empty coordinates


@dataclass(frozen=True)
class RankFormat:
    """One rank of a format.

    Args:
        kind: U uncompressed, UB with a mask, B bitmask, CP coordinates and payloads, RLE run lengths, UOP
            offsets.
        metadata_bits, payload_bits: bits of a word of metadata and of a payload; None: those of the level.
        flattened: lists of dimensions; loops over the dimensions of a list share the rank.
    """

    kind: Kind
    metadata_bits: int | None = None
    payload_bits: int | None = None
    flattened: tuple[tuple[int, ...], ...] = ()

    @property
    def compressed(self) -> bool:
        """Return whether coordinates without a nonzero are not stored."""
        return self.kind in COMPRESSED


@dataclass(frozen=True)
class Format:
    """The ranks of a tensor at a level.

    Args:
        ranks: innermost first.
        inner_to_outer: whether loops are assigned to the innermost rank first, or to the outermost.
    """

    ranks: tuple[RankFormat, ...]
    inner_to_outer: bool = False

    @property
    def compressed(self) -> bool:
        """Return whether zeros are not stored."""
        return any(rank.compressed for rank in self.ranks)

    def __str__(self) -> str:
        """Return the kinds of the ranks, outermost first: ``uop cp``."""
        return " ".join(rank.kind.lower() for rank in reversed(self.ranks))


@dataclass(frozen=True)
class Condition:
    """Condition of an omission: reads of ``target`` where the tile of a tensor of ``leaders`` is empty."""

    target: int
    leaders: tuple[int, ...]


@dataclass(frozen=True)
class Feature:
    """Gating or skipping at a level; of several ``options``, the option with the largest saving counts."""

    skipping: bool
    options: tuple[Condition, ...]


@dataclass(frozen=True)
class SparseFeatures:
    """Sparse features of a design: formats, gating and skipping.

    Args:
        formats: the formats by the indices of level and tensor.
        features: the features by the index of the level.
        compute_gating: whether a compute with a zero operand idles.
        compute_skipping: whether the unit skips operands without a partner.
    """

    formats: Mapping[tuple[int, int], Format] = field(default_factory=dict)
    features: Mapping[int, tuple[Feature, ...]] = field(default_factory=dict)
    compute_gating: bool = False
    compute_skipping: bool = False

    def compressed(self, level: int, tensor: int) -> bool:
        """Return whether a level stores no zeros of a tensor."""
        format_ = self.formats.get((level, tensor))
        return format_ is not None and format_.compressed
