"""Words of 64 bits; the compiled form stands in the ``.pxd`` and is put in place of its calls."""

from __future__ import annotations

from array import array

ALL = (1 << 64) - 1


def lowest_bit(bits: int) -> int:
    """Position of the lowest set bit of a non-zero word; an instruction when compiled."""
    return (bits & -bits).bit_length() - 1


def highest_bit(bits: int) -> int:
    """Position of the highest set bit of a non-zero word; an instruction when compiled."""
    return bits.bit_length() - 1


def ones(bits: int) -> int:
    """Return the number of set bits of a word; one instruction when compiled."""
    return bits.bit_count()


def turns(low_a: int, high_a: int, low_b: int, high_b: int) -> int:
    """Return how often a walk through two disjoint masks of 128 bits goes from one to the other.

    Added to the gaps, the bit behind each of a mask's carries through the gap to the next bit of either.
    """
    a, b = ((high & ALL) << 64 | low & ALL for low, high in ((low_a, high_a), (low_b, high_b)))
    gaps, behind_a, behind_b = ~(a | b), a << 1, b << 1
    to_b = (gaps + (behind_a & gaps) | behind_a) & b
    to_a = (gaps + (behind_b & gaps) | behind_b) & a
    return ones(to_a | to_b)


def doubles(memory: array[int] | memoryview[int]) -> memoryview[float]:
    """The same memory as doubles; a pointer when compiled, so who keeps it keeps the memory too."""
    return memoryview(memory).cast("b").cast("d")


def longs(memory: array[int]) -> array[int]:
    """The same array of 64-bit words; a pointer when compiled."""
    return memory


def longs_from(memory: array[int], place: int) -> memoryview[int]:
    """The same array from a place on; a pointer when compiled, so who keeps it keeps the memory too."""
    return memoryview(memory)[place:]


def shorts(memory: array[int]) -> array[int]:
    """The same array of 16-bit words; a pointer when compiled."""
    return memory
