"""Operations on 64-bit words and on memory. ``raw_words.pxd`` has the compiled forms, which C inlines."""

from __future__ import annotations

from array import array

ALL = (1 << 64) - 1


def lowest_bit(bits: int) -> int:
    """Return the position of the lowest set bit of a non-zero word."""
    return (bits & -bits).bit_length() - 1


def highest_bit(bits: int) -> int:
    """Return the position of the highest set bit of a non-zero word."""
    return bits.bit_length() - 1


def ones(bits: int) -> int:
    """Return the number of set bits of a word."""
    return bits.bit_count()


def turns(low_a: int, high_a: int, low_b: int, high_b: int) -> int:
    """Return how often a walk through two disjoint 128-bit masks changes from one mask to the other.

    An addition to the gaps carries the bit behind each set bit through the gap to the next set bit of either
    mask.

    Args:
        low_a, high_a: the low and the high 64 bits of a mask.
        low_b, high_b: the low and the high 64 bits of the other mask.
    """
    a, b = ((high & ALL) << 64 | low & ALL for low, high in ((low_a, high_a), (low_b, high_b)))
    gaps, behind_a, behind_b = ~(a | b), a << 1, b << 1
    to_b = (gaps + (behind_a & gaps) | behind_a) & b
    to_a = (gaps + (behind_b & gaps) | behind_b) & a
    return ones(to_a | to_b)


def doubles(memory: array[int] | memoryview[int]) -> memoryview[float]:
    """Return a view of the memory as doubles; compiled, a pointer: the caller keeps the memory alive."""
    return memoryview(memory).cast("b").cast("d")


def longs(memory: array[int]) -> array[int]:
    """Return the same array of 64-bit words. Compiled, a pointer."""
    return memory


def longs_from(memory: array[int], start: int) -> memoryview[int]:
    """Return a view from ``start`` on; compiled, a pointer: the caller keeps the memory alive."""
    return memoryview(memory)[start:]


def shorts(memory: array[int]) -> array[int]:
    """Return the same array of 16-bit words. Compiled, a pointer."""
    return memory


def octets_from(memory: array[int], place: int) -> memoryview[int]:
    """Return a view of words as bytes, from byte ``place`` on; compiled, a pointer: see ``doubles``."""
    return memoryview(memory).cast("B")[place:]


def octets(memory: array[int]) -> array[int]:
    """Return the same array of bytes. Compiled, a pointer."""
    return memory


def copy_16(target: array[int], place: int, source: array[int], first: int) -> None:
    """Copy 16 bytes of ``source``, from ``first`` on, to ``place`` of ``target``."""
    target[place : place + 16] = source[first : first + 16]
