"""Problems: operands and parameters, and the check of an answer.

A machine solves problems of the kinds that its descriptor names. ``Spgemm`` is the first kind; another one is
another subclass of ``Problem``, here or beside a machine of one's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.gemm import Operand
from fiberscope.workloads.verification import TOLERANCE, Comparison, Precision, compare, overflow

__all__ = ["MatrixProduct", "Problem", "ProblemParameters", "Spgemm"]


class ProblemParameters(BaseModel):
    """Parameters of a kind of problem besides its operands, as the root of a search; none by default."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, validate_default=True)


class Problem(ABC):
    """One problem, its operands loaded.

    Attributes of the class: ``kind`` is its name; ``answer`` what messages call its solution; ``reference``
    what that is compared with, up to ``tolerance`` (a problem may have both of its own); ``counts_entries``
    whether an entry must be there though its value is 0; ``tensors`` the names of its operands, in their
    order; ``least`` how many of them must be given; ``Parameters`` what it takes besides; ``inputs`` what a
    cascade of Einsums for it reads, where that is not the operands: what the last one of them is in the end
    is the answer; ``samples`` small operands by name, for who only wants the machine: one matrix where it
    has none; ``of_any_order`` whether operands are tensors, and not matrices.

    Args:
        operands: those given.
        parameters: by name, already valid.
        in_order: whether the operands were given one after the other, and not by their names.

    Raises:
        WorkloadError: operands that the kind does not take, or that do not go together.
    """

    kind: ClassVar[str]
    answer: ClassVar[str]
    reference: str
    tolerance: float = 0.0
    precision: Precision | None = None  # of the machine's values, where it says of what type they are
    counts_entries: ClassVar[bool] = False
    values_only: bool = False  # whether explicit zeros do not matter where entries count
    tensors: ClassVar[tuple[str, ...]]
    least: ClassVar[int] = 1
    Parameters: ClassVar[type[ProblemParameters]] = ProblemParameters
    inputs: ClassVar[tuple[str, ...]] = ()
    samples: ClassVar[Mapping[str, str]] = {}
    of_any_order: ClassVar[bool] = False

    def __init__(
        self,
        operands: Sequence[Operand],
        parameters: Mapping[str, object] | None = None,
        *,
        in_order: bool = True,
    ) -> None:
        if not self.least <= len(operands) <= len(self.tensors):
            raise WorkloadError(f"{self.kind} takes {self._takes()}, and {len(operands)} were given")
        self.operands = dict(zip(self.tensors, operands, strict=False))
        self.in_order = in_order
        self.parameters = self.Parameters.model_validate(dict(parameters or {}))
        self.check_operands()

    def _takes(self) -> str:
        most = len(self.tensors)
        number = str(most) if most == self.least else f"{self.least} to {most}"
        return f"{number} {'operand' if most == 1 else 'operands'} ({', '.join(self.tensors)})"

    @property
    @abstractmethod
    def title(self) -> str:
        """Return the problem in a few words: ``A times B``."""

    @abstractmethod
    def check_operands(self) -> None:
        """Refuse operands that do not go together.

        Raises:
            WorkloadError: they do not.
        """

    @abstractmethod
    def machine_inputs(self) -> tuple[Any, ...]:
        """Return the arguments that a machine of this kind is built from, behind its parameters."""

    def matrices(self) -> Mapping[str, Any]:
        """The matrices of ``inputs`` in CSR, one with one column for a tensor of one rank.

        Raises:
            WorkloadError: no cascade is known for the problem.
        """
        raise NotImplementedError(f"{self.kind} has no inputs of its own")

    @abstractmethod
    def check(self, answer: Any) -> Comparison:  # noqa: ANN401 - each kind has its own
        """Compare a machine's answer with the reference."""

    def solution(self, answer: Any) -> Any:  # noqa: ANN401
        """An answer as who asked for it takes it: itself, where it is an array, a matrix or a tensor."""
        return answer

    def outline(self, answer: Any) -> tuple[tuple[int, ...], int] | None:  # noqa: ANN401
        """Shape and nonzeros of an answer that is a tensor, None of another."""
        return tuple(int(size) for size in answer.shape), int(answer.nnz)


class MatrixProduct(Problem):
    """The product of two matrices, Z = A B; B is A again if it is not given."""

    answer = "product"
    tolerance = TOLERANCE
    tensors = ("A", "B")

    @property
    def title(self) -> str:
        """``A times A``, or ``A times B``."""
        return "A times B" if "B" in self.operands else "A times A"

    @property
    def both(self) -> tuple[Operand, Operand]:
        """A and B; the same one twice of ``A times A``."""
        a = self.operands["A"]
        return a, self.operands.get("B", a)

    def check_operands(self) -> None:
        """Refuse two matrices that have no product.

        Raises:
            WorkloadError: the inner dimensions differ.
        """
        first, second = self.both
        a, b = first.shape, second.shape
        if a[1] != b[0] and second is first:
            what = f"{first.name} is {a[0]} x {a[1]}, so A times A does not exist"
            raise WorkloadError(what, fix="give a second matrix")
        if a[1] != b[0]:
            what = f"A ({first.name}) is {a[0]} x {a[1]} and B ({second.name}) is {b[0]} x {b[1]}"
            raise WorkloadError(f"{what}: B should have {a[1]} rows")


class Spgemm(MatrixProduct):
    """The product of two sparse matrices, in canonical CSR."""

    kind = "spgemm"
    reference = "scipy"
    counts_entries = True

    def machine_inputs(self) -> tuple[CsrArray, CsrArray]:
        """The two matrices, canonical CSR of doubles."""
        first, second = self.both
        return first.matrix, second.matrix

    def check_operands(self) -> None:
        """Refuse two matrices that have no product in doubles.

        Raises:
            WorkloadError: the inner dimensions differ, or the product's values do not fit a double.
        """
        super().check_operands()
        for operand in self.both:
            if not operand.matrix.has_canonical_format:
                what = f"{operand.name} has several values at one place, and a product takes one"
                raise WorkloadError(what, fix="read it with duplicates=sum, or draw it with duplicates=drop")
        place = overflow(*self.machine_inputs())
        if place is not None:
            where = f"row {place[0] + 1}, column {place[1] + 1}"
            what = f"{self.title}: the products of {where} overflow a double (above 1.8e308)"
            raise WorkloadError(what, fix="scale the values")

    def check(self, answer: CsrArray) -> Comparison:
        """Compare with scipy's product, entry by entry."""
        return compare(*self.machine_inputs(), answer, self.precision, values_only=self.values_only)
