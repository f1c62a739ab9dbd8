"""Words of bits of any width, as Python integers, and their 64-bit parts, which tokens carry."""

from __future__ import annotations

PART = 64  # bits of a word that one token carries

_PARTS = 1 << PART


def words_of(bits: int) -> int:
    """Return the number of tokens that carry this many bits, at least 1."""
    return max(1, -(-bits // PART))


def with_bit(word: int, position: int) -> int:
    """Return the word with bit number ``position``, counted from the lowest bit, set."""
    return word | 1 << position


def lowest(word: int) -> int:
    """Return the place of the lowest set bit of a word that is not 0."""
    return (word & -word).bit_length() - 1


def ones(word: int) -> int:
    """Return the number of set bits of a word."""
    return word.bit_count()


def rank(word: int, position: int) -> int:
    """Return the number of set bits below bit number ``position``."""
    return (word & ((1 << position) - 1)).bit_count()


def chunk(word: int, width: int, number: int) -> int:
    """Return chunk number ``number``, counted from the low end, of a word in chunks of ``width`` bits."""
    return word >> width * number & ((1 << width) - 1)


def part_count(word: int) -> int:
    """Return the number of tokens that carry the word, at least 1."""
    return max(1, -(-word.bit_length() // PART))


def payload(word: int) -> int:
    """Return the lowest 64 bits of a word as a signed integer, which is how a token carries them."""
    low = word % _PARTS
    return low - _PARTS if low >= _PARTS // 2 else low


def from_payload(bits: int, number: int = 0) -> int:
    """Return the bits of a token, shifted to part number ``number`` (from the low end) of their word."""
    return bits % _PARTS << PART * number
