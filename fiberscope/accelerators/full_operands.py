"""Operands that have no zero: they lie in memory as values alone, as who reads them knows where each is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar

from fiberscope.accelerators.configuration import Configuration
from fiberscope.workloads.canonical import CsrArray

__all__ = ["OperandFormat", "compress_operands", "full_operand_notes", "lies_dense"]

AnyConfiguration = TypeVar("AnyConfiguration", bound=Configuration)


class OperandFormat(Configuration):
    """Format of a machine's operands in memory; the base of its section ``format``.

    ``dense`` says which of them lie as values alone where they have no zero: without coordinates and
    pointers, one fiber behind the other.
    """

    dense: Literal["both", "A", "B", "none"]

    def lies_dense(self, operand: str, matrix: CsrArray) -> bool:
        """Return whether an operand, ``A`` or ``B``, lies as values alone."""
        rows, columns = matrix.shape
        return self.dense in (operand, "both") and 0 < int(matrix.nnz) == int(rows) * int(columns)


def lies_dense(parameters: Configuration, operand: str, matrix: CsrArray) -> bool:
    """Return whether an operand of a machine with these parameters lies as values alone."""
    of = getattr(parameters, "format", None)
    return isinstance(of, OperandFormat) and of.lies_dense(operand, matrix)


def compress_operands(parameters: AnyConfiguration, operands: Mapping[str, CsrArray]) -> AnyConfiguration:
    """The parameters of a machine with some of its operands as compressed as others, be they full."""
    of = getattr(parameters, "format", None)
    full = {operand for operand, name in operands.items() if lies_dense(parameters, operand, name)}
    if not full or not isinstance(of, OperandFormat):
        return parameters
    left = [operand for operand in "AB" if of.dense in (operand, "both") and operand not in full]
    dense = "both" if len(left) == 2 else (left or ["none"])[0]
    return parameters.model_copy(update={"format": of.model_copy(update={"dense": dense})})


def full_operand_notes(dense: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the notes for a report on operands that are stored as values alone, by operand."""
    names = [name for name, alone in dense.items() if alone]
    if not names:
        return ()
    verb = "are" if len(names) > 1 else "is"
    return (f"{' and '.join(names)} {verb} full, and moved as values alone (format.dense)",)
