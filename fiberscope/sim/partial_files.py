"""Files under construction, beside their final path, named after the process that writes them."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

ENDING = ".partial"
LONGEST_NAME = 120  # bytes of a file name that a partial file's name includes; longer names are hashed


class Partial:
    """A file under construction. Open ``path`` with mode ``x``: the constructor removes an existing file.

    A link at ``path`` is removed, not followed. If the final path is a link, ``keep`` replaces its target.

    Args:
        path: the final path.
        ending: distinguishes several partial files for the same final path.

    Raises:
        OSError: if an existing file cannot be removed.
    """

    def __init__(self, path: Path, ending: str = "") -> None:
        self.path, self._target = partial(path, ending), _resolve_target(path)
        self.path.unlink(missing_ok=True)

    def keep(self) -> None:
        """Rename the file to its final path, atomically."""
        os.replace(self.path, self._target)

    def discard(self) -> None:
        """Remove the file unless ``keep`` renamed it."""
        with suppress(OSError):  # a full disk must not hide the first error
            self.path.unlink(missing_ok=True)


@contextmanager
def replace_when_complete(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that gets the name ``path`` when it is complete.

    After an exception, an existing file at ``path`` is unchanged, and the incomplete file is removed.

    Partial files of dead processes are removed.

    Raises:
        OSError: if the file cannot be written.
    """
    remove_abandoned(path)
    output = Partial(path, f".{secrets.token_hex(4)}")  # several threads may write the same file
    try:
        with output.path.open("xb") as file:
            yield file
        output.keep()
    finally:
        output.discard()


def partial(path: Path, ending: str = "") -> Path:
    """Return the path of this process's partial file; ``ending`` distinguishes several for the same file."""
    target = _resolve_target(path)
    return target.with_name(f"{_start(target)}{os.getpid()}{ending}{ENDING}")


def remove_abandoned(path: Path) -> None:
    """Remove the partial files that dead processes of this host left for this file; ignore errors."""
    target = _resolve_target(path)
    start = _start(target)
    with suppress(OSError):  # opening the file reports an unreadable folder
        for file in target.parent.iterdir():
            if file.name.startswith(start) and file.name.endswith(ENDING):
                process = file.name[len(start) :].partition(".")[0]
                if process.isdecimal() and _is_dead(int(process)):
                    file.unlink(missing_ok=True)


def _resolve_target(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _start(target: Path) -> str:
    """Return the prefix of the names of this host's partial files."""
    name = os.fsencode(target.name)
    short = target.name if len(name) <= LONGEST_NAME else sha256(name).hexdigest()
    # Process numbers are unique only on one host, and hosts may share the folder
    return f".{short}.{platform.node()}."


def _is_dead(process: int) -> bool:
    """Return whether this host surely has no process with this number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # a process of another user, or no valid number
        return False
    return False
