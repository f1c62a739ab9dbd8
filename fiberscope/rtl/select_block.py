"""Selection of a block for the commands of ``fiberscope rtl``, with one-line errors."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError
from fiberscope.results.report.files import make_folder, write_text

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.block import RtlBlock
    from fiberscope.hw.rtl.kit.parameters import Parameters

ALIASES = {"scanner": "compressed_scanner"}  # short names of blocks
LOG = "fault.log"  # file with all lines of an error of several lines
MIN_FREE_BYTES = 1 << 20  # a folder with less space counts as full; Verilog compilers write less at once
FULL = (errno.ENOSPC, errno.EDQUOT)  # error numbers: no space on the device, quota exceeded


def condense_error(error: Exception, folder: Path) -> InputError:
    """Return an error of one line. If the original has several lines, a log in the folder gets all of them.

    A full disk causes misleading messages of tools; the error then names the folder without space, and no log
    is written.

    Args:
        error: the error of a tool; its first line says what failed.
        folder: folder of the log, created if necessary.

    Raises:
        InputError: the folder of the log cannot be created.
    """
    first, *details = str(error).splitlines()
    if full := full_folder((Path(tempfile.gettempdir()), folder)):
        option = "--output" if full == folder else "TMPDIR"
        reason = f"{full}: {os.strerror(errno.ENOSPC)}; make room, or name another folder with {option}"
        return InputError(
            f"{reason} ({first.removesuffix(':')}{f': {_informative_line(details)}' if details else ''})"
        )
    if not details:
        return InputError(first)
    log = folder / LOG
    make_folder(folder)
    write_text(log, "\n".join([first, *details, ""]))
    return InputError(
        f"{first.removesuffix(':')}: {_informative_line(details)}; the whole output is in {log}"
    )


def full_folder(folders: Iterable[Path]) -> Path | None:
    """Return the first folder without space for a file of 1 MiB; None if there is none.

    A folder that is missing or cannot be written to does not count as full.
    """
    return next((folder for folder in folders if _is_full(folder)), None)


def _is_full(folder: Path) -> bool:
    """Return whether a file of ``MIN_FREE_BYTES`` fails for lack of space; false if it fails otherwise."""
    try:
        with tempfile.NamedTemporaryFile(prefix="fiberscope-", dir=folder) as file:
            file.write(bytes(MIN_FREE_BYTES))
            file.flush()
    except OSError as error:
        return error.errno in FULL
    return False


def _informative_line(lines: Sequence[str]) -> str:
    """Return the last Python exception; without one, the first line with ``error``, else the first line."""
    raised = [line for line in lines if re.match(r" *\w+(Error|Exception): ", line)]
    errors = [line for line in lines if "error" in line.lower()]
    return " ".join([*raised[-1:], *errors, *lines][0].split())


@contextmanager
def input_errors() -> Iterator[None]:
    """Convert a ``ValueError`` within the context, as of a block's parameters, to an ``InputError``."""
    try:
        yield
    except ValueError as error:
        raise InputError(str(error)) from error


def find_block(name: str, machine: str = "") -> RtlBlock:
    """Return the block with this name or alias, from the catalogue or from a machine's folder.

    Args:
        name: name or alias.
        machine: name or path of the machine whose folder is searched too; empty for the catalogue alone.

    Raises:
        InputError: there is no such block; names the nearest.
        ModuleNotFoundError: PyRTL is not installed.
    """
    from fiberscope.rtl.block_names import read_block_names

    # A wrong name is reported even without PyRTL, which the import of the units needs.
    if find_spec("pyrtl") is None and not machine:
        _full_name(name, read_block_names())
    from fiberscope.rtl.units import units

    blocks = units(machine)
    return blocks[_full_name(name, blocks)]


def _full_name(name: str, blocks: Collection[str]) -> str:
    """Return the name of a block for a name or alias; raise ``InputError`` if there is none."""
    from fiberscope.workloads.errors import suggest

    full_name = name if name in blocks else ALIASES.get(name, name)
    if full_name not in blocks:
        raise InputError(f"no block {full_name} exists as RTL; {suggest(full_name, blocks)}")
    return full_name


def parse_parameters(block: RtlBlock, settings: Sequence[str]) -> Parameters:
    """Return the parameters of a block, each written ``name=value``, with defaults for the others.

    Raises:
        InputError: a parameter is unknown or invalid.
    """
    from fiberscope.hw.rtl.kit.parameters import parse

    with input_errors():
        return parse(block.name, block.parameters, settings)


def rtl_blocks() -> Mapping[str, RtlBlock]:
    """Return the catalogue by name, without the units of machines. Its import loads all RTL modules."""
    from fiberscope.hw.rtl.catalogue import BLOCKS

    return BLOCKS
