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

WORD_BITS = 64  # bits of a word
LINE_BYTES = 64  # each array begins on a line of memory
LINE_BITS = 8 * LINE_BYTES


def item_type(width: int) -> np.dtype[Any]:
    """Return the narrowest unsigned integer type with ``width`` bits, at most 64."""
    # bytes: ``width`` rounded up to a power of two, divided by 8, at least 1
    return np.dtype(f"<u{max(1, 1 << (width - 1).bit_length() >> 3)}")


def line_words(bits: int) -> int:
    """Return the number of 64-bit words of the whole lines that ``bits`` bits occupy."""
    return -(-bits // LINE_BITS) * (LINE_BITS // WORD_BITS)


def pack_items(items: Items, width: int) -> Words:
    """Pack items into whole lines, padded with zeros.

    Args:
        items: numbers below 2 to the power of ``width``, which is not checked: higher bits can change the
            next items.
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
    period = WORD_BITS // math.gcd(width, WORD_BITS)  # items after which an item begins a word again
    groups = -(-len(items) // period)
    table = np.zeros((groups, period), dtype="<u8")
    table.reshape(-1)[: len(items)] = items
    filled = _pack_rows(table, width).reshape(-1)
    # Rows fill whole periods and ``words`` whole lines: either can be longer, by zeros only
    used = min(len(words), len(filled))
    words[:used] = filled[:used]
    return words


def _pack_rows(table: Words, width: int) -> Words:
    """Pack rows of items into rows of words. Each row fills whole words."""
    groups, period = table.shape
    rows = np.zeros((groups, period * width // WORD_BITS), dtype="<u8")
    for column in range(period):
        word, bit = divmod(column * width, WORD_BITS)
        rows[:, word] |= table[:, column] << np.uint64(bit)  # bits above the word drop out
        if bit + width > WORD_BITS:
            rows[:, word + 1] |= table[:, column] >> np.uint64(WORD_BITS - bit)
    return rows


def unpack_items(words: Words, count: int, width: int) -> Items:
    """Return the first items of packed words.

    Args:
        words: a result of ``pack_items``.
        count: number of items.
        width: bits of an item, 1 to 64.
    """
    if width % 8 == 0 and width in (8, 16, 32, 64):
        return words.view(item_type(width))[:count].copy()
    if width == 1:
        return np.unpackbits(words.view(np.uint8), count=count, bitorder="little")
    period = WORD_BITS // math.gcd(width, WORD_BITS)
    groups, columns = -(-count // period), period * width // WORD_BITS
    rows = np.zeros(groups * columns, dtype="<u8")
    used = min(len(words), len(rows))
    rows[:used] = words[:used]
    table = _unpack_rows(rows.reshape(groups, columns), period, width)
    return table.reshape(-1)[:count]


def _unpack_rows(rows: Words, period: int, width: int) -> Items:
    """Unpack rows of words into rows of ``period`` items; the inverse of ``_pack_rows``."""
    table = np.empty((len(rows), period), dtype=item_type(width))
    mask = np.uint64((1 << width) - 1)
    for column in range(period):
        word, bit = divmod(column * width, WORD_BITS)
        bits_ = rows[:, word] >> np.uint64(bit)
        if bit + width > WORD_BITS:
            bits_ |= rows[:, word + 1] << np.uint64(WORD_BITS - bit)
        table[:, column] = bits_ & mask
    return table
