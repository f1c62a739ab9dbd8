"""A list of the files that a command writes, so that an interrupted command can name the missing files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

_Stamp: TypeAlias = tuple[int, int, int] | None
_stamps: dict[Path, _Stamp] | None = None  # initial state of each recorded file; None outside a command


@contextmanager
def expect_outputs() -> Iterator[None]:
    """Record the expected output files while a command runs."""
    global _stamps  # noqa: PLW0603  (a process runs one command at a time)
    outer_stamps, _stamps = _stamps, {}
    try:
        yield
    finally:
        _stamps = outer_stamps


def expect_output(path: Path) -> None:
    """Record an output file. Devices and pipes are skipped, as they store nothing."""
    if _stamps is not None and (path.is_file() or not path.exists()):
        _stamps.setdefault(path, _read_stamp(path))


def list_unwritten_outputs() -> list[Path]:
    """Return the recorded files that are unchanged since the command began."""
    return [path for path, first_stamp in (_stamps or {}).items() if _read_stamp(path) == first_stamp]


def _read_stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
