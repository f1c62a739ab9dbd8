"""Formats of levels: their layout in memory, and the blocks that read, write and estimate them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.settings import ScratchpadParameters
    from fiberscope.workloads.canonical import Integers

__all__ = ["Level", "LevelFormat", "WrittenFormat", "positions_of"]


class Level(Protocol):
    """One level of a tensor: its fibers, and the positions of their children."""

    @property
    def fibers(self) -> int:
        """Return the number of fibers."""

    @property
    def coordinates(self) -> Integers:
        """Return the coordinates of all fibers, one fiber after the other."""

    @property
    def counts(self) -> Integers:
        """Return the number of children of each fiber."""

    @property
    def children(self) -> int:
        """Return the number of fibers, or values, below it."""

    def expanded(self, parents: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the owners, coordinates and positions of all elements below these positions."""


class LevelFormat(ABC):
    """A format of levels; ``name`` is that in files, the first of ``letters`` the one that is written."""

    name: ClassVar[str]
    letters: ClassVar[str]
    meaning: ClassVar[str]  # in messages about letters
    full: ClassVar[bool] = False  # every coordinate has its place: nothing of it is written, no fiber empty
    of_words: ClassVar[bool] = False  # coordinates are bits of words, and so they are sent
    lists: ClassVar[bool] = False  # coordinates are read from memory, each by itself

    @abstractmethod
    def stored(self, size: int, fibers: int, parents: Integers, column: Integers) -> tuple[Level, Integers]:
        """The level of entries in order, and of each of these its position there.

        Args:
            size: coordinates of the level.
            fibers: the fibers of it, with or without an entry.
            parents: of each entry the fiber that it is in.
            column: of each its coordinate.

        Raises:
            InputError: it has more places than a machine has room for.
        """

    def fetched(self, block: StreamBlock, sizes: ScratchpadParameters) -> tuple[str, int, int] | None:
        """Return the reads for a reference into a scanner: what, the bytes of an entry, and the entries.

        None: nothing.
        """
        return None

    def lines(self, sizes: ScratchpadParameters) -> Mapping[str, int]:
        """The arrays that a writer fills, and the bytes of an entry of each; ``segments`` has one a fiber."""
        return {"lines": sizes.coordinate_bytes, "segments": sizes.coordinate_bytes}


class WrittenFormat(LevelFormat):
    """A format whose coordinates are written; that of all of them has nothing to write."""

    @abstractmethod
    def written(self, block: StreamBlock, segments: Integers, size: int) -> Level:
        """The level that a writer has written, its fibers beginning at these places."""


def positions_of(parents: Integers, column: Integers) -> tuple[Integers, Integers]:
    """Return the entries, in order, that are the first at their place, and the number of each one's place."""
    import numpy as np

    new = np.append(True, (np.diff(parents) != 0) | (np.diff(column) != 0))[: len(column)]
    return np.flatnonzero(new), np.cumsum(new) - 1
