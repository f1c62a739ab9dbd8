"""Measures the netlists that the costs of machines name, and writes them into a table."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from fiberscope.costs.netlists import LIBRARY, SHIPPED, Netlist, read_netlists
from fiberscope.errors import InputError
from fiberscope.hw.rtl.kit.parameters import combinations
from fiberscope.hw.rtl.tools.area import cells_of, library, require, version
from fiberscope.hw.rtl.tools.simulator import HdlError
from fiberscope.report.files import make_folder, write_text
from fiberscope.rtl.choice import named, one_line

__all__ = ["remake"]


def remake(calls: Iterable[str], table: Path, tell: Callable[[str], None]) -> list[Netlist]:
    """Bring a table up to date with some netlists.

    Those that it or the table that ships has as their Verilog is now are not measured again.

    Args:
        calls: blocks with parameters, as ``fiberscope.costs.netlists.call_of`` writes them.
        table: the file, of which other rows stay as they are.
        tell: called with what is going on.

    Raises:
        InputError: a tool or the library is missing, or there is no such block.
    """
    shipped, known, found = read_netlists(SHIPPED), read_netlists(table), []
    try:
        require()
        cells = library(LIBRARY)
        with one_line():
            for call in calls:
                found.append(_measured(call, cells, known.get(call, shipped.get(call)), tell))
                if found[-1] != shipped.get(call):
                    known[call] = found[-1]
                    _write(known.values(), table)  # at once: the next may take minutes
    except HdlError as error:
        raise InputError(str(error)) from error
    return found


def _measured(call: str, cells: Path, known: Netlist | None, tell: Callable[[str], None]) -> Netlist:
    name, _, rest = call.removesuffix(")").partition("(")
    block = named(name)
    (parameters,) = combinations(name, block.parameters, rest.split(", ") if rest else [])
    verilog = block.verilog(parameters)
    digest = hashlib.sha256(verilog.encode() + cells.read_bytes()).hexdigest()
    if known is not None and (known.digest, known.yosys) == (digest, version()):
        return known
    tell(f"{call}: synthesizing")
    area = cells_of(verilog, block.interface(parameters).module, cells).area
    return Netlist(call, area, digest, version())


def _write(rows: Iterable[Netlist], table: Path) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(Netlist.__dataclass_fields__), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in sorted(rows, key=lambda row: row.call))
    make_folder(table.parent)
    write_text(table, text.getvalue())
