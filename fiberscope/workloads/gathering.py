"""Conversion of blocks of numbers to coordinates and values, with the line number of any fault."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.workloads.array_checks import MAX_EXACT_INTEGER
from fiberscope.workloads.canonical import MAX_ROWS, Coordinates, Integers, Values
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.text import Block


@dataclass(frozen=True)
class Entries:
    """Coordinates (0-based) and values of the entries of a matrix, in the order of the file.

    Args:
        rows, cols: row and column of each entry; empty if the lines have values only.
        values: value of each entry; 1 if the lines have no values.
    """

    rows: Coordinates
    cols: Coordinates
    values: Values


def gather(
    blocks: Iterable[Block],
    location: str,
    declared: int | None = None,
    shape: tuple[int, int] = (MAX_ROWS, MAX_ROWS),
    base: int = 0,
    alternative: int | None = None,
) -> Entries:
    """Gather the entries of ``blocks`` with the fields value; row, column; or row, column, value.

    Args:
        blocks: the blocks of a file.
        location: name of the file, for errors.
        declared: the declared number of entries; None if there is none.
        shape: rows and columns. Indices must fit.
        base: the first index.
        alternative: the other accepted number of entries, less than ``declared``, such as the triangle of a
            symmetric array; None if there is none.

    Raises:
        WorkloadError: with the line: an index out of range, a value that is not finite, or a wrong number of
            entries.
    """
    entries: list[Entries] = []
    total, line = 0, 0
    for block in blocks:
        count = len(block.numbers)
        if declared is not None and total + count > declared:
            extra = block.line_of(declared - total)
            raise WorkloadError(f"an entry beyond the {declared} declared", location=location, line=extra)
        entries.append(_check_entries(block, location, shape, base))
        total += count
        # the last line so far, for the error of a file that ends too early
        line = block.first_line + block.lines - 1
    if declared is not None and total not in (declared, alternative):
        # the message names the smallest accepted number that the file does not reach
        expected = alternative if alternative is not None and total < alternative else declared
        raise WorkloadError(f"ends after {total} of {expected} entries", location=location, line=line or None)
    return _concatenate(entries)


def gather_columns(
    blocks: Iterable[Block], location: str, declared: int, shape: Sequence[int]
) -> tuple[list[Integers], Values]:
    """Return the 0-based coordinates of entries of any number of ranks, and their values.

    Args:
        blocks: the blocks of a file: an index from 1 on for each rank, and a value or none (a value of 1).
        location: name of the file, for errors.
        declared: the declared number of entries.
        shape: sizes of the ranks. Indices must fit.

    Returns:
        The coordinate of each entry, for each rank; and the value of each entry.

    Raises:
        WorkloadError: see ``gather``.
    """
    tables, total, line = [], 0, 0
    for block in blocks:
        numbers = block.numbers
        if total + len(numbers) > declared:
            extra = block.line_of(declared - total)
            raise WorkloadError(f"an entry beyond the {declared} declared", location=location, line=extra)
        _check_values(block, location)
        for rank, size in enumerate(shape):
            fault = f"the index of rank {rank + 1} is outside 1 to {size}"
            check_entries(block, (numbers[:, rank] < 1) | (numbers[:, rank] > size), fault, location)
        tables.append(numbers)
        total += len(numbers)
        # the last line so far, for the error of a file that ends too early
        line = block.first_line + block.lines - 1
    if total < declared:
        raise WorkloadError(f"ends after {total} of {declared} entries", location=location, line=line or None)
    table = np.concatenate(tables) if tables else np.empty((0, len(shape) + 1))
    # a table with one column for each rank has no values: each value is 1
    values = table[:, -1].copy() if table.shape[1] > len(shape) else np.ones(len(table))
    return [table[:, rank].astype(np.int64) - 1 for rank in range(len(shape))], values


def _check_values(block: Block, location: str) -> None:
    """Refuse values that a double cannot represent."""
    kind, values = block.grammar.fields[-1], block.numbers[:, -1]
    # the last field is an index if the lines have no value
    if kind == "index":
        return
    check_entries(block, ~np.isfinite(values), "the value is too large for a double", location)
    if kind == "integer":
        fault = "the integer, beyond 2^53, is none that a double holds"
        check_entries(block, _mask_rounded(block, values), fault, location)


def _check_entries(block: Block, location: str, shape: tuple[int, int], base: int) -> Entries:
    """Return the entries of a block, after a check of their indices and values."""
    numbers = block.numbers
    width = len(block.grammar.fields)
    # Lines of two fields have no value. Values are copied, so that the table of the block can be freed.
    values = numbers[:, -1].copy() if width != 2 else np.broadcast_to(1.0, len(numbers))
    _check_values(block, location)
    if width == 1:
        return Entries(*(np.empty(0, dtype=np.int32),) * 2, values)
    for axis, name in enumerate(("row", "column")):
        index, last = numbers[:, axis], base + shape[axis] - 1
        check_entries(
            block, (index < base) | (index > last), f"the {name} is outside {base} to {last}", location
        )
    rows, cols = ((numbers[:, axis] - base).astype(np.int32) for axis in (0, 1))  # MAX_ROWS is 2^28
    return Entries(rows, cols, values)


def _mask_rounded(block: Block, values: Values) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return a mask of the integers that a double rounds. Only large integers can be rounded."""
    wrong = np.abs(values) >= MAX_EXACT_INTEGER
    if wrong.any():
        width = len(block.grammar.fields)
        # without comments, the last of every ``width`` words is the value of the next entry
        value_texts = block.grammar.without_comments(block.text).split()[width - 1 :: width]
        for entry in np.flatnonzero(wrong):
            # Integers of Python are exact: a difference shows that the double is rounded. ``int`` refuses a
            # text above 4,300 digits, such as one with that many leading zeros.
            wrong[entry] = int(value_texts[entry].lstrip(b"+-0")) != abs(int(values[entry]))
    return wrong


def check_entries(
    block: Block, wrong: np.ndarray[tuple[int], np.dtype[np.bool_]], fault: str, location: str
) -> None:
    """Refuse a block with a wrong entry.

    Args:
        block: the entries.
        wrong: a mask of its wrong entries.
        fault: the description of the error.
        location: name of the file, for errors.

    Raises:
        WorkloadError: an entry is wrong; the message has the line of the first.
    """
    if wrong.any():
        line = block.line_of(int(np.argmax(wrong)))
        line_text = block.text.split(b"\n")[line - block.first_line].strip().decode("ascii", "replace")
        raise WorkloadError(f"{fault}: {line_text[:60]!r}", location=location, line=line)


def _concatenate(entries: list[Entries]) -> Entries:
    if not entries:
        return Entries(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0))
    return Entries(
        np.concatenate([block.rows for block in entries]),
        np.concatenate([block.cols for block in entries]),
        np.concatenate([block.values for block in entries]),
    )
