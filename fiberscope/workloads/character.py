"""Statistics and a picture of a matrix: its density, and the positions of its nonzeros."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.workload import Workload

SHADES = " ░▒▓█"
WIDTH, HEIGHT = 64, 24  # maximum size of a picture in characters
TALL = 2  # a character is twice as high as wide


@dataclass(frozen=True)
class Degrees:
    """Distribution of the nonzeros of the rows, or of the columns, of a matrix; ``empty`` have none."""

    empty: int
    mean: float
    median: float
    most: int


@dataclass(frozen=True)
class Character:
    """Statistics of a matrix.

    Args:
        source: ``real``, ``surrogate``, ``generated``, or ``memory``.
        density: nonzeros divided by positions.
        whole: whether every value is a whole number.
        diagonal: number of nonzeros on the diagonal.
        symmetric: whether the pattern equals its transpose; values are not compared. False if not square.
        multiplies: multiplications of A times A; None if the matrix is not square.
    """

    name: str
    source: str
    origin: str
    shape: tuple[int, ...]
    nonzeros: int
    density: float
    whole: bool
    rows: Degrees
    columns: Degrees
    diagonal: int
    symmetric: bool
    multiplies: int | None
    digest: str


def character(workload: Workload) -> Character:
    """Compute the statistics of a matrix."""
    matrix = workload.matrix
    of_rows = np.diff(matrix.indptr)
    of_columns = np.bincount(matrix.indices, minlength=matrix.shape[1])
    square = matrix.shape[0] == matrix.shape[1]
    return Character(
        workload.name,
        workload.source,
        workload.origin,
        workload.shape,
        workload.nonzeros,
        workload.nonzeros / (matrix.shape[0] * matrix.shape[1]),
        bool((matrix.data == np.floor(matrix.data)).all()),
        _describe_degrees(of_rows),
        _describe_degrees(of_columns),
        int((_list_rows(matrix) == matrix.indices).sum()),
        square and _is_symmetric(matrix),
        # Each nonzero in column k of the first factor meets each nonzero in row k of the second
        int(of_columns @ of_rows) if square else None,
        workload.digest,
    )


def _describe_degrees(counts: NDArray[np.int64]) -> Degrees:
    return Degrees(
        int((counts == 0).sum()), float(counts.mean()), float(np.median(counts)), int(counts.max())
    )


def _list_rows(matrix: CsrArray) -> NDArray[np.int64]:
    """Return the row of every nonzero."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _is_symmetric(matrix: CsrArray) -> bool:
    other = matrix.T.tocsr()
    other.sort_indices()
    return np.array_equal(matrix.indptr, other.indptr) and np.array_equal(matrix.indices, other.indices)


def draw_picture(matrix: CsrArray) -> list[str]:
    """Draw the positions of nonzeros: one character for each block, darker for more nonzeros.

    The shade is logarithmic in the number of nonzeros, so that a block with a single nonzero is visible.
    """
    rows, columns = matrix.shape
    height, width = _size(rows, columns)
    blocks = (_list_rows(matrix) * height // rows) * width + matrix.indices * width // columns
    counts = np.bincount(blocks, minlength=height * width).reshape(height, width)
    most = np.log1p(max(1, counts.max()))
    # The small number absorbs rounding errors, which would make a shade darker
    shades = np.ceil((len(SHADES) - 1) * np.log1p(counts) / most - 1e-9).astype(int)
    return ["".join(SHADES[shade] for shade in line) for line in shades]


def _size(rows: int, columns: int) -> tuple[int, int]:
    """Return the lines and characters of a picture, at most one for each row and for each column.

    The picture has the proportions of the matrix, within these limits.
    """
    height = min(HEIGHT, max(1, round(WIDTH * rows / columns / TALL)))
    width = min(WIDTH, max(1, round(HEIGHT * TALL * columns / rows)))
    return min(height, rows), min(width, columns)
