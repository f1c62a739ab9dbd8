"""The files that a command writes, so that an interrupted command can name those that are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

__all__ = ["expect_output", "expecting_outputs", "unwritten_outputs"]

_Stamp: TypeAlias = tuple[int, int, int] | None
_stamps: dict[Path, _Stamp] | None = None  # of each expected file as it was; None outside of a command


@contextmanager
def expecting_outputs() -> Iterator[None]:
    """Keep a list of the expected files while a command runs."""
    global _stamps  # noqa: PLW0603  (a process runs one command at a time)
    before, _stamps = _stamps, {}
    try:
        yield
    finally:
        _stamps = before


def expect_output(path: Path) -> None:
    """Add a file to the list, unless it is a device or a pipe, which keeps nothing."""
    if _stamps is not None and (path.is_file() or not path.exists()):
        _stamps.setdefault(path, _stamp(path))


def unwritten_outputs() -> list[Path]:
    """Return the expected files that are as they were when the command began."""
    return [path for path, before in (_stamps or {}).items() if _stamp(path) == before]


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
