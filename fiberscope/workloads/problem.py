"""Problems: operands, parameters, and the check of an answer.

A machine solves the kinds of problems that its descriptor names. Each kind is a subclass of ``Problem``,
possibly in the file of a user's machine. The *reference* of a problem is an answer that is computed
independently of the machine, for instance by scipy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.gemm import Operand
from fiberscope.workloads.verification import TOLERANCE, Comparison, Precision, compare, find_overflow


class ProblemParameters(BaseModel):
    """Parameters of a kind of problem, such as the root of a search; by default a kind has none."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, validate_default=True)


class Problem(ABC):
    """One problem with its loaded operands.

    A run calls the hooks of a subclass in this order: ``check_operands`` at construction, ``machine_inputs``
    before the machine is built, and for an answer ``solution``, ``outline`` and ``check``.

    Attributes of the class:
        kind: name of the kind of problem.
        answer: name of the answer in messages.
        reference, tolerance: name of the reference, and the largest relative error that passes. An instance
        may override both.
        counts_entries: whether an entry of the reference must be in the answer even if its value is 0.
        tensors: names of the operands, in their order.
        least: minimum number of operands; the later names may then be without an operand.
        Parameters: pydantic model of the other parameters.
        inputs: names of the inputs of a cascade of Einsums for the problem, if they differ from the operands.
        The final state of the last input is the answer.
        samples: small operands by name, for commands that need only the machine; empty for one matrix.
        of_any_order: whether operands are tensors of any order, not only matrices.
        ranks: ranks of each operand, if their names may have ranks, as in ``A[m, k]``.

    Args:
        operands: the operands, in their order.
        parameters: parameters by name, which ``Parameters`` validates.
        in_order: whether the user gave the operands by position, not by name.

    Raises:
        WorkloadError: the kind does not take these operands, or the operands do not match.
        pydantic.ValidationError: a parameter is unknown or invalid.
    """

    kind: ClassVar[str]
    answer: ClassVar[str]
    reference: str
    tolerance: float = 0.0
    # of the machine's values, if it declares their type; like ``values_only``, set when the model is built
    precision: Precision | None = None
    counts_entries: ClassVar[bool] = False
    values_only: bool = False  # whether explicit zeros are ignored although entries count
    tensors: ClassVar[tuple[str, ...]]
    least: ClassVar[int] = 1
    Parameters: ClassVar[type[ProblemParameters]] = ProblemParameters
    inputs: ClassVar[tuple[str, ...]] = ()
    samples: ClassVar[Mapping[str, str]] = {}
    of_any_order: ClassVar[bool] = False
    ranks: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init__(
        self,
        operands: Sequence[Operand],
        parameters: Mapping[str, object] | None = None,
        *,
        in_order: bool = True,
    ) -> None:
        if not self.least <= len(operands) <= len(self.tensors):
            raise WorkloadError(
                f"{self.kind} takes {self._describe_operands()}, and {len(operands)} were given"
            )
        # not strict: a kind may take fewer operands than it has names, down to ``least``
        self.operands = dict(zip(self.tensors, operands, strict=False))
        self.in_order = in_order
        self.parameters = self.Parameters.model_validate(dict(parameters or {}))
        # last, because a subclass may use the operands and the parameters
        self.check_operands()

    def _describe_operands(self) -> str:
        maximum = len(self.tensors)
        number = str(maximum) if maximum == self.least else f"{self.least} to {maximum}"
        return f"{number} {'operand' if maximum == 1 else 'operands'} ({', '.join(self.tensors)})"

    @property
    @abstractmethod
    def title(self) -> str:
        """Return a short description of the problem, such as ``A times B``."""

    @abstractmethod
    def check_operands(self) -> None:
        """Check that the operands match.

        Raises:
            WorkloadError: the operands do not match.
        """

    @abstractmethod
    def machine_inputs(self) -> tuple[Any, ...]:
        """Return the operands as arguments of a machine's constructor, which follow the parameters."""

    def matrices(self) -> Mapping[str, Any]:
        """Return the tensors of ``inputs`` by name, as CSR; a tensor of one rank has one column.

        A kind with ``inputs`` overrides this method.

        Raises:
            NotImplementedError: the kind has no ``inputs``.
            WorkloadError: no cascade is known for the problem.
        """
        raise NotImplementedError(f"{self.kind} has no inputs of its own")

    @abstractmethod
    def check(self, answer: Any) -> Comparison:  # noqa: ANN401 - each kind has its own
        """Compare the answer of a machine, as its model returns the answer, with the reference."""

    def solution(self, answer: Any) -> Any:  # noqa: ANN401
        """Return an answer in the form that a user gets; by default the answer itself."""
        return answer

    def outline(self, answer: Any) -> tuple[tuple[int, ...], int] | None:  # noqa: ANN401
        """Return the shape and the number of nonzeros of an answer; None if the answer is no tensor.

        By default the answer is a scipy matrix; a kind with other answers overrides this method.
        """
        return tuple(int(size) for size in answer.shape), int(answer.nnz)


class MatrixProduct(Problem):
    """Product of two matrices, Z = A B; B is A if only A is given."""

    answer = "product"
    tolerance = TOLERANCE
    tensors = ("A", "B")

    @property
    def title(self) -> str:
        """Return ``A times A`` or ``A times B``."""
        return "A times B" if "B" in self.operands else "A times A"

    @property
    def both(self) -> tuple[Operand, Operand]:
        """Return A and B, which are the same operand in ``A times A``."""
        a = self.operands["A"]
        return a, self.operands.get("B", a)

    def check_operands(self) -> None:
        """Check that the matrices have a product.

        Raises:
            WorkloadError: the inner dimensions differ.
        """
        first, second = self.both
        a, b = first.shape, second.shape
        if a[1] != b[0] and second is first:
            fault = f"{first.name} is {a[0]} x {a[1]}, so A times A does not exist"
            raise WorkloadError(fault, fix="give a second matrix")
        if a[1] != b[0]:
            fault = f"A ({first.name}) is {a[0]} x {a[1]} and B ({second.name}) is {b[0]} x {b[1]}"
            raise WorkloadError(f"{fault}: B should have {a[1]} rows")

    def refuse_overflow(self, a: CsrArray, b: CsrArray) -> None:
        """Refuse operands for which the sum of |a b| of an entry exceeds the largest double.

        The sum of the products then depends on their order, even if it is finite, and has no reference.

        Args:
            a, b: A and B in CSR of doubles.

        Raises:
            WorkloadError: an entry may overflow; the message names the entry.
        """
        overflow = find_overflow(a, b)
        if overflow is not None:
            location = f"row {overflow[0] + 1}, column {overflow[1] + 1}"
            fault = f"{self.title}: the products of {location} overflow a double (above 1.8e308)"
            raise WorkloadError(fault, fix="scale the values")


class Spgemm(MatrixProduct):
    """Product of two sparse matrices in canonical CSR."""

    kind = "spgemm"
    reference = "scipy"
    counts_entries = True

    def machine_inputs(self) -> tuple[CsrArray, CsrArray]:
        """Return A and B in canonical CSR of doubles."""
        first, second = self.both
        return first.matrix, second.matrix

    def check_operands(self) -> None:
        """Check that the matrices have a product in doubles.

        Raises:
            WorkloadError: the inner dimensions differ, a matrix has several values at one position, or an
                entry of the product may overflow (see ``refuse_overflow``).
        """
        super().check_operands()
        for operand in self.both:
            if not operand.matrix.has_canonical_format:
                fault = f"{operand.name} has several values at one place, and a product takes one"
                raise WorkloadError(fault, fix="read it with duplicates=sum, or draw it with duplicates=drop")
        self.refuse_overflow(*self.machine_inputs())

    def check(self, answer: CsrArray) -> Comparison:
        """Compare with scipy's product, entry by entry."""
        return compare(*self.machine_inputs(), answer, self.precision, values_only=self.values_only)
