"""Generators of synthetic matrices and tensors with an exact number of nonzeros, drawn with a seed.

Every generator takes a ``seed`` and draws from numpy's PCG64. Equal arguments give equal matrices. Values are
uniform in (0.5, 1.5), so that products neither vanish nor overflow; ``drawn_values`` has other values.
Matrices are canonical CSR (see ``fiberscope.workloads.readers.read_matrix``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.canonical import CsrArray, Integers, Values, check_shape, from_coordinates
from fiberscope.workloads.drawn_values import draw_uniform
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.tensor import SparseTensor, coordinates_at, count_positions

_Draw = Callable[[int], Integers]
_MAX_ROUNDS = 200  # a steep distribution may never yield enough distinct keys


def uniform(rows: int, cols: int, nonzeros: int, seed: int = 0) -> CsrArray:
    """Draw a matrix with nonzeros at distinct positions, all sets of positions equally likely.

    Args:
        rows, cols: shape of the matrix.
        nonzeros: exact number of nonzeros.
        seed: seed of positions and values.

    Raises:
        WorkloadError: more nonzeros than positions.
    """
    _check_capacity("uniform", rows, cols, nonzeros, rows * cols)
    rng = np.random.default_rng(seed)
    keys = _sample_uniform_keys(rng, rows * cols, nonzeros)
    return _build_matrix(rng, keys // cols, keys % cols, (rows, cols), "uniform")


def tensor(shape: tuple[int, ...], nonzeros: int, seed: int = 0) -> SparseTensor:
    """Draw a tensor with nonzeros at distinct positions, all sets of positions equally likely.

    Args:
        shape: sizes of the ranks.
        nonzeros: exact number of nonzeros.
        seed: seed of positions and values.

    Raises:
        WorkloadError: more nonzeros than positions, or more positions than 64-bit integers can number.
    """
    positions = count_positions(shape)
    _check_count("tensor", nonzeros, positions)
    rng = np.random.default_rng(seed)
    keys = _sample_uniform_keys(rng, positions, nonzeros)
    return SparseTensor(shape, coordinates_at(shape, keys), draw_uniform(rng, nonzeros))


def banded(rows: int, cols: int, nonzeros: int, bandwidth: int, seed: int = 0) -> CsrArray:
    """Draw a matrix with nonzeros at distinct positions, uniform over a band around the diagonal.

    Args:
        rows, cols: shape of the matrix.
        nonzeros: exact number of nonzeros.
        bandwidth: maximum of |row - column|, the distance from the diagonal.
        seed: seed of positions and values.

    Raises:
        WorkloadError: more nonzeros than positions in the band.
    """
    first = np.maximum(np.arange(rows, dtype=np.int64) - bandwidth, 0)  # of each row, as last
    last = np.minimum(np.arange(rows, dtype=np.int64) + bandwidth, cols - 1)
    # A key numbers the positions of the band row by row; rows of a tall matrix below the band have none
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.maximum(last - first + 1, 0))])
    _check_capacity("banded", rows, cols, nonzeros, int(starts[-1]))
    rng = np.random.default_rng(seed)
    keys = _sample_uniform_keys(rng, int(starts[-1]), nonzeros)
    row = np.searchsorted(starts, keys, side="right") - 1
    return _build_matrix(rng, row, first[row] + keys - starts[row], (rows, cols), "banded")


def block(rows: int, cols: int, blocks: int, size: int, seed: int = 0) -> CsrArray:
    """Draw a matrix with distinct dense blocks on a grid of blocks.

    The number of nonzeros is exactly ``blocks`` x ``size`` x ``size``.

    Args:
        rows, cols: shape of the matrix.
        blocks: number of dense blocks.
        size: rows and columns of a block.
        seed: seed of positions and values.

    Raises:
        WorkloadError: ``size`` does not divide ``rows`` and ``cols``, or the grid has fewer blocks.
    """
    if rows % size or cols % size:
        raise WorkloadError(f"size={size} does not divide both rows={rows} and cols={cols}", location="block")
    high, wide = rows // size, cols // size
    _check_capacity("block", rows, cols, blocks * size * size, high * wide * size * size)
    rng = np.random.default_rng(seed)
    keys = _sample_uniform_keys(rng, high * wide, blocks)
    offsets = np.arange(size, dtype=np.int64)
    row = ((keys // wide) * size)[:, None, None] + offsets[None, :, None]
    col = ((keys % wide) * size)[:, None, None] + offsets[None, None, :]
    row, col = np.broadcast_arrays(row, col)
    return _build_matrix(rng, row.ravel(), col.ravel(), (rows, cols), "block")


def rmat(
    scale: int, nonzeros: int, a: float = 0.57, b: float = 0.19, c: float = 0.19, seed: int = 0
) -> CsrArray:
    """Draw an R-MAT graph: 2^``scale`` vertices, quadrant probabilities ``a``, ``b``, ``c``, 1 - a - b - c.

    Exactly ``nonzeros`` distinct edges. Source: D. Chakrabarti, Y. Zhan, C. Faloutsos, "R-MAT: A Recursive
    Model for Graph Mining", SDM 2004; the defaults are those of Graph 500.

    Raises:
        WorkloadError: invalid probabilities, more nonzeros than positions, or too few distinct edges after
            many draws.
    """
    check_probabilities(a, b, c, "rmat")
    size = 2**scale
    _check_capacity("rmat", size, size, nonzeros, size * size)
    rng = np.random.default_rng(seed)

    def draw(count: int) -> Integers:
        row: Integers = np.zeros(count, dtype=np.int64)
        col: Integers = np.zeros(count, dtype=np.int64)
        for _ in range(scale):
            row, col = descend_quadrant(row, col, rng.random(count, dtype=np.float32), (a, a + b, a + b + c))
        keys: Integers = row * size + col
        return keys

    keys = _sample_keys(rng, draw, nonzeros, "rmat")
    return _build_matrix(rng, keys // size, keys % size, (size, size), "rmat")


def check_probabilities(a: float, b: float, c: float, location: str) -> None:
    """Check the probabilities of three of four quadrants.

    Args:
        a, b, c: the probabilities; the fourth is 1 - a - b - c.
        location: name of the generator in errors.

    Raises:
        WorkloadError: a probability is negative, or the sum exceeds 1.
    """
    if min(a, b, c) < 0 or a + b + c > 1:
        raise WorkloadError(f"a={a}, b={b}, c={c} are not probabilities; a + b + c <= 1", location=location)


def descend_quadrant(
    row: Integers, col: Integers, draws: npt.NDArray[Any], bounds: tuple[Any, Any, Any]
) -> tuple[Integers, Integers]:
    """Choose a quadrant for each entry by a random number, and append a bit to its row and its column.

    Args:
        row, col: rows and columns so far.
        draws: random numbers.
        bounds: cumulative probabilities of the upper left, upper right and lower left quadrants.
    """
    # A draw in [0, 1) falls into: upper left, upper right, lower left, lower right, in this order
    upper_left, upper, upper_or_left = bounds
    is_lower = draws >= upper
    is_right = (draws >= upper_left) & ~is_lower | (draws >= upper_or_left)
    return 2 * row + is_lower, 2 * col + is_right


def chung_lu(rows: int, cols: int, nonzeros: int, exponent: float = 2.1, seed: int = 0) -> CsrArray:
    """Draw a matrix whose row and column degrees follow a power law with ``exponent`` > 1.

    Exactly ``nonzeros`` distinct positions, with probability proportional to row weight x column weight. Rows
    and columns are in random order. Source: F. Chung, L. Lu, "Connected components in random graphs with
    given expected degree sequences", Annals of Combinatorics 6, 2002.

    Raises:
        WorkloadError: an exponent of 1 or less, more nonzeros than positions, or too few distinct positions
            after many draws.
    """
    if not exponent > 1:
        raise WorkloadError(f"exponent={exponent}; it must be above 1", location="chung-lu")
    _check_capacity("chung-lu", rows, cols, nonzeros, rows * cols)
    rng = np.random.default_rng(seed)
    row_sums = np.cumsum(_draw_power_weights(rng, rows, exponent))
    col_sums = np.cumsum(_draw_power_weights(rng, cols, exponent))

    def draw(count: int) -> Integers:
        row: Integers = np.searchsorted(row_sums, rng.random(count) * row_sums[-1], side="right")
        col: Integers = np.searchsorted(col_sums, rng.random(count) * col_sums[-1], side="right")
        # a draw that rounds up to the whole sum lies behind the last row or column
        keys: Integers = np.minimum(row, rows - 1) * cols + np.minimum(col, cols - 1)
        return keys

    keys = _sample_keys(rng, draw, nonzeros, "chung-lu")
    return _build_matrix(rng, keys // cols, keys % cols, (rows, cols), "chung-lu")


def structured(rows: int, cols: int, n: int, m: int, seed: int = 0) -> CsrArray:
    """Draw n:m sparsity: in each row, exactly ``n`` of every ``m`` consecutive columns.

    Args:
        rows, cols: shape of the matrix.
        n: nonzeros of a group of columns.
        m: columns of a group.
        seed: seed of positions and values.

    Raises:
        WorkloadError: ``n`` above ``m``, or ``m`` does not divide ``cols``.
    """
    if not 0 <= n <= m or cols % m:
        raise WorkloadError(
            f"n={n}, m={m} for {cols} columns; n <= m, and m divides cols", location="structured"
        )
    check_shape(rows, cols, rows * cols // m * n, "structured")
    rng = np.random.default_rng(seed)
    groups = rows * cols // m
    # the first n of a random permutation of each group are a random set
    offsets = np.argsort(rng.random((groups, m)), axis=1)[:, :n].astype(np.int64)
    keys = (np.arange(groups, dtype=np.int64)[:, None] * m + offsets).ravel()
    return _build_matrix(rng, keys // cols, keys % cols, (rows, cols), "structured")


def runs(rows: int, cols: int, nonzeros: int, length: int, seed: int = 0) -> CsrArray:
    """Draw runs of ``length`` consecutive nonzeros in a row, on a grid of ``length``.

    The number of nonzeros is exact. If ``length`` does not divide it, one run is shorter. Runs may be
    adjacent.

    Args:
        rows, cols: shape of the matrix.
        nonzeros: exact number of nonzeros.
        length: columns of a run.
        seed: seed of positions and values.

    Raises:
        WorkloadError: ``length`` does not divide ``cols``, or more nonzeros than positions.
    """
    if cols % length:
        raise WorkloadError(f"length={length} does not divide cols={cols}", location="runs")
    _check_capacity("runs", rows, cols, nonzeros, rows * cols)
    rng = np.random.default_rng(seed)
    # The last run is cut short. The keys come sorted, so without the permutation it would always be the run
    # with the highest position.
    starts = (
        rng.permutation(_sample_uniform_keys(rng, rows * cols // length, -(-nonzeros // length))) * length
    )
    keys = (starts[:, None] + np.arange(length, dtype=np.int64)).ravel()[:nonzeros]
    return _build_matrix(rng, keys // cols, keys % cols, (rows, cols), "runs")


def _build_matrix(
    rng: np.random.Generator, row: Integers, col: Integers, shape: tuple[int, int], location: str
) -> CsrArray:
    """Return a matrix with random values at distinct positions, drawn in the order of CSR's entries."""
    matrix = from_coordinates(row, col, np.ones(len(row)), shape, location)
    matrix.data = draw_uniform(rng, matrix.nnz)
    return matrix


def _check_capacity(location: str, rows: int, cols: int, nonzeros: int, positions: int) -> None:
    check_shape(rows, cols, nonzeros, location)
    _check_count(location, nonzeros, positions)


def _check_count(location: str, nonzeros: int, positions: int) -> None:
    if not 0 <= nonzeros <= positions:
        raise WorkloadError(f"nonzeros={nonzeros}; it should be from 0 to {positions}", location=location)


def _draw_power_weights(rng: np.random.Generator, count: int, exponent: float) -> Values:
    """Return weights in random order that follow a power law with ``exponent``."""
    # The i-th largest of many numbers with density x^-exponent is proportional to i^(-1 / (exponent - 1))
    ranks = np.arange(1, count + 1, dtype=np.float64)
    return rng.permutation(ranks ** (-1.0 / (exponent - 1.0)))


def _sample_uniform_keys(rng: np.random.Generator, total: int, count: int) -> Integers:
    """Draw ``count`` distinct integers below ``total``, sorted, all sets equally likely."""
    if 2 * count > total:  # a permutation is cheaper than repeated draws
        return np.sort(rng.permutation(total)[:count]).astype(np.int64)
    return _sample_keys(rng, lambda draws: rng.integers(0, total, draws), count, "uniform")


def _sample_keys(rng: np.random.Generator, draw: _Draw, count: int, location: str) -> Integers:
    """Draw ``count`` distinct keys, sorted; drop repeated keys, and surplus keys at random.

    Raises:
        WorkloadError: the distribution yields too few distinct keys.
    """
    keys = np.empty(0, dtype=np.int64)
    for _ in range(_MAX_ROUNDS):
        missing = count - len(keys)
        # A quarter more than missing, as some keys are repeated.
        keys = np.sort(np.concatenate([keys, draw(missing + missing // 4 + 16)]))
        keys = keys[np.diff(keys, prepend=-1) > 0]
        if (excess := len(keys) - count) >= 0:
            # Keys are sorted: dropping the last ones would favour small keys.
            return np.delete(keys, rng.choice(len(keys), excess, replace=False))
    fault = f"only {len(keys)} of {count} distinct nonzeros found: the distribution is too steep for so many"
    raise WorkloadError(fault, location=location, fix="ask for fewer nonzeros")
