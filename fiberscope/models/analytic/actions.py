"""Actions in the end: accesses and computes, and those that are gated or skipped.

Counts are words, or units of metadata, a instance, by mapping.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from fiberscope.models.analytic.density import Numbers
from fiberscope.models.analytic.formats import Units

__all__ = ["Access", "Computes", "FormatAccess", "LevelActions"]


@dataclass
class Access:
    """One kind of access (reads, fills or updates) of data: done, idled through, and passed over."""

    actual: Numbers
    gated: Numbers
    skipped: Numbers

    @classmethod
    def all_actual(cls, actual: Numbers) -> Access:
        """Return actions that are all done."""
        none = np.zeros(actual.shape)
        return cls(actual, none, none)

    def lose(self, removed: Numbers, skipping: Numbers) -> None:
        """Omit a share of the actions: skipped where ``skipping`` is 1, gated where it is 0."""
        self.actual = self.actual - removed
        self.skipped = self.skipped + removed * skipping
        self.gated = self.gated + removed * (1.0 - skipping)


@dataclass
class FormatAccess:
    """The same of the units of a format, by rank: mappings x ranks."""

    metadata: Access
    payload: Access

    @classmethod
    def from_units(cls, units: Units, times: Numbers) -> FormatAccess:
        """The units of so many tiles, a begun unit whole."""
        return cls(
            *(
                Access.all_actual(np.ceil(_snap_to_whole(part * times[:, None])))
                for part in (units.metadata, units.payload)
            )
        )

    def copy(self) -> FormatAccess:
        """The same counts, to be changed on their own."""
        return FormatAccess(*(replace(access) for access in (self.metadata, self.payload)))

    def lose_share(self, share: Numbers, skipping: Numbers, ranks: int) -> None:
        """Leave out a share of the innermost ranks."""
        for access in (self.metadata, self.payload):
            removed = np.floor(access.actual * share[:, None])
            removed[:, ranks:] = 0.0
            access.lose(removed, skipping[:, None])

    def shrink(self, share: Numbers, ranks: int | None = None) -> None:
        """A share (of the innermost ranks) does not exist here."""
        for access in (self.metadata, self.payload):
            removed = np.floor(access.actual * share[:, None])
            removed[:, ranks if ranks is not None else removed.shape[1] :] = 0.0
            access.actual = access.actual - removed


def _snap_to_whole(numbers: Numbers) -> Numbers:
    """Round numbers that are almost whole, which would otherwise count as one more unit."""
    near = np.rint(numbers)
    return np.where(np.abs(numbers - near) <= 1e-9 * np.maximum(near, 1.0), near, numbers)


@dataclass
class LevelActions:
    """One tensor at one level."""

    reads: Access
    fills: Access
    updates: Access
    format_reads: FormatAccess | None = None
    format_fills: FormatAccess | None = None
    format_updates: FormatAccess | None = None
    reductions: Numbers = field(default_factory=lambda: np.zeros(1), kw_only=True)
    decompressions: Numbers = field(default_factory=lambda: np.zeros(1), kw_only=True)
    compressions: Numbers = field(default_factory=lambda: np.zeros(1), kw_only=True)

    @property
    def formats(self) -> tuple[FormatAccess, ...]:
        """Return the existing formats: reads, fills, updates."""
        kinds = (self.format_reads, self.format_fills, self.format_updates)
        return tuple(kind for kind in kinds if kind is not None)


@dataclass(frozen=True)
class Computes:
    """Computes of all units together; ``absent`` are those without an operand."""

    actual: Numbers
    gated: Numbers
    skipped: Numbers
    absent: Numbers
