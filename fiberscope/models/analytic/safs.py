"""Sparse acceleration features: formats, gating and skipping, as they are attached to levels.

Source: Sparseloop (MICRO 2022), Section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Condition", "Feature", "Format", "Kind", "RankFormat", "SparseFeatures"]

Kind = Literal["U", "UB", "B", "CP", "RLE", "UOP"]
COMPRESSED: tuple[Kind, ...] = ("B", "CP", "RLE")  # empties are not stored


@dataclass(frozen=True)
class RankFormat:
    """One rank of a format.

    Args:
        kind: U uncompressed, UB with a mask, B bitmask, CP coordinates and payloads, RLE, UOP offsets.
        metadata_bits, payload_bits: the metadata bits and payload bits of a word; None: as the level has it.
        flattened: lists of dimensions; loops over those of one list share the rank.
    """

    kind: Kind
    metadata_bits: int | None = None
    payload_bits: int | None = None
    flattened: tuple[tuple[int, ...], ...] = ()

    @property
    def compressed(self) -> bool:
        """Return whether coordinates without a nonzero take no room."""
        return self.kind in COMPRESSED


@dataclass(frozen=True)
class Format:
    """The ranks of a tensor at a level, inner to outer.

    Args:
        ranks: innermost first.
        inner_to_outer: which rank is given a loop first: the innermost, or the outermost.
    """

    ranks: tuple[RankFormat, ...]
    inner_to_outer: bool = False

    @property
    def compressed(self) -> bool:
        """Return whether data that is zero is not stored."""
        return any(rank.compressed for rank in self.ranks)

    def __str__(self) -> str:
        """Outer to inner, as formats are written: ``uop cp``."""
        return " ".join(rank.kind.lower() for rank in reversed(self.ranks))


@dataclass(frozen=True)
class Condition:
    """Condition of an omission: reads of ``target`` where the tile of one of the ``leaders`` is empty."""

    target: int
    leaders: tuple[int, ...]


@dataclass(frozen=True)
class Feature:
    """Gating or skipping at a level; of several ``options`` it is the one that saves most."""

    skipping: bool
    options: tuple[Condition, ...]


@dataclass(frozen=True)
class SparseFeatures:
    """Sparse features of a design: formats, gating and skipping.

    Args:
        formats: the formats by the numbers of level and tensor.
        features: the features by the number of the level.
        compute_gating: a compute with a zero operand idles.
        compute_skipping: operands that are not aligned are passed over: the unit jumps to the next pair.
    """

    formats: Mapping[tuple[int, int], Format] = field(default_factory=dict)
    features: Mapping[int, tuple[Feature, ...]] = field(default_factory=dict)
    compute_gating: bool = False
    compute_skipping: bool = False

    def compressed(self, level: int, tensor: int) -> bool:
        """Return whether a level stores no zeros of a tensor."""
        format_ = self.formats.get((level, tensor))
        return format_ is not None and format_.compressed
