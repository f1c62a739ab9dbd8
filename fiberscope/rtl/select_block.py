"""Selection of a block for the commands of ``fiberscope rtl``, with mistakes in one line."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError
from fiberscope.results.report.files import make_folder, write_text

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.block import RtlBlock

__all__ = ["condense_error", "find_block", "full_folder", "input_errors", "rtl_blocks"]


ALIASES = {"scanner": "compressed_scanner"}  # short names of blocks
LOG = "fault.log"
ROOM_BYTES = 1 << 20  # of a folder that counts as full; compilers of Verilog write less at a time
FULL = (errno.ENOSPC, errno.EDQUOT)


def condense_error(error: Exception, folder: Path) -> InputError:
    """Return the same error with its most telling line (a port, a tool's own); the folder has all lines.

    A full disk makes tools fail in many words; the error then names the folder without room.
    """
    first, *others = str(error).splitlines()
    if full := full_folder((Path(tempfile.gettempdir()), folder)):
        option = "--output" if full == folder else "TMPDIR"
        reason = f"{full}: {os.strerror(errno.ENOSPC)}; make room, or name another folder with {option}"
        return InputError(f"{reason} ({first.removesuffix(':')}{f': {_telling(others)}' if others else ''})")
    if not others:
        return InputError(first)
    log = folder / LOG
    make_folder(folder)
    write_text(log, "\n".join([first, *others, ""]))
    return InputError(f"{first.removesuffix(':')}: {_telling(others)}; all that was said is in {log}")


def full_folder(folders: Iterable[Path]) -> Path | None:
    """Return the first folder without room for a file of 1 MiB; None if all have room."""
    return next((folder for folder in folders if _is_full(folder)), None)


def _is_full(folder: Path) -> bool:
    try:
        with tempfile.NamedTemporaryFile(prefix="fiberscope-", dir=folder) as file:
            file.write(bytes(ROOM_BYTES))
            file.flush()
    except OSError as error:
        return error.errno in FULL
    return False


def _telling(lines: Sequence[str]) -> str:
    """Return the exception that Python ended with, else a compiler's first error, else the first line."""
    raised = [line for line in lines if re.match(r" *\w+(Error|Exception): ", line)]
    errors = [line for line in lines if "error" in line.lower()]
    return " ".join([*raised[-1:], *errors, *lines][0].split())


@contextmanager
def input_errors() -> Iterator[None]:
    """Parameters that a block refuses are the user's to mend."""
    try:
        yield
    except ValueError as error:
        raise InputError(str(error)) from error


def find_block(name: str, machine: str = "") -> RtlBlock:
    """The block of this name, or short name, of the catalogue or of a machine's folder.

    Raises:
        InputError: with the nearest name, if there is none.
    """
    from fiberscope.rtl.units import units
    from fiberscope.workloads.errors import nearest

    blocks = units(machine)
    name = name if name in blocks else ALIASES.get(name, name)
    if name not in blocks:
        raise InputError(f"no block {name} exists as RTL; {nearest(name, blocks)}")
    return blocks[name]


def rtl_blocks() -> Mapping[str, RtlBlock]:
    """The catalogue; once it is there, so is all that RTL needs."""
    from fiberscope.hw.rtl.catalogue import BLOCKS

    return BLOCKS
