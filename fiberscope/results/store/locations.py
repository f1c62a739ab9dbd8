"""Location of a store: a local folder, or an address that fsspec knows, as ``s3://bucket/study``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

from filelock import FileLock

from fiberscope.base.errors import InputError
from fiberscope.results.report.files import make_folder, write_bytes
from fiberscope.results.report.remote_files import address_of, open_remote, storage_errors

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from upath import UPath

__all__ = ["Address", "BusyError", "StoreLocation", "open_location"]

Address: TypeAlias = "Path | UPath"  # of a file

ABANDONED_SECONDS = 60.0  # what is still being written is younger
LEASE_SECONDS = 3600.0  # a lock of object storage that is older was left by one who was killed


class BusyError(OSError):
    """Somebody else gathers."""


class StoreLocation:
    """A folder of this computer.

    Args:
        address: its path.
    """

    def __init__(self, address: str | Path) -> None:
        self.root: Address = Path(address)
        self.arrived: Address = self.root / "_arrived"

    def make(self) -> None:
        """Have it ready to be written to.

        Raises:
            InputError: it cannot be.
        """
        make_folder(Path(str(self.arrived)))
        try:
            with self.locked():
                pass
        except OSError as error:
            raise InputError(f"{self.root}: cannot be written to: {error.strerror}") from error

    def is_made(self) -> bool:
        """Return whether a store is there."""
        return self.arrived.is_dir()

    def locked(self) -> AbstractContextManager[object]:
        """Alone among all who gather.

        Raises:
            OSError: it cannot be written to; ``BusyError`` where one does not wait for who gathers.
        """
        return FileLock(str(self.arrived / "lock"))

    def files(self, folder: Address, pattern: str) -> list[Address]:
        """Return the files of a folder whose names match a pattern, in order."""
        return sorted(folder.glob(pattern))

    def write(self, file: Address, content: bytes) -> None:
        """Write a file at once."""
        write_bytes(Path(str(file)), content)

    def contents(self, files: Sequence[Address]) -> Iterator[tuple[Address, bytes]]:
        """Files, those that are still there, with what is in them."""
        for file in files:
            with suppress(FileNotFoundError):
                yield file, file.read_bytes()

    def copy(self, file: Address) -> Path:
        """Return the path of a file of this computer with the content of ``file`` as it is now."""
        return Path(str(file))

    def remove(self, files: Sequence[Address]) -> None:
        """Take files away, those that are still there."""
        for file in files:
            file.unlink(missing_ok=True)

    def remove_abandoned(self) -> None:
        """Take away what was being written by those who were killed."""
        for file in (*self.root.glob(".*.partial"), *self.arrived.glob(".*.partial")):
            with suppress(FileNotFoundError):  # who writes it has renamed it
                if time.time() - file.stat().st_mtime > ABANDONED_SECONDS:
                    file.unlink()


class _Remote(StoreLocation):
    """A prefix of object storage, where a file is there whole or not at all.

    Args:
        address: with its protocol.

    Raises:
        InputError: nobody knows the protocol, or its library is not installed.
    """

    def __init__(self, address: str) -> None:
        self.root: UPath = open_remote(address)
        self.filesystem: AbstractFileSystem = self.root.fs
        self.arrived = self.root / "_arrived"
        self._copies = TemporaryDirectory(prefix="fiberscope-")

    def make(self) -> None:
        with storage_errors(str(self.root)), suppress(BusyError), self.locked():
            pass

    def is_made(self) -> bool:
        with storage_errors(str(self.root)):
            return bool(self.filesystem.exists(self.root.path))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """An object that only one can make. Nobody waits for it: what has arrived is safe as it is."""
        lock = _key(self.arrived / "lock")
        self._remove_old(lock)
        try:
            self.filesystem.pipe_file(lock, b"", mode="create")
        except FileExistsError as error:
            raise BusyError from error
        try:
            yield
        finally:
            self.filesystem.rm_file(lock)

    def _remove_old(self, lock: str) -> None:
        with suppress(FileNotFoundError):
            if time.time() - self.filesystem.modified(lock).timestamp() > LEASE_SECONDS:
                self.filesystem.rm_file(lock)

    def files(self, folder: Address, pattern: str) -> list[Address]:
        try:
            entries = self.filesystem.ls(_key(folder), detail=False)
        except FileNotFoundError:  # no object's name begins so
            return []
        return [
            folder / name
            for name in sorted(each.rpartition("/")[2] for each in entries)
            if fnmatchcase(name, pattern)
        ]

    def write(self, file: Address, content: bytes) -> None:
        self.filesystem.pipe_file(_key(file), content)

    def contents(self, files: Sequence[Address]) -> Iterator[tuple[Address, bytes]]:
        """The same, fetched together; an object that cannot be fetched is refused, and not passed over."""
        fetched = self.filesystem.cat([_key(file) for file in files], on_error="return") if files else {}
        for file in files:
            content = fetched[_key(file)]
            if isinstance(content, FileNotFoundError):
                continue
            with storage_errors(str(file)):
                if isinstance(content, Exception):
                    raise content
            yield file, content

    def copy(self, file: Address) -> Path:
        """Fetch an object whole, by one request, unless the version that is there was fetched before.

        Who read it in pieces would have pieces of two versions where another process gathers.
        """
        with storage_errors(str(file)):
            version = self.filesystem.ukey(_key(file))
            copy = Path(self._copies.name, f"{file.name}.{version}")
            content = None if copy.exists() else self.filesystem.cat_file(_key(file))
        if content is not None:
            for old in copy.parent.glob(f"{file.name}.*"):
                old.unlink()
            write_bytes(copy, content)
        return copy

    def remove(self, files: Sequence[Address]) -> None:
        if files:
            self.filesystem.rm([_key(file) for file in files])

    def remove_abandoned(self) -> None:
        """Do nothing: an object is written whole or not at all."""


def _key(file: Address) -> str:
    """The name of an object, which its protocol does not stand before."""
    return str(getattr(file, "path", file))


def open_location(address: str | Path) -> StoreLocation:
    """The place of an address.

    Raises:
        InputError: nobody knows its protocol, or the library for that is not installed.
    """
    remote = address_of(address)
    return _Remote(remote) if remote else StoreLocation(address)
