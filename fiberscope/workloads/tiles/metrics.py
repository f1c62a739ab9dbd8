"""Size of a tile of compressed sparse fibers: in words, in bytes, or in nonzeros.

A tile with m ranks has at its rank d as many fibers as there are distinct beginnings of d coordinates; one at
the root. Each rank keeps a coordinate per element and a segment per fiber and one more; the last rank's
elements are the nonzeros. A word is 4 bytes: one value, coordinate or segment.

Source: D2T2 (MICRO 2025), Section 4.3, for what is counted; bytes by the public simulator of DRT (ASPLOS
2023), whose values have 8 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias, TypeVar

import numpy as np

from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.errors import WorkloadError, nearest

__all__ = ["METRICS", "WORD_BYTES", "Metric", "csf_words", "metric_called"]

WORD_BYTES = 4

Amount = TypeVar("Amount", int, float, Integers)
_Measure: TypeAlias = Callable[[Integers, Integers, int], Integers]


def csf_words(nonzeros: Amount, fibers: Amount, ranks: int) -> Amount:
    """Words of a nonempty tile.

    Args:
        nonzeros: the nonzeros of the tile; a number, or an array over tiles.
        fibers: those below the root, over all ranks: n_1 + ... + n_(m-1).
        ranks: m; without any it is one value.
    """
    if ranks == 0:
        return nonzeros
    return 2 * nonzeros + 2 * fibers + (ranks + 1)


@dataclass(frozen=True)
class Metric:
    """A way to measure a tile, by its nonzeros, its fibers below the root and its ranks.

    Args:
        name: by which it is asked for.
        unit: the unit of both measures.
        moved: what crosses the memory's port when the tile is fetched.
        held: what has to fit the buffer; that of a dense tile decides the base tile.
    """

    name: str
    unit: str
    moved: _Measure
    held: _Measure


def _drt_bytes(nonzeros: Integers, fibers: Integers, ranks: int) -> Integers:
    return csf_words(nonzeros, fibers, ranks) * 4 + 4 * nonzeros


def _nonzeros(nonzeros: Integers, fibers: Integers, ranks: int) -> Integers:
    return nonzeros


def _larger_half(nonzeros: Integers, fibers: Integers, ranks: int) -> Integers:
    """Values lie in one buffer and coordinates and segments in another, of the same capacity."""
    larger: Integers = np.maximum(nonzeros, csf_words(nonzeros, fibers, ranks) - nonzeros)
    return larger


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Metric("words", "words", csf_words, csf_words),
            Metric("bytes_drt", "bytes", _drt_bytes, _drt_bytes),
            Metric("nnz", "nonzeros", _nonzeros, _nonzeros),
            Metric("opal", "words", csf_words, _larger_half),
            Metric("values_only", "words", csf_words, _nonzeros),
        )
    }
)


def metric_called(name: str) -> Metric:
    """The metric of a name.

    Raises:
        WorkloadError: there is none.
    """
    if name not in METRICS:
        raise WorkloadError(f"no size of a tile is called {name!r}", fix=nearest(name, METRICS))
    return METRICS[name]
