"""Reader of ``.tns``: FROSTT's sparse tensors, one line for each entry: 1-based indices, the value.

MLIR and ParTI write a header before the entries (``fiberscope.workloads.tns_header``). Source: S. Smith et
al., "FROSTT: The Formidable Repository of Open Sparse Tensors and Tools", 2017.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fiberscope.workloads.canonical import MAX_ROWS, Coordinates, Values
from fiberscope.workloads.gathering import check_entries
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.text import Block, Grammar, open_text, scan
from fiberscope.workloads.tns_header import COMMENTS, TensorHeader, read_header


def read_tns(path: str | os.PathLike[str]) -> SparseTensor:
    """Read the tensor of a file, plain or gzip. Without a header, the size of a rank is its largest index.

    Entries at the same position are added. Zeros stay stored.

    Raises:
        WorkloadError: for any fault, with file and line: no entry, an index outside 1 to 2^28, another number
            of indices than in the first line, a value that is not finite.
    """
    location = os.fspath(path)
    with open_text(Path(path), location) as stream:
        header = read_header(stream, location)
        columns, values = _read_entries(stream, header, location)
    sizes = [1 + int(column.max(initial=-1)) for column in columns]
    return SparseTensor.from_coordinates(header.check(sizes, len(values), location), columns, values)


def _read_entries(stream: BinaryIO, header: TensorHeader, location: str) -> tuple[list[Coordinates], Values]:
    """Return the 0-based coordinates by rank, and the values.

    A file without a header has the rank of its first entry; each later line must have as many numbers.
    """
    grammar = Grammar([*["index"] * max(1, header.rank), "real"], COMMENTS)
    blocks = [_check_numbers(block, location) for block in scan(stream, grammar, location, header.lines + 1)]
    table = np.concatenate([np.empty((0, len(grammar.fields))), *blocks])
    return [table[:, rank].astype(np.int64) - 1 for rank in range(table.shape[1] - 1)], table[:, -1].copy()


def _check_numbers(block: Block, location: str) -> Values:
    numbers = block.numbers
    check_entries(block, ~np.isfinite(numbers[:, -1]), "the value is too large for a double", location)
    for rank in range(numbers.shape[1] - 1):
        index = numbers[:, rank]
        fault = f"the index of rank {rank + 1} is outside 1 to {MAX_ROWS}"
        check_entries(block, (index < 1) | (index > MAX_ROWS), fault, location)
    return numbers
