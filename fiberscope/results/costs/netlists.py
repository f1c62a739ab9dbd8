"""Areas of twins as netlists of a library's cells: a table that was measured, which a run looks them up in.

Yosys takes minutes for a large block, so a run asks it for none: ``fiberscope rtl netlists`` does.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import get_type_hints

__all__ = [
    "LIBRARIES",
    "LIBRARY",
    "LIBRARY_NM",
    "LIBRARY_VOLTS",
    "PRICED",
    "SHIPPED",
    "CellLibrary",
    "Netlist",
    "call_of",
    "measured_netlists",
    "read_netlists",
    "user_table",
]

SHIPPED = Path(__file__).parent / "netlists.csv"


@dataclass(frozen=True)
class CellLibrary:
    """A library of cells that netlists are of.

    Args:
        nanometres, volts: its technology.
        digest: sha256 of its Liberty file.
        source: where that is from; the file does not ship.
    """

    nanometres: float
    volts: float
    digest: str
    source: str


LIBRARIES = {
    "nangate45": CellLibrary(
        45.0,
        1.1,
        "2efd0b32eb580e4e60e72fc0575bb3bc69aac907c91d908442e4ae6d7fe55895",
        "Nangate Open Cell Library, revision 1.0 of 2011, typical corner (OpenSTA's nangate45_typ.lib)",
    ),
    "osu018": CellLibrary(
        180.0,
        1.8,
        "86f79b2000f1ac46715a9f6dfd5f5a596906418e9ee8a8611077bbaaad3de4e9",
        "Oklahoma State University's cells of TSMC 0.18 um (Debian's qflow-tech-osu018)",
    ),
}
PRICED = "nangate45"  # the cells that areas are priced by
LIBRARY = "osu018"  # the cells that are at hand, as Debian has them
LIBRARY_NM, LIBRARY_VOLTS = LIBRARIES[LIBRARY].nanometres, LIBRARIES[LIBRARY].volts


@dataclass(frozen=True)
class Netlist:
    """A row of the table.

    Args:
        call: block and parameters, as ``call_of`` writes them.
        library: the cells, one of ``LIBRARIES``.
        um2: the area of its cells, in the library's technology.
        cells, flip_flops: how many, flip-flops as bits of registers.
        memory_bits: bits of memories, which are not among the cells.
        path_ns: the longest path of logic, without wires and what the flip-flops take.
        digest: the digest of its Verilog and the library, sha256.
        yosys: the version that mapped it.
    """

    call: str
    library: str
    um2: float
    cells: int
    flip_flops: int
    memory_bits: int
    path_ns: float
    digest: str
    yosys: str


def call_of(block: str, arguments: Mapping[str, object]) -> str:
    """A block with parameters, in one way: ``merger(radix=64, stages=6)``."""
    return f"{block}({', '.join(f'{name}={arguments[name]}' for name in sorted(arguments))})"


def measured_netlists() -> Mapping[tuple[str, str], Netlist]:
    """Return the netlists of the table that ships and of the user's own, by call and library."""
    own, written = user_table(), 0
    with suppress(OSError):
        written = own.stat().st_mtime_ns
    return _tables(own, written)


def user_table() -> Path:
    """The user's table, of what was measured here; it need not exist."""
    from fiberscope.workloads.cache import cache_folder  # noqa: PLC0415  (it takes time to load)

    return cache_folder() / "netlists.csv"


@lru_cache(maxsize=4)
def _tables(own: Path, _written: int) -> Mapping[tuple[str, str], Netlist]:
    return {**read_netlists(own), **read_netlists(SHIPPED)}


def read_netlists(path: Path) -> dict[tuple[str, str], Netlist]:
    """Return the rows of a table by their calls and libraries; none of a file that is not there."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        kinds = get_type_hints(Netlist)
        if rows.fieldnames != list(kinds):  # of a version that measured less
            return {}
        netlists = [Netlist(**{name: kinds[name](row[name]) for name in kinds}) for row in rows]
    return {(netlist.call, netlist.library): netlist for netlist in netlists}
