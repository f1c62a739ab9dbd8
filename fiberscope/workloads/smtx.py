"""Reader of ``.smtx``: sparse patterns of the Deep Learning Matrix Collection.

Three lines: rows, columns and nonzeros; the row pointers; the column of each nonzero. There are no values.
Source: T. Gale, M. Zaharia, C. Young, E. Elsen, "Sparse GPU Kernels for Deep Learning", SC 2020.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from fiberscope.workloads.canonical import CsrArray, Integers, canonical, check_shape
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.sparse import sparse


def read_smtx(stream: BinaryIO, location: str) -> CsrArray:
    """Read the pattern of a file, with every value 1.

    Raises:
        WorkloadError: with the line: malformed or missing numbers, too many numbers, falling pointers, a
            column out of range, a fourth line.
    """
    sizes = _parse_numbers(stream.readline(256).replace(b",", b" "), location, 1, 3)
    rows, cols, nonzeros = (int(size) for size in sizes)
    check_shape(rows, cols, nonzeros, location, 1)
    pointers = _parse_numbers(stream.readline(), location, 2, rows + 1)
    if pointers[0] != 0 or pointers[-1] != nonzeros or np.any(np.diff(pointers) < 0):
        raise WorkloadError(f"the row pointers do not rise from 0 to {nonzeros}", location=location, line=2)
    columns = _parse_numbers(stream.readline(), location, 3, nonzeros)
    if nonzeros and not 0 <= columns.min() <= columns.max() < cols:
        raise WorkloadError(f"a column is outside 0 to {cols - 1}", location=location, line=3)
    if stream.read().strip():
        raise WorkloadError("more than three lines", location=location, line=4)
    matrix = sparse.csr_array((np.ones(nonzeros), columns, pointers), shape=(rows, cols))
    return canonical(matrix, location)


def _parse_numbers(text: bytes, location: str, line: int, count: int) -> Integers:
    tokens = text.split()
    if len(tokens) != count:
        raise WorkloadError(f"{len(tokens)} numbers; there should be {count}", location=location, line=line)
    if not all(token.isdigit() and len(token) < 19 for token in tokens):
        raise WorkloadError("not a whole number", location=location, line=line)
    return np.array(tokens, dtype=np.int64)
