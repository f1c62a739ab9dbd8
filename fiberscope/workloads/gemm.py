"""Random operands of a sparse GEMM, drawn slice by slice: ``gemm:m=128,n=2048,k=4096,a=0.2,b=0.9``.

Z (M x N) = A (M x K) times B (K x N). ``a`` and ``b`` are densities; the numbers of nonzeros are exactly
round(a M K) and round(b K N), at distinct positions, with all sets equally likely. Both operands are cut
along K into slices of ``SLICE``. Each slice has its own seed, so that an operand that does not fit in memory
can be drawn slice by slice, repeatedly, with the same result.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Literal, Protocol, TypeAlias

import numpy as np
from pydantic import Field

from fiberscope.workloads.canonical import CsrArray, Integers, canonical
from fiberscope.workloads.drawn_values import DRAWS, LARGEST_INTEGER, ValueKind
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.named_tensor import NamedTensor
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.spec import Size, Spec, format_spec, parse_parameters
from fiberscope.workloads.workload import Workload

KIND = "gemm"
SLICE = 128  # coordinates of K in a drawn slice, independent of the slices of a machine
MAX_POSITIONS = 10**9 - 1  # positions of an operand: the limit of numpy's multivariate hypergeometric draw
MAX_NONZEROS_IN_MEMORY = 1 << 25  # nonzeros of an operand that is kept in memory

_Density = Annotated[float, Field(ge=0, le=1)]


class _Gemm(Spec):
    m: Size
    n: Size
    k: Size
    a: _Density
    b: _Density
    values: Literal["integer", "bf16"] = "integer"


class SlicedMatrix(Protocol):
    """A matrix that is read slice by slice, along K, the rank that it shares with the other operand."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def nonzeros(self) -> int:
        """Number of stored entries."""

    @property
    def integers(self) -> int | None:
        """The largest magnitude of a value if all values are integers, else None."""

    def slice(self, first: int, end: int) -> CsrArray:
        """Return the part of the matrix with the coordinates ``first`` to ``end`` - 1 of the shared rank."""


class MatrixInMemory:
    """A matrix in memory, read slice by slice.

    Args:
        matrix: canonical CSR.
        axis: the shared rank: 0 for rows, 1 for columns.
    """

    def __init__(self, matrix: CsrArray, axis: int) -> None:
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.nonzeros = int(matrix.nnz)
        self._axis = axis
        self._matrix = matrix.tocsc() if axis else matrix  # so that a slice is contiguous in memory

    @cached_property
    def integers(self) -> int | None:
        """See ``SlicedMatrix``."""
        values = self._matrix.data
        is_integer = bool(np.all(values == np.rint(values)))
        return int(np.max(np.abs(values), initial=0)) if is_integer else None

    def slice(self, first: int, end: int) -> CsrArray:
        """See ``SlicedMatrix``; entries are sorted."""
        if self._axis == 0:
            return sparse.csr_array(self._matrix[first:end])
        columns: CsrArray = sparse.csr_array(self._matrix[:, first:end])
        columns.sort_indices()
        return columns


@dataclass(frozen=True)
class DrawnOperand:
    """One operand of a drawn GEMM, with the attributes of a ``Workload``.

    Args:
        name: name of the operand.
        origin: the full text of the GEMM.
        shape: rows and columns.
        nonzeros: the exact number of nonzeros.
        axis: the shared rank: 0 for rows, 1 for columns.
        seed: seed of its slices.
        values: ``integer`` (1 to 4, of either sign) or ``bf16`` (between 0.5 and 1.5).
    """

    name: str
    origin: str
    shape: tuple[int, int]
    nonzeros: int
    axis: int
    seed: tuple[int, ...]
    values: ValueKind
    source: Literal["generated"] = "generated"
    notice: None = None

    @property
    def digest(self) -> str:
        """The sha256 of the name and the origin, as the values may not fit in memory."""
        return hashlib.sha256(f"{self.name} {self.origin}".encode()).hexdigest()

    @property
    def integers(self) -> int | None:
        """See ``SlicedMatrix``."""
        return LARGEST_INTEGER if self.values == "integer" else None

    @cached_property
    def matrix(self) -> CsrArray:
        """Return the matrix in canonical CSR.

        The matrix is drawn at the first use and then kept.

        Raises:
            WorkloadError: the matrix has more nonzeros than ``MAX_NONZEROS_IN_MEMORY``.
        """
        if self.nonzeros > MAX_NONZEROS_IN_MEMORY:
            limit = f"at most {MAX_NONZEROS_IN_MEMORY} are held in memory"
            raise WorkloadError(
                f"{self.name} has {self.nonzeros} nonzeros; {limit}",
                location=self.origin,
                fix="run it on a machine that takes it in slices: sigma",
            )
        return canonical(self.slice(0, self.shape[self.axis]), self.name)

    @cached_property
    def _counts(self) -> Integers:
        """Return the nonzeros of each slice: a random division with all positions equally likely.

        With these counts, independent draws in the slices give all sets of positions with equal probability.
        """
        width, length = self.shape[1 - self.axis], self.shape[self.axis]
        sizes = np.diff(np.append(np.arange(0, length, SLICE), length)) * width
        # The slices take the seeds 0 to len(sizes) - 1, so this seed is none of theirs
        rng = np.random.default_rng([*self.seed, len(sizes)])
        counts: Integers = rng.multivariate_hypergeometric(sizes, self.nonzeros, method="marginals")
        return counts

    def slice(self, first: int, end: int) -> CsrArray:
        """See ``SlicedMatrix``; entries are sorted. The result may be a cached matrix: do not change it."""
        pieces = [self._clip_slice(number, first, end) for number in range(first // SLICE, -(-end // SLICE))]
        if len(pieces) == 1:
            return pieces[0]
        return sparse.csr_array(sparse.hstack(pieces) if self.axis else sparse.vstack(pieces))

    def _clip_slice(self, number: int, first: int, end: int) -> CsrArray:
        """Return the part of drawn slice ``number`` with the coordinates ``first`` to ``end`` - 1."""
        matrix, start = _draw_cached_slice(self, number), number * SLICE
        inside = slice(max(first - start, 0), end - start)
        if inside.start == 0 and end - start >= matrix.shape[self.axis]:
            return matrix
        return matrix[inside] if self.axis == 0 else matrix[:, inside]

    def draw_slice(self, number: int) -> CsrArray:
        """Draw slice ``number`` from its own seed, with the number of nonzeros that ``_counts`` gives it."""
        length = min(SLICE, self.shape[self.axis] - number * SLICE)
        shape = (length, self.shape[1]) if self.axis == 0 else (self.shape[0], length)
        rng = np.random.default_rng([*self.seed, number])
        count = int(self._counts[number])
        # A mask brings the unordered positions into row-major order without sorting
        is_nonzero = np.zeros(shape[0] * shape[1], dtype=bool)
        is_nonzero[rng.choice(len(is_nonzero), count, replace=False, shuffle=False)] = True
        rows, cols = np.divmod(np.flatnonzero(is_nonzero), shape[1])
        starts = np.searchsorted(rows, np.arange(shape[0] + 1))
        return sparse.csr_array((DRAWS[self.values](rng, count), cols, starts), shape=shape)


Operand: TypeAlias = Workload | DrawnOperand | NamedTensor


@lru_cache(maxsize=2)
def _draw_cached_slice(operand: DrawnOperand, number: int) -> CsrArray:
    """Return a slice as drawn, cached for machines that read narrower slices."""
    return operand.draw_slice(number)


def is_gemm(text: object) -> bool:
    """Return whether the text describes a GEMM, which stands for both operands."""
    return isinstance(text, str) and text.partition(":")[0].strip().lower() == KIND and ":" in text


def draw(text: str) -> tuple[DrawnOperand, DrawnOperand]:
    """Return A and B of a GEMM. Their entries are drawn later, when a slice is read.

    Args:
        text: the problem, as in ``gemm:m=128,n=2048,k=4096,a=0.2,b=0.9``.

    Raises:
        WorkloadError: an unknown key, a value out of range, or an operand with too many positions.
    """
    spec = parse_parameters(text, _Gemm)
    full_text = format_spec(KIND, spec)
    sides = (("A", (spec.m, spec.k), spec.a, 1), ("B", (spec.k, spec.n), spec.b, 0))
    operands = []
    for name, shape, density, axis in sides:
        positions = shape[0] * shape[1]
        if positions > MAX_POSITIONS:
            fault = f"{name} is {shape[0]} x {shape[1]}, {positions} places; at most {MAX_POSITIONS}"
            raise WorkloadError(fault, location=text)
        nonzeros = round(density * positions)
        seed = (spec.seed, axis)  # the axis differs, so A and B are drawn independently
        operands.append(
            DrawnOperand(f"{name} of {full_text}", full_text, shape, nonzeros, axis, seed, spec.values)
        )
    return operands[0], operands[1]


def slice_operand(operand: Operand | CsrArray, axis: int) -> SlicedMatrix:
    """Return an operand that can be read slice by slice.

    A drawn operand whose slices are along the other axis is drawn as a whole and kept in memory.

    Args:
        operand: the operand, or its matrix.
        axis: the rank that is cut into slices: 0 for rows, 1 for columns.

    Raises:
        WorkloadError: a drawn operand has too many nonzeros for memory.
    """
    if isinstance(operand, DrawnOperand) and operand.axis == axis:
        return operand
    return MatrixInMemory(operand if isinstance(operand, sparse.csr_array) else operand.matrix, axis)
