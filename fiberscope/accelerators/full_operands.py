"""Operands without zeros, which are stored as values alone, since the position of each value is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar

from fiberscope.accelerators.configuration import Configuration
from fiberscope.workloads.canonical import CsrArray

AnyConfiguration = TypeVar("AnyConfiguration", bound=Configuration)


class OperandFormat(Configuration):
    """Format of a machine's operands in memory; base class of its section ``format``.

    ``dense`` names the operands that are stored as values alone if they have no zero: without coordinates and
    pointers, one fiber after the other.
    """

    dense: Literal["both", "A", "B", "none"]

    def lies_dense(self, operand: str, matrix: CsrArray) -> bool:
        """Return whether an operand, ``A`` or ``B``, is stored as values alone."""
        rows, columns = matrix.shape
        return self.dense in (operand, "both") and 0 < int(matrix.nnz) == int(rows) * int(columns)


def lies_dense(parameters: Configuration, operand: str, matrix: CsrArray) -> bool:
    """Return whether an operand of a machine with these parameters is stored as values alone."""
    of = getattr(parameters, "format", None)
    return isinstance(of, OperandFormat) and of.lies_dense(operand, matrix)


def compress_operands(parameters: AnyConfiguration, operands: Mapping[str, CsrArray]) -> AnyConfiguration:
    """Return parameters with which a machine stores these operands compressed, even if they have no zero.

    Args:
        parameters: parameters of the machine.
        operands: operands to store compressed, by name (``A``, ``B``).
    """
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
