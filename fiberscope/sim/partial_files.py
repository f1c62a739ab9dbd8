"""Files under construction, beside their final place, named after the process that makes them."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

__all__ = ["ENDING", "Partial", "partial", "remove_abandoned", "replacing"]

ENDING = ".partial"
LONGEST_NAME = 120  # bytes of a file's name that fit into another one's, beside a host and a process


class Partial:
    """A file under construction. Who opens ``path`` does so by mode ``x``: it is not there.

    What stood there, be it a link that someone has laid, is taken away and never written through. A final
    place that is a link stays one: the file that it points to is replaced.

    Args:
        path: its final place.
        ending: tells several for one file apart.

    Raises:
        OSError: what stands there cannot be taken away.
    """

    def __init__(self, path: Path, ending: str = "") -> None:
        self.path, self._target = partial(path, ending), _target(path)
        self.path.unlink(missing_ok=True)

    def keep(self) -> None:
        """Give it its name at once, in the place of what had it before."""
        os.replace(self.path, self._target)

    def discard(self) -> None:
        """Leave nothing behind but what was kept."""
        with suppress(OSError):  # what a full disk could not take is not wanted any more
            self.path.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which has its name once it is whole; one that raises leaves nothing.

    What a process that was killed left of the file is removed.

    Raises:
        OSError: it cannot be written.
    """
    remove_abandoned(path)
    output = Partial(path, f".{secrets.token_hex(4)}")  # threads may write the same file
    try:
        with output.path.open("xb") as file:
            yield file
        output.keep()
    finally:
        output.discard()


def partial(path: Path, ending: str = "") -> Path:
    """The name under which this process makes a file; ``ending`` tells several for one file apart."""
    target = _target(path)
    return target.with_name(f"{_start(target)}{os.getpid()}{ending}{ENDING}")


def remove_abandoned(path: Path) -> None:
    """Remove what processes of this host left of this file and, being dead, cannot remove themselves."""
    target = _target(path)
    start = _start(target)
    with suppress(OSError):  # a folder that cannot be read is found out about elsewhere
        for other in target.parent.iterdir():
            if other.name.startswith(start) and other.name.endswith(ENDING):
                process = other.name[len(start) :].partition(".")[0]
                if process.isdecimal() and _is_dead(int(process)):
                    other.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _start(target: Path) -> str:
    """Return the prefix of the names of this host's partial files."""
    name = os.fsencode(target.name)
    short = target.name if len(name) <= LONGEST_NAME else sha256(name).hexdigest()
    return f".{short}.{platform.node()}."


def _is_dead(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # another user's, so it lives
        return False
    return False
