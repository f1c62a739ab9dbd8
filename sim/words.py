"""Words of 64 bits; the compiled form stands in the ``.pxd`` and is put in place of its calls."""

from __future__ import annotations

from array import array


def lowest_bit(bits: int) -> int:
    """Position of the lowest set bit of a non-zero word; an instruction when compiled."""
    return (bits & -bits).bit_length() - 1


def highest_bit(bits: int) -> int:
    """Position of the highest set bit of a non-zero word; an instruction when compiled."""
    return bits.bit_length() - 1


def ones(bits: int) -> int:
    """How many bits of a word are set; an instruction when compiled."""
    return bits.bit_count()


def doubles(memory: array[int] | memoryview[int]) -> memoryview[float]:
    """The same memory as doubles; a pointer when compiled, so who keeps it keeps the memory too."""
    return memoryview(memory).cast("b").cast("d")


def longs(memory: array[int]) -> array[int]:
    """The same array of 64-bit words; a pointer when compiled."""
    return memory


def shorts(memory: array[int]) -> array[int]:
    """The same array of 16-bit words; a pointer when compiled."""
    return memory
