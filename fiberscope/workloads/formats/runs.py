# cython: infer_types=True
"""Packed entries of run-length coding: a run and, in most entries, a value.

Entries without a value are shorter, so the position of an entry depends on all entries before it.
"""

from __future__ import annotations

import numpy as np

from fiberscope.workloads.formats.bit_packing import WORD_BITS, Items, Words, line_words, pack_items

__all__ = ["pack_entries", "unpack_entries"]

ONES = 2**64 - 1  # C: unsigned long; a word of ones


def pack_entries(runs: Items, values: Items, run_bits: int, value_bits: int, lone: int) -> Words:
    """Pack runs, each with its value in the bits above, consecutively in whole lines.

    Args:
        runs: the runs, in order.
        values: the values of the runs that have one.
        run_bits: bits of each run.
        value_bits: bits of each value.
        lone: the run that has no value; -1 if all runs have one.
    """
    entries = runs.astype("<u8")
    has_value = runs != lone
    entries[has_value] |= values.astype("<u8") << np.uint64(run_bits)
    if has_value.all():  # entries of one width
        return pack_items(entries, run_bits + value_bits)
    lengths = run_bits + has_value * np.int64(value_bits)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    at, shift = starts // WORD_BITS, (starts % WORD_BITS).astype("<u8")
    words = np.zeros(line_words(int(lengths.sum())), dtype="<u8")
    # unbuffered, as several entries can begin in one word
    np.bitwise_or.at(words, at, entries << shift)
    # An entry that ends in the next word: at most one for each word, so a plain OR is enough here
    over = starts % WORD_BITS + lengths > WORD_BITS
    words[1:][at[over]] |= entries[over] >> (np.uint64(WORD_BITS) - shift[over])
    return words


def unpack_entries(  # C: cpdef, return=object
    words: Words,  # C: words=const unsigned long[::1]
    runs: Words,  # C: runs=unsigned long[::1]
    values: Words,  # C: values=unsigned long[::1]
    run_bits: int,
    value_bits: int,
    lone: int,
) -> None:
    """Fill ``runs`` and ``values`` from the packed entries in ``words``.

    The lengths of both arrays are the numbers of items to read. The other arguments are those of
    ``pack_entries``.
    """
    bit = value = 0  # C: value=long, bit=long
    for entry in range(len(runs)):
        run = _bits_at(words, bit, run_bits)  # C: unsigned long
        runs[entry] = run
        bit += run_bits
        if run != lone and value < len(values):  # the header of a faulty file can promise too few values
            values[value] = _bits_at(words, bit, value_bits)
            value += 1
            bit += value_bits


def _bits_at(  # C: cdef, noexcept, return=unsigned long
    words: Words,  # C: words=const unsigned long[::1]
    bit: int,
    width: int,
) -> np.uint64:
    """Return the ``width`` bits, at most 32, from position ``bit`` on."""
    at, shift = bit // WORD_BITS, bit % WORD_BITS
    bits = words[at] >> shift  # C: unsigned long
    if shift + width > WORD_BITS:
        bits |= words[1 + at] << (WORD_BITS - shift)
    result: np.uint64 = bits & (ONES >> (WORD_BITS - width))  # C: unsigned long
    return result
