"""Measurement of the netlists in the cost tables of machines."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.interface import Stream
from fiberscope.hw.rtl.kit.parameters import Parameters, parse
from fiberscope.hw.rtl.tools.area import cells_of, library, require, version
from fiberscope.hw.rtl.tools.simulator import HdlError
from fiberscope.results.costs.netlists import (
    LIBRARIES,
    LIBRARY,
    SHIPPED_NETLISTS,
    Netlist,
    call_of,
    read_netlists,
)
from fiberscope.results.report.files import make_folder, write_text
from fiberscope.rtl.select_block import find_block, input_errors
from fiberscope.rtl.units import measured_units


@dataclass(frozen=True)
class Module:
    """A block with parameters.

    Args:
        call: text that names both in a table, such as ``merger(radix=64, stages=6)``.
    """

    call: str
    block: RtlBlock
    parameters: Parameters


def parse_call(call: str, machine: str = "") -> Module:
    """Parse a call, as ``fiberscope.results.costs.netlists.call_of`` writes it.

    Args:
        call: the block with its parameters.
        machine: the machine of the block, if the block is not in the catalogue.

    Raises:
        InputError: there is no such block, or a parameter is invalid.
    """
    # A call is ``NAME`` or ``NAME(KEY=VALUE, KEY=VALUE)``.
    name, _, arguments_text = call.removesuffix(")").partition("(")
    block = measured_units(machine).get(name) or find_block(name)
    with input_errors():
        parameters = parse(name, block.parameters, arguments_text.split(", ") if arguments_text else [])
    return Module(call, block, parameters)


def describe_module(block: RtlBlock, parameters: Parameters) -> Module:
    """Return a block with parameters, with a call that has the parameters that are not default."""
    arguments = {
        field.name: _parameter_text(value)
        for field in fields(parameters)
        if (value := getattr(parameters, field.name)) != field.default
    }
    return Module(call_of(block.name, arguments), block, parameters)


def _parameter_text(value: object) -> object:
    """Return a parameter as in a call; for a stream, the bits of each field in all lanes."""
    if isinstance(value, Stream):
        return "+".join(f"{name}:{len(value.ports) * bits}" for name, bits in value.widths.items())
    return value


def update_table(
    modules: Iterable[Module], table: Path, notify: Callable[[str], None], cells: str = LIBRARY
) -> list[Netlist]:
    """Measure netlists, add them to a table, and return one for each module, in the order of ``modules``.

    A netlist is not measured again if this table or the shipped table has it, with the same Verilog, library
    and version of Yosys. Rows of the shipped table are not copied.

    Args:
        modules: the modules to measure.
        table: the file. Its other rows stay.
        notify: called with the current step.
        cells: the library, by its Liberty file or a known name.

    Raises:
        InputError: a tool or the library is missing, the library is not in ``LIBRARIES``, a tool does not
            accept a module, or the table cannot be written.
    """
    shipped_netlists, user_netlists, netlists = read_netlists(SHIPPED_NETLISTS), read_netlists(table), []
    try:
        liberty = library(cells)
        require()
        name = _library_name(liberty)
        for module in modules:
            key = module.call, name  # a table has one row for each block with parameters and library
            previous = [rows[key] for rows in (user_netlists, shipped_netlists) if key in rows]
            netlists.append(_measure(module, name, liberty, previous, notify))
            if netlists[-1] != shipped_netlists.get(key):
                user_netlists[key] = netlists[-1]
                _write_table(user_netlists.values(), table)  # saved now, as the next module may take minutes
    except HdlError as error:
        raise InputError(str(error)) from error
    return netlists


def _library_name(liberty: Path) -> str:
    """Return the name of a library of ``LIBRARIES``, whose technology is known.

    The digest of the content decides, as a file may have any name.

    Raises:
        InputError: the library is not in ``LIBRARIES``.
    """
    digest = hashlib.sha256(liberty.read_bytes()).hexdigest()
    names = [name for name, entry in LIBRARIES.items() if entry.digest == digest]
    if not names:
        raise InputError(
            f"{liberty}: its technology is not known; a table has cells of {', '.join(LIBRARIES)}"
        )
    return names[0]


def _measure(
    module: Module, name: str, cells: Path, previous: Iterable[Netlist], notify: Callable[[str], None]
) -> Netlist:
    """Return the first of the previous netlists that is up to date; measure the module if none is.

    A netlist is up to date if the Verilog, the content of the library and the version of Yosys are the same.
    """
    call, block, parameters = module.call, module.block, module.parameters
    verilog = block.verilog(parameters)
    digest = hashlib.sha256(verilog.encode() + cells.read_bytes()).hexdigest()
    for netlist in previous:
        if (netlist.digest, netlist.yosys) == (digest, version()):
            return netlist
    notify(f"{call}: synthesizing")
    measured = cells_of(verilog, block.interface(parameters).module, cells)
    numbers = measured.area, measured.cells, measured.flip_flops, measured.memory_bits, measured.path_ns
    return Netlist(call, name, *numbers, digest, version())


def _write_table(rows: Iterable[Netlist], table: Path) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(Netlist.__dataclass_fields__), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in sorted(rows, key=lambda row: (row.call, row.library)))
    make_folder(table.parent)
    write_text(table, text.getvalue())
