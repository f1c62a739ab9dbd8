"""Counts of actions: accesses and computes, each actual, gated or skipped.

Counts are arrays over mappings. Accesses are words, or units of metadata, of one instance of a level;
computes are those of all units together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fiberscope.models.analytic.arrays import Numbers
from fiberscope.models.analytic.formats import Units


@dataclass
class Access:
    """Accesses of one kind: reads, fills or updates.

    Args:
        actual: accesses that take place.
        gated: omitted accesses that still take a cycle.
        skipped: omitted accesses that take no cycle.
    """

    actual: Numbers
    gated: Numbers
    skipped: Numbers

    @classmethod
    def all_actual(cls, actual: Numbers) -> Access:
        """Return accesses that are all actual."""
        none = np.zeros(actual.shape)
        return cls(actual, none, none)

    def lose(self, removed: Numbers, skipping: Numbers) -> None:
        """Remove actual accesses, and count them as skipped (``skipping`` is 1) or gated (0).

        Args:
            removed: accesses to remove, at most ``actual``, by mapping.
            skipping: 1 or 0, by mapping.
        """
        self.actual = self.actual - removed
        self.skipped = self.skipped + removed * skipping
        self.gated = self.gated + removed * (1.0 - skipping)


@dataclass
class FormatAccess:
    """Accesses to metadata and payloads of a format, by rank: mappings x ranks."""

    metadata: Access
    payload: Access

    @classmethod
    def from_units(cls, units: Units, times: Numbers) -> FormatAccess:
        """Return the accesses of ``times`` tiles, all actual; fractions of a unit are rounded up.

        Args:
            units: mean units of a tile.
            times: number of tiles, by mapping.
        """
        return cls(
            *(
                Access.all_actual(np.ceil(_snap_to_whole(counts * times[:, None])))
                for counts in (units.metadata, units.payload)
            )
        )

    def copy(self) -> FormatAccess:
        """Return an independent copy of the counts."""
        # a shallow copy is enough: the methods replace arrays and never change them in place
        return FormatAccess(*(replace(access) for access in (self.metadata, self.payload)))

    def lose_share(self, share: Numbers, skipping: Numbers, ranks: int) -> None:
        """Remove a share of the innermost ranks' accesses, rounded down; count them as skipped or gated.

        Args:
            share: share to remove, from 0 to 1, by mapping.
            skipping: 1 where removed accesses are skipped, 0 where they are gated, by mapping.
            ranks: number of innermost ranks; these are the first columns.
        """
        for access in (self.metadata, self.payload):
            removed = np.floor(access.actual * share[:, None])
            removed[:, ranks:] = 0.0
            access.lose(removed, skipping[:, None])  # one decision by mapping, for all ranks

    def shrink(self, share: Numbers, ranks: int | None = None) -> None:
        """Remove a share of the accesses, rounded down, and count them neither as skipped nor as gated.

        Args:
            share: share to remove, at most 1, by mapping; a share below 0 adds accesses.
            ranks: number of innermost ranks, which alone lose accesses; None: all ranks.
        """
        for access in (self.metadata, self.payload):
            removed = np.floor(access.actual * share[:, None])
            removed[:, ranks if ranks is not None else removed.shape[1] :] = 0.0
            access.actual = access.actual - removed


def _snap_to_whole(numbers: Numbers) -> Numbers:
    """Round numbers that are almost integers, so that ``ceil`` does not add a unit."""
    rounded = np.rint(numbers)
    return np.where(np.abs(numbers - rounded) <= 1e-9 * np.maximum(rounded, 1.0), rounded, numbers)


@dataclass
class LevelActions:
    """Actions of one tensor at one level; arrays over mappings.

    Args:
        reads: words read for the inner level or the compute units.
        fills: words written that come from the outer level.
        updates: words written that come from the inner level.
        format_reads, format_fills, format_updates: accesses to metadata that belong to them; None without a
            format.
        reductions: partial sums that are added to earlier partial sums at this level.
        decompressions, compressions: words whose format changes on the way from or to the outer level.
    """

    reads: Access
    fills: Access
    updates: Access
    format_reads: FormatAccess | None = None
    format_fills: FormatAccess | None = None
    format_updates: FormatAccess | None = None
    # one zero is broadcast over all mappings
    reductions: Numbers = field(default_factory=lambda: np.zeros(1), kw_only=True)
    decompressions: Numbers = field(default_factory=lambda: np.zeros(1), kw_only=True)
    compressions: Numbers = field(default_factory=lambda: np.zeros(1), kw_only=True)

    @property
    def formats(self) -> tuple[FormatAccess, ...]:
        """Return the accesses to metadata: of reads, fills and updates, without missing ones."""
        kinds = (self.format_reads, self.format_fills, self.format_updates)
        return tuple(kind for kind in kinds if kind is not None)


@dataclass(frozen=True)
class Computes:
    """Computes of all units together; arrays over mappings.

    Args:
        actual: computes that take place.
        gated: omitted computes that still take a cycle.
        skipped: omitted computes that take no cycle.
        absent: computes that never reach a unit, because no operand is stored.
    """

    actual: Numbers
    gated: Numbers
    skipped: Numbers
    absent: Numbers
