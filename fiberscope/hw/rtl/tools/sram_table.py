"""SRAM in figures that others have published, and an estimate between them for any size.

The cells that a block is mapped to have no SRAM, so its memories count by this table: in 45 nm, whatever the
cells are. Each row has its source; what is worked out from the rows is an estimate and is called one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log, sqrt

__all__ = ["ESTIMATED", "TABLE", "Estimate", "Figure", "access_pj", "estimate"]


@dataclass(frozen=True)
class Figure:
    """A published SRAM; what its source does not say is None.

    Args:
        technology_nm: feature size, in nm.
        size_bytes: of all its words.
        bits: the bits of a word, that an access reads or writes.
        read_pj: energy of a read, in pJ.
        area_um2: in square micrometres.
        access_ns: from the clock to the data, in ns.
        source: where the figures are from.
    """

    technology_nm: int
    size_bytes: int
    bits: int
    read_pj: float | None
    area_um2: float | None
    access_ns: float | None
    source: str


_FAKERAM = "OpenROAD-flow-scripts, nangate45/lib/fakeram45_{}.lib: CACTI, one port, 1.1 V"
ESTIMATED = "an estimate for 45 nm and one port between published ones, CACTI's in OpenROAD-flow-scripts"
_HOROWITZ = "Horowitz, ISSCC 2014, Figure 1.1.9: caches, 0.9 V"
TABLE = (
    Figure(45, 8 * 1024, 64, 10.0, None, None, _HOROWITZ),
    Figure(45, 32 * 1024, 64, 20.0, None, None, _HOROWITZ),
    Figure(45, 1024 * 1024, 64, 100.0, None, None, _HOROWITZ),
    Figure(45, 32 * 1024, 32, 5.0, None, None, "EIE, ISCA 2016, Table I"),
    Figure(45, 56, 7, 0.523, 387.3, 0.164, _FAKERAM.format("64x7")),
    Figure(45, 256, 32, 1.59, 1240.6, 0.207, _FAKERAM.format("64x32")),
    Figure(45, 4096, 32, 7.13, 16406.1, 0.309, _FAKERAM.format("1024x32")),
    Figure(45, 4096, 64, 10.6, 17301.4, 0.305, _FAKERAM.format("512x64")),
    Figure(45, 4096, 256, 31.4, 23378.7, 0.302, _FAKERAM.format("128x256")),
    Figure(45, 9984, 39, 13.7, 45478.8, 0.435, _FAKERAM.format("2048x39")),
    Figure(65, 448, 16, 1.05, 6889.1, 0.347, "accelergy, cacti7_exec/out.csv: CACTI 7, two ports"),
)
_KNOWN = TABLE[3]  # an SRAM alone, neither cache nor model
_CURVE = ((56, 7), (256, 32), (4096, 64), (9984, 39))  # bytes and bits of a word of CACTI's, by size
_MACROS = [row for row in TABLE if (row.size_bytes, row.bits) in _CURVE and "CACTI" in row.source]


def access_pj(size_bytes: float, bits: float) -> float:
    """The energy of an access to an SRAM of one port in 45 nm, in pJ: an estimate.

    It goes with the bits of a word and, as the lengths of word and bit lines, with the square root of the
    size; through EIE's 32 KiB. Horowitz's caches, which have tags, take twice as much and go with the size in
    the same way; CACTI's take two to four times as much, and twelve times at 56 bytes.
    """
    assert _KNOWN.read_pj is not None
    return _KNOWN.read_pj * bits / _KNOWN.bits * sqrt(size_bytes / _KNOWN.size_bytes)


@dataclass(frozen=True)
class Estimate:
    """Estimate of an SRAM: its area, and from the clock to its data, in 45 nm."""

    area_um2: float
    access_ns: float


def estimate(size_bytes: float) -> Estimate:
    """Area and access time of an SRAM of one port in 45 nm: an estimate, between CACTI's.

    A power of the size between two of these. One that is larger than all of them is as many equal ones side
    by side as it takes, without the wires between. How wide a word is does not count: of 4 KiB, words of 256
    bits take 35 % more area than those of 64 bits, and as long.
    """
    parts = ceil(size_bytes / _MACROS[-1].size_bytes)
    size = size_bytes / parts
    pairs = list(pairwise(_MACROS))
    low, high = next((pair for pair in pairs if size <= pair[1].size_bytes), pairs[-1])
    between = log(size / low.size_bytes) / log(high.size_bytes / low.size_bytes)

    def number(name: str) -> float:
        first, second = (float(getattr(figure, name)) for figure in (low, high))
        return float(first * (second / first) ** between)

    return Estimate(parts * number("area_um2"), number("access_ns"))
