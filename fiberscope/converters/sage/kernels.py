"""The four kernels, as the weight-stationary array sees them: rows are streamed, columns are held."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fiberscope.converters.sage.statistics import Statistics
from fiberscope.workloads.errors import WorkloadError, nearest

MATRIX_MCFS = ("dense", "rlc", "zvc", "coo", "csr", "csc")
MATRIX_ACFS = ("dense", "coo", "csr", "csc")
TENSOR_MCFS = ("dense", "coo", "zvc", "csf")
TENSOR_ACFS = ("dense", "coo", "csf")


@dataclass(frozen=True)
class Kernel:
    """A kernel.

    Args:
        order: the order of the operand that is streamed.
        factor_is_dense: whether the other operands are, unless they are given.
        factors: how many others there are.
    """

    order: int
    factor_is_dense: bool
    factors: int = 1


KERNELS = {
    "spgemm": Kernel(2, factor_is_dense=False),
    "spmm": Kernel(2, factor_is_dense=True),
    "spttm": Kernel(3, factor_is_dense=True),
    "mttkrp": Kernel(3, factor_is_dense=True, factors=2),
}


@dataclass(frozen=True)
class Problem:
    """A kernel on its operands.

    The streamed operand is a matrix of ``rows`` x ``depth``: of a tensor, its fibers along the last rank.

    Args:
        kernel: its name.
        streamed: A.
        held: B; of MTTKRP the factor of the last rank.
        other: the other of MTTKRP the factor of the middle rank.
    """

    kernel: str
    streamed: Statistics
    held: Statistics
    other: Statistics | None = None

    @property
    def rows(self) -> int:
        """Rows that are streamed."""
        return math.prod(self.streamed.shape[:-1])

    @property
    def depth(self) -> int:
        """The rank that is summed over."""
        return self.streamed.shape[-1]

    @property
    def columns(self) -> int:
        """Columns of the factors, of which each PE holds one."""
        return self.held.shape[1]

    @property
    def output_places(self) -> int:
        """Values of the output."""
        rows = self.streamed.shape[0] if self.kernel == "mttkrp" else self.rows
        return rows * self.columns

    @property
    def mcfs(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Formats in memory of both operands."""
        return (MATRIX_MCFS if len(self.streamed.shape) == 2 else TENSOR_MCFS), MATRIX_MCFS

    @property
    def acfs(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Formats to compute in of both operands."""
        return (MATRIX_ACFS if len(self.streamed.shape) == 2 else TENSOR_ACFS), MATRIX_ACFS


def problem(kernel: str, a: Statistics, b: Statistics | None = None) -> Problem:
    """A kernel on A and B.

    Where B is not given it is as in the paper: the last rank of A by half of the first, as dense as A for
    SpGEMM, full for the others. That of SpGEMM is as dense as A by our choice.

    Raises:
        WorkloadError: an unknown kernel, A of another order, or B of another shape than A asks for.
    """
    if kernel not in KERNELS:
        raise WorkloadError(f"no kernel is called {kernel!r}", fix=nearest(kernel, KERNELS))
    kind = KERNELS[kernel]
    if len(a.shape) != kind.order:
        what = f"{kernel} takes A of order {kind.order}, and this has {len(a.shape)} ranks"
        raise WorkloadError(what, where=a.name)
    held = b or _factor("B", a, a.shape[-1], kind)
    if len(held.shape) != 2 or held.shape[0] != a.shape[-1]:
        shape = " x ".join(map(str, held.shape))
        raise WorkloadError(f"B is {shape}", where=held.name, fix=f"A asks for {a.shape[-1]} rows")
    other = _full("C", a.shape[1], held.shape[1]) if kind.factors == 2 else None
    return Problem(kernel, a, held, other)


def _factor(name: str, a: Statistics, rows: int, kind: Kernel) -> Statistics:
    columns = max(1, a.shape[0] // 2)
    if kind.factor_is_dense:
        return _full(name, rows, columns)
    return Statistics(name, (rows, columns), a.density * rows * columns)


def _full(name: str, rows: int, columns: int) -> Statistics:
    return Statistics(name, (rows, columns), rows * columns)
