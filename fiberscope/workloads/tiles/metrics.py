"""Sizes of a tile of compressed sparse fibers: in words, in bytes, or in nonzeros.

A tile has, at rank d, one fiber for each distinct prefix of d coordinates, and one fiber at the root. Each
rank stores a coordinate for each element, and one more segment than fibers. The elements of the last rank are
the nonzeros. A word is 4 bytes: one value, coordinate or segment.

Source: D2T2 (MICRO 2025), Section 4.3, for the words; the public simulator of DRT (ASPLOS 2023), whose values
have 8 bytes, for the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias, TypeVar

import numpy as np

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.errors import WorkloadError, suggest

WORD_BYTES = 4

Amount = TypeVar("Amount", int, float, Integers)
_Measure: TypeAlias = Callable[[Integers, Integers, int], Integers]


def count_csf_words(nonzeros: Amount, fibers: Amount, ranks: int) -> Amount:
    """Return the words of a nonempty tile.

    Args:
        nonzeros: nonzeros of the tile; a number, or an array over tiles.
        fibers: fibers below the root, over all ranks: n_1 + ... + n_(m-1).
        ranks: m, the number of ranks; a tile without ranks is one value.
    """
    if ranks == 0:
        return nonzeros
    # A nonzero has a value and a coordinate. A fiber below the root has a coordinate, as an element of the
    # rank above, and a segment. The root has a segment, and each rank has one more segment than fibers.
    return 2 * nonzeros + 2 * fibers + (ranks + 1)


@dataclass(frozen=True)
class Metric:
    """A measure of a tile, by its nonzeros, its fibers below the root and its ranks.

    Args:
        name: name in options.
        unit: unit of both measures.
        fetched: data on the memory's port when the tile is fetched.
        buffered: occupied space in the buffer; the space of a dense tile determines the base tile.
    """

    name: str
    unit: str
    fetched: _Measure
    buffered: _Measure


def _count_drt_bytes(nonzeros: Integers, fibers: Integers, ranks: int) -> Integers:
    # a value has 8 bytes, 4 more than a word
    return count_csf_words(nonzeros, fibers, ranks) * 4 + 4 * nonzeros


def _count_nonzeros(nonzeros: Integers, fibers: Integers, ranks: int) -> Integers:
    return nonzeros


def _fuller_buffer(nonzeros: Integers, fibers: Integers, ranks: int) -> Integers:
    """Return the words in the fuller of two buffers: of values, or of coordinates and segments."""
    words: Integers = np.maximum(nonzeros, count_csf_words(nonzeros, fibers, ranks) - nonzeros)
    return words


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Metric("words", "words", count_csf_words, count_csf_words),
            Metric("bytes_drt", "bytes", _count_drt_bytes, _count_drt_bytes),
            Metric("nnz", "nonzeros", _count_nonzeros, _count_nonzeros),
            Metric("opal", "words", count_csf_words, _fuller_buffer),
            # a value takes one word
            Metric("values_only", "words", count_csf_words, _count_nonzeros),
        )
    }
)


def find_metric(name: str) -> Metric:
    """Return the metric with this name.

    Raises:
        WorkloadError: there is no such metric.
    """
    if name not in METRICS:
        raise WorkloadError(f"no size of a tile is called {name!r}", fix=suggest(name, METRICS))
    return METRICS[name]
