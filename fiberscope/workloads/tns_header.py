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
        first: 1-based line of the first entry.
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
            sizes: largest index of each rank, counted from 1; 0 without entries.
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
        for rank, (size, largest_index) in enumerate(zip(self.shape, sizes, strict=True), 1):
            if largest_index > size:
                fault = f"an index of rank {rank} is {largest_index}; the header has the shape "
                raise WorkloadError(fault + " x ".join(map(str, self.shape)), location=location)
        return list(self.shape)


def read_header(stream: BinaryIO, location: str) -> TensorHeader:
    """Read the lines before the entries and leave the stream after them.

    A file has a header if its first line is the number of ranks (ParTI), or ranks and nonzeros (MLIR), and
    the second line has as many sizes. Two numbers are also an entry of a vector; the third line decides.

    Raises:
        WorkloadError: there is no entry, a size of the shape is out of range, or two lines are either the
            header of a matrix without entries or two entries of a vector.
    """
    lines = _yield_token_lines(stream, location)
    first_line, first_tokens = next(lines)
    second_line, size_tokens = next(lines)
    third_line, entry_tokens = next(lines)
    if not first_tokens:
        raise WorkloadError(
            "no entry in the file, so its shape is not known", location=location, fix="use .mtx"
        )
    numbers = [_parse_positive(token) for token in first_tokens]
    is_header = len(numbers) <= 2 and 0 < numbers[0] == len(size_tokens)
    if len(numbers) == 2:  # two numbers could also be the entry of a vector
        is_empty = first_tokens[1] == b"0" and not entry_tokens
        if is_header and is_empty and len(size_tokens) == 2:
            fault = "the two lines are a matrix without entries by its header, or a vector of two entries"
            raise WorkloadError(fault, location=location, line=first_line, fix="use .mtx")
        # with a header, as many entries as it declares follow
        is_header = is_header and (is_empty or (numbers[1] > 0 and len(entry_tokens) == len(size_tokens) + 1))
    shape = tuple(_parse_positive(token) for token in size_tokens)
    # the generator has read three lines
    stream.seek(0)
    if not is_header or not all(shape):
        # the last token of an entry is its value
        return TensorHeader(len(first_tokens) - 1, first_line)
    if max(shape) > MAX_ROWS:
        raise WorkloadError(f"a size is above {MAX_ROWS}", location=location, line=second_line)
    for number in range(1, second_line + 1):
        read_line(stream, COMMENTS.encode(), location, number)
    nonzeros = numbers[1] if len(numbers) == 2 else None
    return TensorHeader(len(shape), third_line, shape, nonzeros, second_line)


def _yield_token_lines(stream: BinaryIO, location: str) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the number and the tokens of each line that is no comment; after the last line, no tokens."""
    number = 1
    while line := read_line(stream, COMMENTS.encode(), location, number):
        tokens = line.split()
        if tokens and tokens[0][:1] not in COMMENTS.encode():
            yield number, tokens
        number += 1
    # the caller takes three lines, also of a shorter file
    while True:
        yield number, []


def _parse_positive(token: bytes) -> int:
    """Return the whole number that a token represents; 0 for any other token, and above 18 digits."""
    # 18 digits fit in a 64-bit integer
    return int(token) if token.isdigit() and len(token) < 19 else 0
