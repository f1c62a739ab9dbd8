"""SRAM in figures that others have published, and an estimate between them for any size.

The cells that a block is mapped to have no SRAM, so its memories count by this table: in 45 nm, whatever the
cells are. Each row has its source; what is worked out from the rows is an estimate and is called one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

__all__ = ["TABLE", "Figure", "access_pj"]


@dataclass(frozen=True)
class Figure:
    """A published SRAM; what its source does not say is None.

    Args:
        technology_nm: feature size, in nm.
        size_bytes: of all its words.
        bits: of a word, that an access reads or writes.
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


_HOROWITZ = "Horowitz, ISSCC 2014, Figure 1.1.9: caches, 0.9 V"
TABLE = (
    Figure(45, 8 * 1024, 64, 10.0, None, None, _HOROWITZ),
    Figure(45, 32 * 1024, 64, 20.0, None, None, _HOROWITZ),
    Figure(45, 1024 * 1024, 64, 100.0, None, None, _HOROWITZ),
    Figure(45, 32 * 1024, 32, 5.0, None, None, "EIE, ISCA 2016, Table I"),
    Figure(
        45, 4096, 64, 10.6, 17301.4, 0.305, "OpenROAD-flow-scripts, nangate45/lib/fakeram45_512x64.lib: CACTI"
    ),
    Figure(65, 448, 16, 1.05, 6889.1, 0.347, "accelergy, cacti7_exec/out.csv: CACTI 7, two ports"),
)
_KNOWN = TABLE[3]  # an SRAM alone, neither cache nor model


def access_pj(size_bytes: float, bits: float) -> float:
    """The energy of an access to an SRAM of one port in 45 nm, in pJ: an estimate.

    It goes with the bits of a word and, as the lengths of word and bit lines, with the square root of the
    size; through EIE's 32 KiB. Horowitz's caches, which have tags, take twice as much and go with the size in
    the same way; CACTI's 4 KiB take three times as much.
    """
    assert _KNOWN.read_pj is not None
    return _KNOWN.read_pj * bits / _KNOWN.bits * sqrt(size_bytes / _KNOWN.size_bytes)
