"""Formats of levels: their layout in memory, and the blocks that read, write and estimate them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.settings import ScratchpadParameters, TileParameters
    from fiberscope.workloads.canonical import Integers


class Level(Protocol):
    """A level of a stored tensor: its fibers, and the positions of their elements."""

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
        """Return the number of positions of the level: fibers of the next level, or values."""

    def expand(self, parents: Integers) -> tuple[Integers, Integers, Integers]:
        """Return all elements of some fibers.

        Args:
            parents: numbers of the fibers, in any order; a fiber may occur several times.

        Returns:
            For each element, the index of its fiber in ``parents``, its coordinate, and its position.
        """


class LevelFormat(ABC):
    """A format of levels.

    Attributes:
        name: name in graph files.
        letters: letters in format texts; the first one is written.
        meaning: description in messages about letters.
        has_all_coordinates: whether every coordinate has a position; coordinates are then not written.
        is_bit_vector: whether coordinates are bits of words, and streams carry the words.
        loads_coordinates: whether a scanner loads each coordinate from memory.
    """

    name: ClassVar[str]
    letters: ClassVar[str]
    meaning: ClassVar[str]
    has_all_coordinates: ClassVar[bool] = False
    is_bit_vector: ClassVar[bool] = False
    loads_coordinates: ClassVar[bool] = False

    @abstractmethod
    def store(self, size: int, fibers: int, parents: Integers, column: Integers) -> tuple[Level, Integers]:
        """Return the level that stores sorted entries, and the position of each entry in the level.

        Entries are sorted by fiber, then by coordinate.

        Args:
            size: number of coordinates of the level.
            fibers: number of fibers, including empty fibers.
            parents: for each entry, the number of its fiber.
            column: for each entry, its coordinate, from 0 to ``size - 1``.

        Raises:
            InputError: the level would not fit the host's memory.
        """

    def memory_reads(self, block: StreamBlock, sizes: ScratchpadParameters) -> tuple[str, int, int] | None:
        """Return the memory reads for a reference into a scanner; None if it reads nothing.

        Args:
            block: the scanner.
            sizes: bytes of coordinates and values.

        Returns:
            Name of the array, bytes of an entry, and number of entries that one reference reads.
        """
        return None

    def written_arrays(self, sizes: ScratchpadParameters) -> Mapping[str, int]:
        """Return the arrays that a writer fills, with the bytes of an entry, by name.

        The array ``segments`` has an entry for each fiber, the array ``lines`` for each element or word.
        """
        return {"lines": sizes.coordinate_bytes, "segments": sizes.coordinate_bytes}

    def count_stored_bytes(
        self, level: Level, fibers: Integers, children: Integers, sizes: TileParameters
    ) -> Integers | int:
        """Return the bytes of a level in each tile; 0 for a level that stores no coordinates.

        Args:
            level: the whole level; the tiles divide its fibers.
            fibers: number of fibers of each tile.
            children: number of children of these fibers.
            sizes: bytes of coordinates and values.
        """
        return 0


class WrittenFormat(LevelFormat):
    """A format whose coordinates are written, unlike those of a dense level."""

    @abstractmethod
    def read_writer(self, block: StreamBlock, segments: Integers, size: int) -> Level:
        """Return the level that a writer wrote.

        Args:
            block: the writer.
            segments: index of each fiber's first element, then the number of elements.
            size: number of coordinates of the level.
        """


def find_positions(parents: Integers, column: Integers) -> tuple[Integers, Integers]:
    """Return the first entry at each position of a level, and the position of each entry.

    Entries with the same fiber and coordinate share a position; the entries are sorted.

    Args:
        parents: for each entry, the number of its fiber.
        column: for each entry, its coordinate.
    """
    import numpy as np

    # the slice removes the first element if there are no entries
    new = np.append(True, (np.diff(parents) != 0) | (np.diff(column) != 0))[: len(column)]
    return np.flatnonzero(new), np.cumsum(new) - 1
