"""Layout of Gamma's tensors in memory, and the protocol of its completions.

All tensors are stored as compressed rows: a coordinate and a value for each nonzero, and a pointer for each
row. An operand without zeros may be stored as values only, row after row.
Each processing element writes its rows of the product to addresses of its own and packs them one after
another. A row pointer holds the address of each row. A page of memory is allocated when its first address is
written.
"""

from dataclasses import dataclass

from fiberscope.hw.memory.protocol import TENSOR_SHIFT
from fiberscope.sim.protocol import Protocol


@dataclass(frozen=True)
class Sizes:
    """Bytes of a line, of an element (coordinate and value) and of a row pointer.

    An operand that is stored as values only has no coordinates and no pointers: its element is a value, and
    ``pointer_bytes`` is 0.
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

# The names of the tensors in a report, each with the tensor numbers whose traffic it includes.
TENSORS = {"A": (A, A_POINTERS), "B": (B, B_POINTERS), "partial": (PARTIAL,), "Z": (Z, Z_POINTERS)}

COMPLETION = Protocol("gamma completion", reference="task")
NO_PARENT = -1
