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
    "LIBRARY",
    "LIBRARY_NM",
    "LIBRARY_VOLTS",
    "SHIPPED",
    "Netlist",
    "call_of",
    "netlist_area",
    "read_netlists",
    "user_table",
]

LIBRARY, LIBRARY_NM, LIBRARY_VOLTS = "osu018", 180.0, 1.8  # the cells that the table is of
SHIPPED = Path(__file__).parent / "netlists.csv"


@dataclass(frozen=True)
class Netlist:
    """A row of the table.

    Args:
        call: block and parameters, as ``call_of`` writes them.
        um2: the area of its cells, in the library's technology.
        cells, flip_flops: how many, flip-flops as bits of registers.
        memory_bits: bits of memories, which are not among the cells.
        path_ns: the longest path of logic, without wires and what the flip-flops take.
        digest: the digest of its Verilog and the library, sha256.
        yosys: the version that mapped it.
    """

    call: str
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


def netlist_area(call: str) -> float | None:
    """The area of a netlist in um2: by the table that ships, else by the user's own; None if in neither."""
    netlist = _table(SHIPPED, 0).get(call)
    if netlist is None:
        own = user_table()
        with suppress(OSError):
            netlist = _table(own, own.stat().st_mtime_ns).get(call)
    return None if netlist is None else netlist.um2


def user_table() -> Path:
    """The user's table, of what was measured here; it need not exist."""
    from fiberscope.workloads.cache import cache_folder  # noqa: PLC0415  (it takes time to load)

    return cache_folder() / "netlists.csv"


@lru_cache(maxsize=4)
def _table(path: Path, _written: int) -> dict[str, Netlist]:
    return read_netlists(path)


def read_netlists(path: Path) -> dict[str, Netlist]:
    """The rows of a table by their calls; none of a file that is not there."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        kinds = get_type_hints(Netlist)
        if rows.fieldnames != list(kinds):  # of a version that measured less
            return {}
        return {row["call"]: Netlist(**{name: kinds[name](row[name]) for name in kinds}) for row in rows}
