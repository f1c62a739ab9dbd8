"""Selection of a block for the commands of ``fiberscope rtl``, with one-line errors."""

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

ALIASES = {"scanner": "compressed_scanner"}  # short names of blocks
LOG = "fault.log"
ROOM_BYTES = 1 << 20  # a folder with less space counts as full; Verilog compilers write less at once
FULL = (errno.ENOSPC, errno.EDQUOT)


def condense_error(error: Exception, folder: Path) -> InputError:
    """Return an error with its most informative line. The log in the folder has all lines.

    A full disk causes many messages of tools; the error then names the folder without space.
    """
    first, *others = str(error).splitlines()
    if full := full_folder((Path(tempfile.gettempdir()), folder)):
        option = "--output" if full == folder else "TMPDIR"
        reason = f"{full}: {os.strerror(errno.ENOSPC)}; make room, or name another folder with {option}"
        return InputError(
            f"{reason} ({first.removesuffix(':')}{f': {_informative_line(others)}' if others else ''})"
        )
    if not others:
        return InputError(first)
    log = folder / LOG
    make_folder(folder)
    write_text(log, "\n".join([first, *others, ""]))
    return InputError(
        f"{first.removesuffix(':')}: {_informative_line(others)}; all that was said is in {log}"
    )


def full_folder(folders: Iterable[Path]) -> Path | None:
    """Return the first folder without space for a file of 1 MiB; None if all have space."""
    return next((folder for folder in folders if _is_full(folder)), None)


def _is_full(folder: Path) -> bool:
    try:
        with tempfile.NamedTemporaryFile(prefix="fiberscope-", dir=folder) as file:
            file.write(bytes(ROOM_BYTES))
            file.flush()
    except OSError as error:
        return error.errno in FULL
    return False


def _informative_line(lines: Sequence[str]) -> str:
    """Return the last exception of Python, or a compiler's first error, or the first line."""
    raised = [line for line in lines if re.match(r" *\w+(Error|Exception): ", line)]
    errors = [line for line in lines if "error" in line.lower()]
    return " ".join([*raised[-1:], *errors, *lines][0].split())


@contextmanager
def input_errors() -> Iterator[None]:
    """Convert the ``ValueError`` of a block's parameters to an error of the user."""
    try:
        yield
    except ValueError as error:
        raise InputError(str(error)) from error


def find_block(name: str, machine: str = "") -> RtlBlock:
    """Return the block with this name or alias, from the catalogue or from a machine's folder.

    Raises:
        InputError: there is no such block; names the nearest.
    """
    from fiberscope.rtl.units import units
    from fiberscope.workloads.errors import nearest

    blocks = units(machine)
    name = name if name in blocks else ALIASES.get(name, name)
    if name not in blocks:
        raise InputError(f"no block {name} exists as RTL; {nearest(name, blocks)}")
    return blocks[name]


def rtl_blocks() -> Mapping[str, RtlBlock]:
    """Return the catalogue, whose import loads all RTL modules."""
    from fiberscope.hw.rtl.catalogue import BLOCKS

    return BLOCKS
