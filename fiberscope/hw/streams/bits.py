"""Words of bits of any width, as Python's integers, and the 64 bits of them that a token carries."""

from __future__ import annotations

PART = 64  # bits that a token carries

_PARTS = 1 << PART


def words_of(bits: int) -> int:
    """Return the number of tokens that carry so many bits; at least one."""
    return max(1, -(-bits // PART))


def with_bit(word: int, place: int) -> int:
    """The word with this bit set."""
    return word | 1 << place


def lowest(word: int) -> int:
    """The place of the lowest set bit; there must be one."""
    return (word & -word).bit_length() - 1


def ones(word: int) -> int:
    """Count the bits that are set."""
    return word.bit_count()


def rank(word: int, place: int) -> int:
    """Count the bits below this one that are set."""
    return (word & ((1 << place) - 1)).bit_count()


def has(word: int, place: int) -> bool:
    """Return whether this bit is set."""
    return bool(word >> place & 1)


def chunk(word: int, width: int, place: int) -> int:
    """Return a chunk of a word: this number of bits, at this place from the low end."""
    return word >> width * place & ((1 << width) - 1)


def parts(word: int) -> int:
    """Return the number of tokens that a word takes."""
    return max(1, -(-word.bit_length() // PART))


def payload(word: int) -> int:
    """The low bits of a word as a token has them, which are signed there."""
    low = word % _PARTS
    return low - _PARTS if low >= _PARTS // 2 else low


def from_payload(bits: int, place: int = 0) -> int:
    """Return the bits of a token in its word, of which it is the part at this place, from the low end."""
    return bits % _PARTS << PART * place
