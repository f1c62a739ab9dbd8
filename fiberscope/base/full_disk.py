"""Full disks: the folder without room that made an external program fail."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["full_folder"]

ROOM_BYTES = 1 << 20  # of a folder that counts as full; compilers of Verilog write less at a time
FULL = (errno.ENOSPC, errno.EDQUOT)


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
