"""Packed arrays of items of any bit width: little-endian, least significant bit first, without padding.

Source: this project's specification of MINT's formats, as the paper (Qin et al., IPDPS 2021) gives none.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Items: TypeAlias = "npt.NDArray[np.unsignedinteger[Any]]"
Words: TypeAlias = "npt.NDArray[np.uint64]"

WORD = 64  # bits of a word
LINE_BYTES = 64
LINE_BITS = 8 * LINE_BYTES


def item_type(width: int) -> np.dtype[Any]:
    """Return the narrowest unsigned integer type with ``width`` bits, at most 64."""
    return np.dtype(f"<u{max(1, 1 << (width - 1).bit_length() >> 3)}")


def line_words(bits: int) -> int:
    """Return the number of 64-bit words in the lines of ``bits`` bits."""
    return -(-bits // LINE_BITS) * (LINE_BITS // WORD)


def packed(items: Items, width: int) -> Words:
    """Pack items into whole lines, padded with zeros.

    Args:
        items: numbers below 2 to the power of ``width``.
        width: bits of an item, 1 to 64.
    """
    words = np.zeros(line_words(len(items) * width), dtype="<u8")
    if width % 8 == 0 and width in (8, 16, 32, 64):
        words.view(item_type(width))[: len(items)] = items
        return words
    if width == 1:
        packed_bytes = np.packbits(
            items.view(np.bool_) if items.itemsize == 1 else items != 0, bitorder="little"
        )
        words.view(np.uint8)[: len(packed_bytes)] = packed_bytes
        return words
    period = WORD // math.gcd(width, WORD)
    groups = -(-len(items) // period)
    table = np.zeros((groups, period), dtype="<u8")
    table.reshape(-1)[: len(items)] = items
    filled = _shifted_together(table, width).reshape(-1)
    used = min(len(words), len(filled))
    words[:used] = filled[:used]
    return words


def _shifted_together(table: Words, width: int) -> Words:
    """Pack rows of items into rows of words. Each row fills whole words."""
    groups, period = table.shape
    rows = np.zeros((groups, period * width // WORD), dtype="<u8")
    for place in range(period):
        word, bit = divmod(place * width, WORD)
        rows[:, word] |= table[:, place] << np.uint64(bit)
        if bit + width > WORD:
            rows[:, word + 1] |= table[:, place] >> np.uint64(WORD - bit)
    return rows


def unpacked(words: Words, count: int, width: int) -> Items:
    """Return the first items of packed words.

    Args:
        words: a result of ``packed``.
        count: number of items.
        width: bits of an item, 1 to 64.
    """
    if width % 8 == 0 and width in (8, 16, 32, 64):
        return words.view(item_type(width))[:count].copy()
    if width == 1:
        return np.unpackbits(words.view(np.uint8), count=count, bitorder="little")
    period = WORD // math.gcd(width, WORD)
    groups, columns = -(-count // period), period * width // WORD
    rows = np.zeros(groups * columns, dtype="<u8")
    used = min(len(words), len(rows))
    rows[:used] = words[:used]
    table = _shifted_apart(rows.reshape(groups, columns), period, width)
    return table.reshape(-1)[:count]


def _shifted_apart(rows: Words, period: int, width: int) -> Items:
    table = np.empty((len(rows), period), dtype=item_type(width))
    mask = np.uint64((1 << width) - 1)
    for place in range(period):
        word, bit = divmod(place * width, WORD)
        bits_ = rows[:, word] >> np.uint64(bit)
        if bit + width > WORD:
            bits_ |= rows[:, word + 1] << np.uint64(WORD - bit)
        table[:, place] = bits_ & mask
    return table
