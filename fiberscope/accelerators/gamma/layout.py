"""Layout of Gamma's tensors in memory, and the protocols between its parts.

All are stored as compressed rows: a coordinate and a value for each nonzero, and a pointer for each row. An
operand that has no zero may lie as values alone, row after row.
Every processing element writes its rows of the product in addresses of its own, packed one behind the other;
a row pointer for each says where. Memory backs these addresses page by page as they are first written.
"""

from dataclasses import dataclass

from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.sim.protocol import Protocol


@dataclass(frozen=True)
class Sizes:
    """Bytes of a line, of an element (coordinate and value) and of a row pointer.

    Of an operand that lies as values alone an element is a value, and there are no pointers: 0 bytes.
    """

    line_bytes: int
    element_bytes: int
    pointer_bytes: int


# Tensor numbers, the upper bits of an address.
A = 0
A_POINTERS = 1
B = 2
B_POINTERS = 3
PARTIAL = 4
Z = 5
Z_POINTERS = 6

A_BASE = A << TENSOR_SHIFT
A_POINTERS_BASE = A_POINTERS << TENSOR_SHIFT
B_BASE = B << TENSOR_SHIFT
B_POINTERS_BASE = B_POINTERS << TENSOR_SHIFT
PARTIAL_BASE = PARTIAL << TENSOR_SHIFT
Z_BASE = Z << TENSOR_SHIFT
Z_POINTERS_BASE = Z_POINTERS << TENSOR_SHIFT

# What a report calls the tensors, with the numbers that count for each.
TENSORS = {"A": (A, A_POINTERS), "B": (B, B_POINTERS), "partial": (PARTIAL,), "Z": (Z, Z_POINTERS)}

COMPLETION = Protocol("gamma completion", reference="task")
NO_PARENT = -1
