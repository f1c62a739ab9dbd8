"""Names and numbers of the operations of ALUs and reducers.

The name of an operation is its key in ``BINARY`` (two operands) or ``UNARY`` (one operand).
"""

from __future__ import annotations

from collections.abc import Mapping

from fiberscope.sim.names import nearest

(
    MULTIPLY,
    ADD,
    SUBTRACT,
    DIVIDE,
    MAXIMUM,
    MINIMUM,
    EXP,
    SIN,
    COS,
    SQRT,
    ABSOLUTE,
    NEGATE,
    SQUARE,
    TAKE,
    FIRST,
    DIFFERS,
    LESS,
    OR,
    AND,
) = range(19)

BINARY = {
    "mul": MULTIPLY,
    "add": ADD,
    "sub": SUBTRACT,
    "div": DIVIDE,
    "max": MAXIMUM,
    "min": MINIMUM,
    "take": TAKE,  # the second operand if both operands are present
    "second": TAKE,  # another name of the same operation
    "first": FIRST,
    "differs": DIFFERS,
    "less": LESS,
    "or": OR,
    "and": AND,
}
UNARY = {
    "exp": EXP,
    "sin": SIN,
    "cos": COS,
    "sqrt": SQRT,
    "abs": ABSOLUTE,
    "neg": NEGATE,
    "square": SQUARE,
    "relu": MAXIMUM,  # of the operand and 0
}


def operation_code(block: str, operation: str, operations: Mapping[str, int] = BINARY) -> int:
    """Return the number of an operation.

    Args:
        block: instance name, for the message.
        operation: name of the operation.
        operations: numbers of the operations of the block, by name.

    Raises:
        ValueError: if ``operations`` has no such operation.
    """
    if operation not in operations:
        raise ValueError(f"{block} has no operation {operation}; {nearest(operation, operations)}")
    return operations[operation]
