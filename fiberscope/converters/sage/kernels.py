"""The four kernels of SAGE, as products on a weight-stationary array.

The array *holds* columns of B in its PEs (stationary), and *streams* rows of A past them. MCF is the memory
compression format of an operand, and ACF its algorithm compression format, with which the array computes
(the paper's Section I).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fiberscope.converters.sage.statistics import Statistics
from fiberscope.workloads.errors import WorkloadError, suggest

# Formats that the search considers, by the order of the operand and by their use.
MATRIX_MCFS = ("dense", "rlc", "zvc", "coo", "csr", "csc")
MATRIX_ACFS = ("dense", "coo", "csr", "csc")
TENSOR_MCFS = ("dense", "coo", "zvc", "csf")
TENSOR_ACFS = ("dense", "coo", "csf")


@dataclass(frozen=True)
class Kernel:
    """A kernel: the kind of its operands. The operands other than A are called factors.

    Args:
        order: number of ranks of A, the streamed operand.
        factor_is_dense: whether a factor that the user does not give is dense.
        factors: number of factors.
    """

    order: int
    factor_is_dense: bool
    factors: int = 1


# Z = A B with a sparse or a dense B; a tensor times a matrix; and a matricized tensor times the Khatri-Rao
# product of two matrices
KERNELS = {
    "spgemm": Kernel(2, factor_is_dense=False),
    "spmm": Kernel(2, factor_is_dense=True),
    "spttm": Kernel(3, factor_is_dense=True),
    "mttkrp": Kernel(3, factor_is_dense=True, factors=2),
}


@dataclass(frozen=True)
class Problem:
    """A kernel on its operands.

    The array streams A as a matrix of ``rows`` x ``depth``. The rows of a tensor are its fibers along the
    last rank.

    Args:
        kernel: name of the kernel, a key of ``KERNELS``.
        streamed: statistics of A.
        held: statistics of B; for MTTKRP, of the factor of A's last rank.
        other: for MTTKRP, statistics of the factor of A's middle rank; otherwise None.
    """

    kernel: str
    streamed: Statistics
    held: Statistics
    other: Statistics | None = None

    @property
    def rows(self) -> int:
        """Return the number of streamed rows."""
        return math.prod(self.streamed.shape[:-1])

    @property
    def depth(self) -> int:
        """Return the length of the rank that is summed over, A's last rank."""
        return self.streamed.shape[-1]

    @property
    def columns(self) -> int:
        """Return the number of columns of B; each PE holds one column at a time."""
        return self.held.shape[1]

    @property
    def output_places(self) -> int:
        """Return the number of values of the output, including zeros."""
        # MTTKRP sums over A's middle rank too, so that only the first rank is left
        rows = self.streamed.shape[0] if self.kernel == "mttkrp" else self.rows
        return rows * self.columns

    @property
    def mcfs(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the MCFs that the search considers, for A and for B."""
        return (MATRIX_MCFS if len(self.streamed.shape) == 2 else TENSOR_MCFS), MATRIX_MCFS

    @property
    def acfs(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the ACFs that the search considers, for A and for B."""
        return (MATRIX_ACFS if len(self.streamed.shape) == 2 else TENSOR_ACFS), MATRIX_ACFS


def problem(kernel: str, a: Statistics, b: Statistics | None = None) -> Problem:
    """Return the problem of a kernel with given operands.

    For MTTKRP, the factor of A's middle rank is dense, and has as many columns as B.

    Args:
        kernel: name of the kernel, a key of ``KERNELS``.
        a: statistics of A.
        b: statistics of B. By default, B has the shape of the paper's factors: the last rank of A by half of
            the first rank. It is dense; for SpGEMM, it has the density of A (a choice of this model).

    Raises:
        WorkloadError: if the kernel does not exist, or the shape of an operand does not fit.
    """
    if kernel not in KERNELS:
        raise WorkloadError(f"no kernel is called {kernel!r}", fix=suggest(kernel, KERNELS))
    kind = KERNELS[kernel]
    if len(a.shape) != kind.order:
        what = f"{kernel} takes A of order {kind.order}, and this has {len(a.shape)} ranks"
        raise WorkloadError(what, location=a.name)
    held = b or _factor("B", a, a.shape[-1], kind)
    if len(held.shape) != 2 or held.shape[0] != a.shape[-1]:
        shape = " x ".join(map(str, held.shape))
        raise WorkloadError(f"B is {shape}", location=held.name, fix=f"A asks for {a.shape[-1]} rows")
    other = _make_full_operand("C", a.shape[1], held.shape[1]) if kind.factors == 2 else None
    return Problem(kernel, a, held, other)


def _factor(name: str, a: Statistics, rows: int, kind: Kernel) -> Statistics:
    """Return a factor that the user has not given; see ``problem``."""
    columns = max(1, a.shape[0] // 2)
    if kind.factor_is_dense:
        return _make_full_operand(name, rows, columns)
    return Statistics(name, (rows, columns), a.density * rows * columns)


def _make_full_operand(name: str, rows: int, columns: int) -> Statistics:
    return Statistics(name, (rows, columns), rows * columns)
