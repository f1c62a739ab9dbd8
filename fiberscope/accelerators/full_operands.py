"""Full operands: operands with an entry at every position, which a machine may store as values alone.

Such an operand needs no coordinates and pointers, since every position has a value. A machine's parameter
``format.dense`` names the operands for which the machine does so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar

from fiberscope.accelerators.configuration import Configuration
from fiberscope.workloads.canonical import CsrArray

AnyConfiguration = TypeVar("AnyConfiguration", bound=Configuration)


class OperandFormat(Configuration):
    """Format of a machine's operands in memory; base class of its section ``format``.

    ``dense`` names the operands that are stored as values alone if they are full: without coordinates and
    pointers, one fiber after the other. A stored zero is an entry too.
    """

    dense: Literal["both", "A", "B", "none"]

    def is_stored_dense(self, operand: str, matrix: CsrArray) -> bool:
        """Return whether an operand, ``A`` or ``B``, is stored as values alone; an empty matrix never is."""
        rows, columns = matrix.shape
        return self.dense in (operand, "both") and 0 < int(matrix.nnz) == int(rows) * int(columns)


def is_stored_dense(parameters: Configuration, operand: str, matrix: CsrArray) -> bool:
    """Return whether a machine with these parameters stores an operand as values alone.

    Args:
        parameters: parameters of the machine. The result is False if their section ``format`` is not an
            ``OperandFormat``.
        operand: ``A`` or ``B``.
        matrix: the operand.
    """
    formats = getattr(parameters, "format", None)
    return isinstance(formats, OperandFormat) and formats.is_stored_dense(operand, matrix)


def compress_operands(parameters: AnyConfiguration, operands: Mapping[str, CsrArray]) -> AnyConfiguration:
    """Return parameters with which these operands are stored compressed, even if they are full.

    Only ``format.dense`` differs. If all operands are compressed anyway, nothing differs.

    Args:
        parameters: parameters of the machine.
        operands: operands to store compressed, by name (``A``, ``B``).
    """
    formats = getattr(parameters, "format", None)
    full = {operand for operand, matrix in operands.items() if is_stored_dense(parameters, operand, matrix)}
    if not full or not isinstance(formats, OperandFormat):
        return parameters
    # An operand that is not full keeps its name in ``dense``, which has no effect on this operand.
    remaining = [operand for operand in "AB" if formats.dense in (operand, "both") and operand not in full]
    dense = "both" if len(remaining) == 2 else (remaining or ["none"])[0]
    return parameters.model_copy(update={"format": formats.model_copy(update={"dense": dense})})


def full_operand_notes(dense: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the notes of a report about operands that are stored as values alone.

    Args:
        dense: whether the operand is stored as values alone, by the name of the operand.
    """
    names = [name for name, is_full in dense.items() if is_full]
    if not names:
        return ()
    verb = "are" if len(names) > 1 else "is"
    return (f"{' and '.join(names)} {verb} full, and moved as values alone (format.dense)",)
