"""Bit-vector levels: a row of words per fiber, with a bit per coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError
from fiberscope.hw.streams.bits import PART, words_of
from fiberscope.models.graphs.levels.compressed import CompressedLevel, build_segments
from fiberscope.models.graphs.levels.level import Level, WrittenFormat, find_positions
from fiberscope.models.graphs.levels.scans import ScannedFormat

if TYPE_CHECKING:
    import numpy as np

    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStream
    from fiberscope.models.graphs.netlist import Node
    from fiberscope.models.graphs.primitives.primitive import BlockContext, CostWalk
    from fiberscope.models.graphs.settings import ScratchpadParameters, TileParameters
    from fiberscope.workloads.canonical import Integers

MOST_WORDS = 2**24  # words of a level; the scanner stores each as a Python integer


@dataclass(frozen=True)
class BitLevel:
    """Level with a row of 64-bit words per fiber; bit c of word w stands for coordinate 64 w + c.

    Args:
        words: array of shape (fibers, words of a fiber).
    """

    words: np.ndarray[tuple[int, int], np.dtype[np.uint64]]

    @property
    def fibers(self) -> int:
        """Return the number of fibers."""
        return len(self.words)

    @property
    def coordinates(self) -> Integers:
        """Return the coordinates of all fibers, one fiber after the other."""
        import numpy as np

        # nonzero lists words by fiber and bits by word, so the coordinates are sorted within each fiber
        _fibers, word_indices = np.nonzero(self.words)
        words = self.words[self.words != 0]
        indices, bits = np.nonzero((words[:, None] >> np.arange(PART, dtype=np.uint64)) & np.uint64(1))
        return word_indices[indices] * PART + bits

    @property
    def counts(self) -> Integers:
        """Return the number of children of each fiber."""
        import numpy as np

        counts: Integers = np.bitwise_count(self.words).sum(axis=1, dtype=np.int64)
        return counts

    @property
    def children(self) -> int:
        """Return the number of positions."""
        return int(self.counts.sum())

    def expand(self, parents: Integers) -> tuple[Integers, Integers, Integers]:
        """Return all elements of some fibers, see ``Level``."""
        return CompressedLevel(build_segments(self.counts), self.coordinates).expand(parents)


class _BitVectors(WrittenFormat, ScannedFormat):
    """Format of a level with a bit for each coordinate of each fiber, in 64-bit words."""

    name = "bitvector"
    letters = "b"
    meaning = "bit vectors"
    is_bit_vector = True

    def store(self, size: int, fibers: int, parents: Integers, column: Integers) -> tuple[Level, Integers]:
        import numpy as np

        width = words_of(size)
        if fibers * width > MOST_WORDS:
            raise InputError(
                f"{fibers:,} bit vectors of {size:,} coordinates, {fibers * width:,} words; at most "
                f"{MOST_WORDS:,} are stored: take a compressed level"
            )
        first, positions = find_positions(parents, column)
        words = np.zeros((fibers, width), np.uint64)
        bits = np.uint64(1) << (column[first] % PART).astype(np.uint64)
        # ``words[...] |= bits`` would keep only one of several bits of the same word
        np.bitwise_or.at(words, (parents[first], column[first] // PART), bits)
        return BitLevel(words), positions

    def scanner(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.bit_vector import BitVectorScanner

        words = context.level_of(node, BitLevel).words
        return BitVectorScanner(name, words.ravel().tolist(), context.quirks, words.shape[1])

    def writer(self, name: str, quirks: int) -> StreamBlock:
        from fiberscope.hw.streams.writers import BitVectorWriter

        return BitVectorWriter(name, quirks=quirks)

    def read_writer(self, block: StreamBlock, segments: Integers, size: int) -> Level:
        """Read the words that the writer stored, up to each fiber's last set bit; the other words are 0."""
        import numpy as np

        lengths = np.diff(segments)
        width = max(words_of(size), lengths.max(initial=0))  # the public writer may merge fibers
        fibers = np.zeros((len(lengths), width), np.uint64)
        owners = np.repeat(np.arange(len(fibers)), lengths)
        words = np.array(block.words, np.uint64)  # type: ignore[attr-defined]
        fibers[owners, np.arange(len(owners)) - segments[owners]] = words[: len(owners)]
        return BitLevel(fibers)

    def estimate(
        self, walk: CostWalk, node: Node, references: ExpectedStream
    ) -> tuple[ExpectedStream, ExpectedStream]:
        from fiberscope.models.graphs.cost.expected_streams import bit_words
        from fiberscope.models.graphs.cost.scans import scan_fibers

        walk.bits[node.name] = coordinates = scan_fibers(walk, node, references)
        words = bit_words(references, len(coordinates.spread[node["index"]]))
        # the coordinates inside the words are estimated in ``bits``, for the expander
        return words, words

    def memory_reads(self, block: StreamBlock, sizes: ScratchpadParameters) -> tuple[str, int, int] | None:
        """Return the memory reads of a fiber's words."""
        # the words of a fiber count as one entry, since a reference names a fiber
        return "words", block.per_fiber * sizes.value_bytes, 1  # type: ignore[attr-defined]

    def count_stored_bytes(
        self, level: Level, fibers: Integers, children: Integers, sizes: TileParameters
    ) -> Integers:
        """Return the bytes of the words."""
        assert isinstance(level, BitLevel)
        return fibers * level.words.shape[1] * sizes.value_bytes

    def written_arrays(self, sizes: ScratchpadParameters) -> Mapping[str, int]:
        """Return the array of words; all fibers have equal lengths, so there are no segments."""
        return {"lines": sizes.value_bytes}


FORMAT = _BitVectors()
