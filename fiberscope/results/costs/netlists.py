"""Table of measured netlists of RTL blocks: area, flip-flops and longest path in cells of a library.

Yosys takes minutes for a large block. A run therefore only reads the table; ``fiberscope rtl netlists``
extends the table.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import get_type_hints

SHIPPED_NETLISTS = Path(__file__).parent / "netlists.csv"


@dataclass(frozen=True)
class CellLibrary:
    """A library of standard cells.

    Args:
        nanometres, volts: the technology.
        digest: sha256 of the Liberty file.
        source: the origin of the Liberty file, which does not ship.
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
PRICED = "nangate45"  # library in whose cells costs are computed
LIBRARY = "osu018"  # default library of measurements, which Debian packages
LIBRARY_NM, LIBRARY_VOLTS = LIBRARIES[LIBRARY].nanometres, LIBRARIES[LIBRARY].volts


@dataclass(frozen=True)
class Netlist:
    """A row of the table.

    Args:
        call: block and parameters, in the format of ``call_of``.
        library: the cells, a key of ``LIBRARIES``.
        um2: the area of the cells, in the library's technology.
        cells, flip_flops: the number of cells, and of bits of registers.
        memory_bits: bits of memories, which are not mapped to cells.
        path_ns: the longest path of logic, without wires and flip-flops.
        digest: sha256 of the Verilog and the library.
        yosys: the version of Yosys.
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
    """Format a block with sorted parameters, as in ``merger(radix=64, stages=6)``: the key of its netlist.

    Args:
        block: name of the RTL block.
        arguments: values of its parameters, by name.
    """
    return f"{block}({', '.join(f'{name}={arguments[name]}' for name in sorted(arguments))})"


def read_measured_netlists() -> Mapping[tuple[str, str], Netlist]:
    """Return the netlists of the shipped table and of the user's table, by call and library.

    A shipped row takes precedence over the user's row of the same call and library.
    """
    return _read_tables(*read_user_table_version())


def read_user_table_version() -> tuple[Path, int]:
    """Return the path of the user's table and the time of its last change in ns; 0 if it does not exist."""
    path, modified = user_table(), 0
    with suppress(OSError):
        modified = path.stat().st_mtime_ns
    return path, modified


def user_table() -> Path:
    """Return the path of the user's table, which need not exist."""
    from fiberscope.workloads.cache import cache_folder  # noqa: PLC0415  (it takes time to load)

    return cache_folder() / "netlists.csv"


@lru_cache(maxsize=4)
def _read_tables(user_path: Path, _modified: int) -> Mapping[tuple[str, str], Netlist]:
    """Read both tables; ``_modified`` is a key of the cache only, so that a changed table is read again."""
    return {**read_netlists(user_path), **read_netlists(SHIPPED_NETLISTS)}


def read_netlists(path: Path) -> dict[tuple[str, str], Netlist]:
    """Return the rows of a table by call and library; empty if the file does not exist.

    A damaged row and a row of an unknown library are left out, and so count as not measured. A table with
    other columns, as of another version, counts as empty.
    """
    netlists: dict[tuple[str, str], Netlist] = {}
    if not path.is_file():
        return netlists
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = csv.DictReader(file)
        kinds = get_type_hints(Netlist)
        if rows.fieldnames != list(kinds):
            return netlists
        for row in rows:
            with suppress(TypeError, ValueError):
                netlist = Netlist(**{name: kinds[name](row[name]) for name in kinds})
                if netlist.library in LIBRARIES:
                    netlists[netlist.call, netlist.library] = netlist
    return netlists
