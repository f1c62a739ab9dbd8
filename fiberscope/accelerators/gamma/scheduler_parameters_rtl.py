"""Parameters of Gamma's scheduler as RTL."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fiberscope.hw.fibers.tasks_rtl import INDEX_BITS, NUMBER_BITS, Elements
from fiberscope.hw.rtl.kit.arithmetic import ValueParameters, value_type
from fiberscope.hw.rtl.kit.memory_port import LINE_BITS, MemoryPort
from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.twin import index_bits

LIMIT = 1 << 16  # largest number of tasks, and of lines of the stream
POINTER_BITS = 2  # width of an address within a row pointer
FINE = 4  # number of highest bits of a size that are kept; the bits below are rounded up


@dataclass(frozen=True)
class SchedulerParameters(ValueParameters):
    """Parameters of a scheduler; its memories are as large as one product needs.

    Args:
        elements: number of processing elements, 1 to 8.
        tasks: number of tasks, 1 to 65,536.
        stream: lines of A, row pointers included, 1 to 65,536.
        lines: lines of Z's row pointers, 1 to 8,192.
        radix: largest number of fibers that a task combines, 2 to 64.
        stream_lines: largest number of lines of A in flight or waiting, 1 to 256.
        merging: largest number of merge tasks of a tree, 1 to 1,024.
        most_tasks: largest number of dispatched and uncompleted tasks of a processing element, 1 to 16.
        most_partial_tasks: the same limit for the dispatch of a task that writes a partial fiber, 1 to 16.
        columns: number of elements of the longest possible fiber, 1 to 2**24.
        room: lines of the FiberCache, 1 to 2**24.
        element_bytes: bytes of an element, 1 to 4,096, at most those of a line.
        port: number of the port at the network to memory.
        offset_bits: width of an address within a line, 3 to 12.
        line_bits: width of the contents of lines in bits; replies then carry A, and writes carry row pointers
            of Z. With 0, lines have no contents, and the contents of A are loaded before the run.
        values: type of the scales.
    """

    elements: int = number(2, 1, 8)
    tasks: int = number(256, 1, LIMIT)
    stream: int = number(256, 1, LIMIT)
    lines: int = number(16, 1, 1 << 13)
    radix: int = number(8, 2, 64)
    stream_lines: int = number(32, 1, 256)
    merging: int = number(16, 1, 1024)
    most_tasks: int = number(3, 1, 16)
    most_partial_tasks: int = number(2, 1, 16)
    columns: int = number(1024, 1, 1 << 24)
    room: int = number(256, 1, 1 << 24)
    element_bytes: int = number(8, 1, 4096)
    port: int = number(0, 0, (1 << 15) - 1)
    offset_bits: int = number(6, 3, 12)
    line_bits: int = number(0, *LINE_BITS)
    values: str = value_type()
    value_bits = NUMBER_BITS

    @property
    def memory(self) -> MemoryPort:
        """The port to memory."""
        return MemoryPort(line_bits=8 << self.offset_bits)

    @property
    def elements_of_a(self) -> Elements:
        """Format of the nonzeros in the lines of A."""
        return Elements(1 << self.offset_bits, self.element_bytes, self.value_field)

    @property
    def row_bits(self) -> int:
        """Width of a row's index in its line of Z's row pointers; 0 if lines have no contents."""
        return self.offset_bits - POINTER_BITS if self.line_bits else 0

    @property
    def layout(self) -> dict[str, int]:
        """Width of each field of a task's word; the first field has the lowest bits.

        ``line`` is the line of Z's row pointers that holds the task's row, and ``row`` the row's index in
        this line. ``count`` is the number of inputs. ``is_last`` marks the last leaf task of a row.
        """
        return {
            "parent": index_bits(self.tasks),
            "is_partial": 1,
            "line": index_bits(self.lines),
            **({"row": self.row_bits} if self.row_bits else {}),
            "count": self.radix.bit_length(),
            "merges": 1,
            "is_last": 1,
        }

    @property
    def needs(self) -> dict[str, int]:
        """Width of each field of the word with the lines of A that a task needs; the first is the lowest.

        ``next_leaf`` is the next task in order that merges no partial fibers. The other fields are those of
        ``FetchOrder``.
        """
        count = self.stream.bit_length()
        return {"needed_lines": count, "released_lines": count, "next_leaf": self.tasks.bit_length()}

    @property
    def waiting(self) -> int:
        """Largest number of ready merge tasks.

        While the oldest ready merge task can be dispatched, no leaf task is dispatched. Only the tasks that
        processing elements hold can then make further merge tasks ready. The oldest cannot be dispatched
        while it lacks nonzeros of A, which follow those of its tree's leaves. Then all merge tasks of its
        tree can become ready, but no leaf of a later tree is dispatched.
        """
        return min(self.merging + self.elements * self.most_partial_tasks, self.tasks)

    @property
    def dispatch_fields(self) -> dict[str, int]:
        """Width of each field of the record of a dispatched task.

        ``lines`` is the number of lines of its partial fiber and of the fibers that it merges. For each
        input, ``is_merged`` marks a partial fiber, ``child`` is the task that wrote it, and ``number`` is the
        number of the size of its space.
        """
        child = {"is_merged": 1, "child": index_bits(self.tasks), "number": index_bits(self.sizes)}
        inputs = {f"{name}_{i}": bits for i in range(self.radix) for name, bits in child.items()}
        return {"lines": self.total_bits, **inputs}

    @property
    def share(self) -> tuple[int, int]:
        """Share of a line that an element takes, as numerator and denominator in lowest terms."""
        common = math.gcd(self.element_bytes, 1 << self.offset_bits)
        return self.element_bytes // common, (1 << self.offset_bits) // common

    @property
    def granule_bits(self) -> int:
        """Width of an element's index in the smallest number of elements that fills whole lines."""
        # The denominator is a power of two, as the bytes of a line are: its logarithm
        return self.share[1].bit_length() - 1

    @property
    def unit_bits(self) -> int:
        """Width of the start of a partial fiber, in units of the elements that fill whole lines."""
        return INDEX_BITS - self.granule_bits

    @property
    def length_bits(self) -> int:
        """Width of a fiber's length."""
        return self.columns.bit_length()

    @property
    def total_bits(self) -> int:
        """Width of the number of lines of all partial fibers."""
        numerator, denominator = self.share
        return (self.tasks * -(-self.columns * numerator // denominator)).bit_length()

    @property
    def sizes(self) -> int:
        """Number of different sizes of space, as in ``PartialStore``."""
        # ``largest`` is a number of granules minus 1. Sizes up to 2**FINE granules are exact; each further
        # doubling has half as many sizes, those with the highest of FINE bits set
        largest = (self.columns - 1) >> self.granule_bits
        step = max(0, largest.bit_length() - FINE)
        return (largest >> step) + (step << FINE - 1) + 1
