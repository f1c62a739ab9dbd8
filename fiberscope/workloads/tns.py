"""``.tns``: sparse tensors of any order as FROSTT writes them, a line an entry: indices from 1, the value.

Source: S. Smith et al., "FROSTT: The Formidable Repository of Open Sparse Tensors and Tools", 2017.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fiberscope.workloads.canonical import MOST_ROWS, Coordinates, Values
from fiberscope.workloads.gathering import check_entries
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.text import Block, Grammar, first_entry, opened, scan

__all__ = ["COMMENTS", "read_tns"]

COMMENTS = "#%"


def read_tns(path: str | os.PathLike[str]) -> SparseTensor:
    """The tensor in a file, plain or gzip; the largest index of each rank is its size.

    Entries at the same place are added; zeros stay stored.

    Raises:
        WorkloadError: for whatever is wrong, with file and line: no entry, an index outside 1 to 2^28,
            another number of indices than in the first line, a value that is not finite.
    """
    where = os.fspath(path)
    with opened(Path(path), where) as stream:
        columns, values = _entries(stream, where)
    shape = [1 + int(column.max()) for column in columns]
    return SparseTensor.from_coordinates(shape, columns, values)


def _entries(stream: BinaryIO, where: str) -> tuple[list[Coordinates], Values]:
    """Coordinates from 0, an array for each rank, and values."""
    _, words = first_entry(stream, where)
    grammar = Grammar([*["index"] * max(1, words - 1), "real"], COMMENTS)
    blocks = [_checked(block, where) for block in scan(stream, grammar, where)]
    table = np.concatenate(blocks)
    return [table[:, rank].astype(np.int64) - 1 for rank in range(table.shape[1] - 1)], table[:, -1].copy()


def _checked(block: Block, where: str) -> Values:
    numbers = block.numbers
    check_entries(block, ~np.isfinite(numbers[:, -1]), "the value is too large for a double", where)
    for rank in range(numbers.shape[1] - 1):
        index = numbers[:, rank]
        what = f"the index of rank {rank + 1} is outside 1 to {MOST_ROWS}"
        check_entries(block, (index < 1) | (index > MOST_ROWS), what, where)
    return numbers
