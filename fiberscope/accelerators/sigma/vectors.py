"""Bitmaps of both operands as the vectors that units scan: the columns of a slice, then its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fiberscope.accelerators.sigma.packing import Chunk, Slice
from fiberscope.accelerators.sigma.plan import Plan
from fiberscope.hw.stream import COLUMN, ROW
from fiberscope.workloads.canonical import CsrArray

Vector: TypeAlias = tuple[int, int, list[int]]  # kind (ROW or COLUMN), row of the stationary operand, words


def vectors(chunk: Chunk, plan: Plan) -> Iterator[Vector]:
    """Yield the vectors that no earlier chunk has scanned; columns are all ones without a filter."""
    for segment in chunk.segments:
        slice_, filtered = segment.slice, plan.parameters.filtered and not plan.keeps_zeros
        if segment.first == 0:
            columns = _pattern(slice_.streamed).T if filtered else np.ones((plan.columns, slice_.width), bool)
            yield from ((COLUMN, 0, _words(bits, plan)) for bits in columns)
        rows = np.ones((plan.rows, slice_.width), bool) if plan.keeps_zeros else _pattern(slice_.stationary)
        yield from ((ROW, row, _words(rows[row], plan)) for row in plan.rows_scanned(segment))


def packed_values(slice_: Slice, plan: Plan) -> npt.NDArray[Any]:
    """Return the stationary values of a slice as the SRAM stores them: in the order of the bitmap's bits."""
    return slice_.stationary.toarray().ravel() if plan.keeps_zeros else slice_.stationary.data


def _pattern(matrix: CsrArray) -> npt.NDArray[np.bool_]:
    bits = np.zeros(matrix.shape, bool)
    bits[np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices] = True
    return bits


def _words(bits: npt.NDArray[np.bool_], plan: Plan) -> list[int]:
    """Return the words of a vector; the lowest bit of the first word is the first coordinate."""
    vector = int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
    return [vector >> word * plan.word_bits & (1 << plan.word_bits) - 1 for word in range(plan.words)]
