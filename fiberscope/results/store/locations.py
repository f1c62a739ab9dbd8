"""Location of a store: a local folder, or an address that fsspec supports, such as ``s3://bucket/study``."""

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
from fiberscope.results.report.remote_files import find_address, open_remote, storage_errors

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from upath import UPath

Address: TypeAlias = "Path | UPath"  # a file

ABANDONED_SECONDS = 60.0  # age from which a partial file counts as abandoned
LEASE_SECONDS = 3600.0  # age from which a lock in object storage counts as abandoned


class BusyError(OSError):
    """Another process holds the lock."""


class StoreLocation:
    """Files of a store in a local folder; the base class of other locations.

    Args:
        address: the path.

    Attributes:
        root: the folder of the store.
        arrived: the folder of rows that are not compacted yet, and of the lock.
    """

    def __init__(self, address: str | Path) -> None:
        self.root: Address = Path(address)
        self.arrived: Address = self.root / "_arrived"

    def make(self) -> None:
        """Create the folder and check that it is writable; wait while another process compacts the store.

        Raises:
            InputError: the folder cannot be created or written.
        """
        make_folder(Path(str(self.arrived)))
        try:
            with self.locked():
                pass
        except OSError as error:
            raise InputError(f"{self.root}: cannot be written to: {error.strerror}") from error

    def exists(self) -> bool:
        """Return whether the store exists: in a folder, whether it has the folder of arrived rows.

        On object storage, a store exists if any object has its prefix.
        """
        return self.arrived.is_dir()

    def locked(self) -> AbstractContextManager[object]:
        """Return a lock, to be entered, that excludes other processes that compact the store.

        In a folder, entering waits for the other process.

        Raises:
            OSError: the folder is not writable; ``BusyError`` if the lock is taken and the location does not
                wait.
        """
        return FileLock(str(self.arrived / "lock"))

    def files(self, folder: Address, pattern: str) -> list[Address]:
        """Return the files of a folder that match a pattern, sorted."""
        return sorted(folder.glob(pattern))

    def write(self, file: Address, content: bytes) -> None:
        """Write a file atomically.

        Raises:
            InputError: the file cannot be written.
        """
        write_bytes(Path(str(file)), content)

    def read_contents(self, files: Sequence[Address]) -> Iterator[tuple[Address, bytes]]:
        """Yield the existing files with their contents; a file that no longer exists is skipped."""
        for file in files:
            with suppress(FileNotFoundError):
                yield file, file.read_bytes()

    def copy(self, file: Address) -> Path:
        """Return a local path with the current content of ``file``: the file itself in a local folder."""
        return Path(str(file))

    def remove(self, files: Sequence[Address]) -> None:
        """Remove the files that exist."""
        for file in files:
            file.unlink(missing_ok=True)

    def remove_abandoned(self) -> None:
        """Remove partial files of killed processes."""
        for file in (*self.root.glob(".*.partial"), *self.arrived.glob(".*.partial")):
            with suppress(FileNotFoundError):  # its writer has renamed it
                if time.time() - file.stat().st_mtime > ABANDONED_SECONDS:
                    file.unlink()


class _RemoteLocation(StoreLocation):
    """A prefix of an object storage with atomic writes.

    Local copies of parts are in a temporary folder, which lives as long as this object.

    Args:
        address: the address with its protocol.

    Raises:
        InputError: the protocol is unknown, or its library is not installed.
    """

    def __init__(self, address: str) -> None:
        self.root: UPath = open_remote(address)
        self.filesystem: AbstractFileSystem = self.root.fs
        self.arrived = self.root / "_arrived"
        self._copies = TemporaryDirectory(prefix="fiberscope-")

    def make(self) -> None:
        """Check by a lock object that the storage can be written to. A lock of another process suffices."""
        with storage_errors(str(self.root)), suppress(BusyError), self.locked():
            pass

    def exists(self) -> bool:
        with storage_errors(str(self.root)):
            return bool(self.filesystem.exists(self.root.path))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Create a lock object exclusively, without waiting; arrived rows are safe without compaction.

        Raises:
            BusyError: the lock is taken, for less than ``LEASE_SECONDS``.
            OSError: the storage cannot be written to.
            InputError: the storage cannot be reached.
        """
        lock = _strip_protocol(self.arrived / "lock")
        try:
            with storage_errors(str(self.arrived / "lock"), kept=OSError):
                self._remove_old_lock(lock)
                self.filesystem.pipe_file(lock, b"", mode="create")
        except FileExistsError as error:
            raise BusyError from error
        try:
            yield
        finally:
            with storage_errors(str(self.arrived / "lock")):
                self.filesystem.rm_file(lock)

    def _remove_old_lock(self, lock: str) -> None:
        """Remove a lock that a killed process has left, because object storage frees no lock by itself."""
        with suppress(FileNotFoundError):
            if time.time() - self.filesystem.modified(lock).timestamp() > LEASE_SECONDS:
                self.filesystem.rm_file(lock)

    def files(self, folder: Address, pattern: str) -> list[Address]:
        try:
            with storage_errors(str(folder), kept=FileNotFoundError):
                entries = self.filesystem.ls(_strip_protocol(folder), detail=False)
        except FileNotFoundError:  # no object has this prefix
            return []
        return [
            folder / name
            for name in sorted(entry.rpartition("/")[2] for entry in entries)
            if fnmatchcase(name, pattern)
        ]

    def write(self, file: Address, content: bytes) -> None:
        """Write an object in one request, which is atomic."""
        with storage_errors(str(file)):
            self.filesystem.pipe_file(_strip_protocol(file), content)

    def read_contents(self, files: Sequence[Address]) -> Iterator[tuple[Address, bytes]]:
        """Fetch files concurrently; an object that cannot be fetched raises an error."""
        names = [_strip_protocol(file) for file in files]
        with storage_errors(str(self.root)):
            fetched = self.filesystem.cat(names, on_error="return") if files else {}
        for file in files:
            content = fetched[_strip_protocol(file)]
            if isinstance(content, FileNotFoundError):
                continue  # compacted by another process since it was listed: its row is in a part
            with storage_errors(str(file)):
                if isinstance(content, Exception):
                    raise content
            yield file, content

    def copy(self, file: Address) -> Path:
        """Fetch an object in one request, unless its current version is cached.

        Reads in pieces could mix two versions while another process compacts the store.
        """
        with storage_errors(str(file)):
            version = self.filesystem.ukey(_strip_protocol(file))
            # named by the version: a copy of an older version is never mistaken for the current one
            copy = Path(self._copies.name, f"{file.name}.{version}")
            content = None if copy.exists() else self.filesystem.cat_file(_strip_protocol(file))
        if content is not None:
            for old in copy.parent.glob(f"{file.name}.*"):
                old.unlink()
            write_bytes(copy, content)
        return copy

    def remove(self, files: Sequence[Address]) -> None:
        if files:
            with storage_errors(str(self.root)):
                self.filesystem.rm([_strip_protocol(file) for file in files])

    def remove_abandoned(self) -> None:
        """Do nothing, because object writes are atomic."""


def _strip_protocol(file: Address) -> str:
    """Return the name of an object without the protocol."""
    return str(getattr(file, "path", file))


def open_location(address: str | Path) -> StoreLocation:
    """Return the location of an address.

    Raises:
        InputError: the protocol is unknown, or its library is not installed.
    """
    remote = find_address(address)
    return _RemoteLocation(remote) if remote else StoreLocation(address)
