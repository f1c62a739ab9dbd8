"""Headers of ``.tns`` files: MLIR and ParTI write the shape before the entries, FROSTT writes none.

Sources: MLIR's sparse tensor runtime ("extended FROSTT format": rank and nonzeros, then the shape); ParTI
(rank, then the shape).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from fiberscope.workloads.canonical import MAX_ROWS
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.text import read_line

COMMENTS = "#%"


@dataclass(frozen=True)
class TensorHeader:
    """Header before the entries.

    Args:
        rank: number of indices of an entry.
        first: line of the first entry.
        shape: the declared shape; None if the largest indices determine it.
        nonzeros: the declared number of entries, if any.
        lines: number of lines of the header, including comments. The stream is after them.
    """

    rank: int
    first: int
    shape: tuple[int, ...] | None = None
    nonzeros: int | None = None
    lines: int = 0

    def check(self, sizes: list[int], entries: int, location: str) -> list[int]:
        """Return the shape of a tensor: the shape of the header, or the largest indices.

        Args:
            sizes: largest index of each rank, counted from 1.
            entries: number of entries in the file.
            location: name of the file, for errors.

        Raises:
            WorkloadError: an index exceeds the header's shape, or the header declares another number of
                entries.
        """
        if self.nonzeros is not None and self.nonzeros != entries:
            raise WorkloadError(
                f"the header promises {self.nonzeros} entries, there are {entries}", location=location
            )
        if self.shape is None:
            return sizes
        for rank, (size, most) in enumerate(zip(self.shape, sizes, strict=True), 1):
            if most > size:
                fault = f"an index of rank {rank} is {most}; the header has the shape "
                raise WorkloadError(fault + " x ".join(map(str, self.shape)), location=location)
        return list(self.shape)


def read_header(stream: BinaryIO, location: str) -> TensorHeader:
    """Read the lines before the entries and leave the stream after them.

    Raises:
        WorkloadError: there is no entry, or a size of the shape is out of range.
    """
    lines = _entries(stream, location)
    (first, start), (second, sizes), (third, entry) = next(lines), next(lines), next(lines)
    if not start:
        raise WorkloadError(
            "no entry in the file, so its shape is not known", location=location, fix="use .mtx"
        )
    numbers = [_whole_number(word) for word in start]
    is_header = len(numbers) <= 2 and numbers[0] == len(sizes) and all(numbers)
    if len(numbers) == 2:  # else the entry of a vector
        is_header = is_header and len(entry) == len(sizes) + 1
    shape = tuple(_whole_number(word) for word in sizes)
    stream.seek(0)
    if not is_header or not all(shape):
        return TensorHeader(len(start) - 1, first)
    if max(shape) > MAX_ROWS:
        raise WorkloadError(f"a size is above {MAX_ROWS}", location=location, line=second)
    for number in range(1, second + 1):
        read_line(stream, COMMENTS.encode(), location, number)
    nonzeros = numbers[1] if len(numbers) == 2 else None
    return TensorHeader(len(shape), third, shape, nonzeros, second)


def _entries(stream: BinaryIO, location: str) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the number and the words of each line that is no comment; at the end, no words."""
    number = 1
    while line := read_line(stream, COMMENTS.encode(), location, number):
        words = line.split()
        if words and words[0][:1] not in COMMENTS.encode():
            yield number, words
        number += 1
    while True:
        yield number, []


def _whole_number(word: bytes) -> int:
    """Return the whole number that a word represents; 0 for any other word."""
    return int(word) if word.isdigit() and len(word) < 19 else 0
