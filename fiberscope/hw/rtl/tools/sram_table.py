"""Area, energies, leakage and access time of an SRAM in 45 nm, interpolated in a table of CACTI.

``sram_table.csv`` has results of CACTI 7, as in the package ``hwcomponents-cacti`` 1.0.40
(github.com/HewlettPackard/cacti), for a 45 nm RAM with one read-write port, one bank and 300 K. The array and
its periphery have cells of the same type. The optimizer has the weights 0, 0, 1000000, 0, 0 and the
deviations 20, 10, 100000, 100, 100 of that package, and ED^2; wires are ``Global_30`` and semi-global. The
types are those of the ITRS: ``hp`` (high performance, 1.0 V), ``lop`` (low operating power, 0.7 V) and
``lstp`` (low standby power, 1.1 V).
"""

from __future__ import annotations

import csv
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import pairwise
from math import ceil, exp, log
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

SramCells: TypeAlias = Literal["hp", "lop", "lstp"]
# A read of 32 bits of 32 KiB takes 6.1 pJ with these cells, 13.8 with hp and 11.8 with lstp. EIE publishes
# 5 pJ (Han et al., ISCA 2016, Table I).
CELLS: Final[SramCells] = "lop"
WARM: Mapping[SramCells, float] = {
    "hp": 1.98,
    "lop": 2.61,
    "lstp": 6.55,
}  # leakage at 350 K over that at 300 K
ESTIMATED = "an estimate for 45 nm and one port between CACTI 7's, low operating power"
TABLE = Path(__file__).with_name("sram_table.csv")
FEWEST_WORDS = 64  # in the table


@dataclass(frozen=True)
class Sram:
    """An SRAM of one port in 45 nm.

    Args:
        area_um2: its area, in square micrometres.
        read_pj, write_pj: the energy of an access to a word, in pJ.
        leakage_uw: the power of its leakage at 300 K, in uW.
        access_ns: the time from the clock to the data, in ns.
    """

    area_um2: float
    read_pj: float
    write_pj: float
    leakage_uw: float
    access_ns: float

    @property
    def access_pj(self) -> float:
        """Return the mean energy of a read and a write, in pJ."""
        return (self.read_pj + self.write_pj) / 2


def estimate(size_bytes: float, bits: float, cells: SramCells = CELLS) -> Sram:
    """Estimate an SRAM of ``size_bytes`` bytes with words of ``bits`` bits.

    Each figure is interpolated as a power of the size and of the word width. An SRAM larger than the largest
    in the table, or with wider words, consists of several SRAMs, without the wires between them. Narrower
    words count as the narrowest, and a shallower SRAM as one of ``FEWEST_WORDS`` words.

    Args:
        size_bytes: bytes of the SRAM, above 0.
        bits: bits of a word, above 0.
        cells: type of the cells of the array and of its periphery.

    Raises:
        ValueError: there are no such cells.
    """
    if cells not in get_args(SramCells):
        raise ValueError(f"no cells {cells!r}; there are {', '.join(get_args(SramCells))}")
    ladders = _table()[cells]
    words = list(ladders)
    # An SRAM is divided into columns of at most the widest word, then into rows of at most the largest size.
    wide = ceil(bits / words[-1])
    word = max(words[0], bits / wide)
    size = max(size_bytes / wide, FEWEST_WORDS * word / 8)
    deep = ceil(size / ladders[words[0]][-1][0])
    return _side_by_side(_of_word(ladders, size / deep, word), wide, deep)


def _side_by_side(sram: Sram, wide: int, deep: int) -> Sram:
    """Return an array of SRAMs: a word spans ``wide`` SRAMs, and there are ``deep`` such rows.

    An access takes energy in one row only, and its time is that of one SRAM; all SRAMs leak.
    """
    return replace(
        sram,
        area_um2=wide * deep * sram.area_um2,
        leakage_uw=wide * deep * sram.leakage_uw,
        read_pj=wide * sram.read_pj,
        write_pj=wide * sram.write_pj,
    )


def _of_word(ladders: Mapping[int, Sequence[tuple[int, Sram]]], size: float, word: float) -> Sram:
    words = list(ladders)
    # Two neighbouring widths enclose the word; the bounds give the narrowest and the widest a neighbour too.
    place = min(max(1, bisect_left(words, word)), len(words) - 1)
    low, high = words[place - 1], words[place]
    return _interpolate(low, _of_size(ladders[low], size), high, _of_size(ladders[high], size), word)


def _of_size(ladder: Sequence[tuple[int, Sram]], size: float) -> Sram:
    # A size below the smallest continues the line through the two smallest sizes.
    pairs = list(pairwise(ladder))
    (small, less), (large, more) = next((pair for pair in pairs if size <= pair[1][0]), pairs[-1])
    return _interpolate(small, less, large, more, size)


def _interpolate(low: float, first: Sram, high: float, second: Sram, at: float) -> Sram:
    """Interpolate each figure on the power law through two points: a straight line between logarithms."""
    share = log(at / low) / log(high / low)
    return Sram(
        *(
            exp((1 - share) * log(getattr(first, field.name)) + share * log(getattr(second, field.name)))
            for field in fields(Sram)
        )
    )


@cache
def _table() -> dict[str, dict[int, list[tuple[int, Sram]]]]:
    """Return the SRAMs by type of cells, bits of a word and ascending size."""
    table: dict[str, dict[int, list[tuple[int, Sram]]]] = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            sram = Sram(*(float(row[field.name]) for field in fields(Sram)))
            ladder = table.setdefault(row["cells"], {}).setdefault(int(row["word_bits"]), [])
            ladder.append((int(row["size_bytes"]), sram))
    return table
