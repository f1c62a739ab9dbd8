"""Parameters of Gamma's scheduler as RTL."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fiberscope.hw.fibers.tasks_rtl import INDEX_BITS, NUMBER_BITS, Elements
from fiberscope.hw.rtl.kit.arithmetic import ValueParameters, value_type
from fiberscope.hw.rtl.kit.memory_port import LINE_BITS, MemoryPort
from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.twin import index_bits

__all__ = ["FINE", "MOST", "POINTER_BITS", "SchedulerParameters"]

MOST = 1 << 16  # tasks, lines of the stream
POINTER_BITS = 2  # of an address within a row pointer
FINE = 4  # bits in which a size is told from others, from its highest on


@dataclass(frozen=True)
class SchedulerParameters(ValueParameters):
    """Parameters of a scheduler; its memories are as large as one product needs.

    Args:
        elements: processing elements, 1 to 8.
        tasks: 1 to 65,536.
        stream: lines of A, with its row pointers, 1 to 65,536.
        lines: the lines of Z's row pointers, 1 to 8,192.
        radix: fibers that a task may combine, 2 to 64.
        stream_lines: lines of A in flight or waiting, 1 to 256.
        merging: tasks of a tree that merge partial fibers, 1 to 1,024.
        most_tasks, most_partial_tasks: that an element may have been given, 1 to 16.
        columns: elements of the longest fiber that there can be, 1 to 2**24.
        room: lines of the FiberCache, up to 2**24.
        element_bytes: 1 to 4,096, no more than a line has.
        port: number of the port at the network to memory.
        offset_bits: bits of an address within a line, 3 to 12.
        line_bits: of lines, which have A where they come and row pointers of Z where they go; 0 where what A
            says is loaded before the run, and lines of row pointers have nothing.
        values: the type of scales.
    """

    elements: int = number(2, 1, 8)
    tasks: int = number(256, 1, MOST)
    stream: int = number(256, 1, MOST)
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
        """Nonzeros of A in its lines, where these come."""
        return Elements(1 << self.offset_bits, self.element_bytes, self.value_field)

    @property
    def row_bits(self) -> int:
        """Return the bits of a row's number among those of a line of Z's row pointers, if written."""
        return self.offset_bits - POINTER_BITS if self.line_bits else 0

    @property
    def layout(self) -> dict[str, int]:
        """Bits of each field of a task's word, the first the lowest.

        ``line`` is that of the row pointers which its row is in, ``row`` the number of that there, ``count``
        says how many fibers it combines, ``is_last`` whether of its row it is the last that merges none.
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
        """Bits of each field of a word that says of a task what it needs of A, the first the lowest.

        ``following`` is the next task in order that merges no partial fibers.
        """
        count = self.stream.bit_length()
        return {"needed": count, "first_needed": count, "following": self.tasks.bit_length()}

    @property
    def waiting(self) -> int:
        """Tasks that may wait to be given out with all that they merge.

        While the oldest of them can go, no leaf does, so only tasks that elements have bring more. It cannot
        while it lacks nonzeros of A, behind those of its tree's leaves; then all that its tree merges may
        come, but no leaf behind it.
        """
        return min(self.merging + self.elements * self.most_partial_tasks, self.tasks)

    @property
    def dispatch_fields(self) -> dict[str, int]:
        """Bits of each field of what is noted of a task that was given out.

        ``lines`` are those that it takes with all that it merges; of each input there is whether it is a
        partial fiber, whose, and the number of its size.
        """
        child = {"is_merged": 1, "child": index_bits(self.tasks), "number": index_bits(self.sizes)}
        inputs = {f"{name}_{i}": bits for i in range(self.radix) for name, bits in child.items()}
        return {"lines": self.total_bits, **inputs}

    @property
    def share(self) -> tuple[int, int]:
        """Return the share of a line that an element takes; the denominator counts those of whole lines."""
        common = math.gcd(self.element_bytes, 1 << self.offset_bits)
        return self.element_bytes // common, (1 << self.offset_bits) // common

    @property
    def granule_bits(self) -> int:
        """Return the bits of the number of an element among those in whole lines."""
        return self.share[1].bit_length() - 1

    @property
    def unit_bits(self) -> int:
        """Return the bits of the number of a place at which a partial fiber may begin."""
        return INDEX_BITS - self.granule_bits

    @property
    def length_bits(self) -> int:
        """Return the bits of a fiber's length."""
        return self.columns.bit_length()

    @property
    def total_bits(self) -> int:
        """Return the bits of the number of lines of all partial fibers."""
        share, of = self.share
        return (self.tasks * -(-self.columns * share // of)).bit_length()

    @property
    def sizes(self) -> int:
        """Return the number of sizes of space, as in ``PartialStore``."""
        most = (self.columns - 1) >> self.granule_bits
        step = max(0, most.bit_length() - FINE)
        return (most >> step) + (step << FINE - 1) + 1
