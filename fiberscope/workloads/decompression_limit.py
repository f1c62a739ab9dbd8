"""A bound on what compressed files unpack to: a few kilobytes of them can fill any memory, or any disk."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from typing import BinaryIO
from zipfile import ZipFile

from fiberscope.workloads.errors import WorkloadError

__all__ = ["Unpacked", "check_deflated", "check_members", "check_unpacked"]

ALWAYS_BYTES = 2**30
CHUNK_BYTES = 2**20  # that are unpacked at once, to be counted
FACTOR = 100  # text of matrices packs to a tenth; patterns that repeat themselves to a fiftieth


def check_unpacked(unpacked: int, packed: int, where: str) -> None:
    """Refuse what is much larger unpacked than a matrix could be.

    Args:
        unpacked: bytes, or as many of them as have come so far.
        packed: bytes of the file.
        where: the file's name, for errors.

    Raises:
        WorkloadError: it is.
    """
    bound = _bound(packed)
    if unpacked > bound:
        raise WorkloadError(
            f"it unpacks to more than {bound:,} bytes, and has {packed:,} itself",
            where=where,
            fix="unpack it yourself if that is meant",
        )


def _bound(packed: int) -> int:
    return max(ALWAYS_BYTES, FACTOR * packed)


def check_members(archive: ZipFile, where: str) -> None:
    """The same of all that a zip file holds; none of it is read.

    Raises:
        WorkloadError: as ``check_unpacked``.
    """
    members = archive.infolist()
    unpacked, packed = (
        sum(member.file_size for member in members),
        sum(member.compress_size for member in members),
    )
    check_unpacked(unpacked, packed, where)


def check_deflated(streams: Iterator[bytes], packed: int, where: str) -> None:
    """The same of streams of zlib within a file, which are unpacked a piece at a time, and not kept.

    Args:
        streams: each of them whole.
        packed: bytes of the file.
        where: its name, for errors.

    Raises:
        WorkloadError: as ``check_unpacked``.
        zlib.error: one is damaged.
    """
    unpacked = 0
    for stream in streams:
        inflating, left = zlib.decompressobj(), stream
        while left and not inflating.eof:
            unpacked += len(inflating.decompress(left, CHUNK_BYTES))
            check_unpacked(unpacked, packed, where)
            left = inflating.unconsumed_tail


class Unpacked(gzip.GzipFile):
    """The bytes within a gzip file, as far as the bound.

    Args:
        packed: the file.
        where: its name, for errors.
    """

    def __init__(self, packed: BinaryIO, where: str) -> None:
        self._where = where
        self._packed = packed.seek(0, os.SEEK_END)
        packed.seek(0)
        super().__init__(fileobj=packed, mode="rb")

    def read(self, size: int | None = -1) -> bytes:
        """See ``io.RawIOBase``."""
        whole = size is None or size < 0
        return self._checked(super().read(_bound(self._packed) + 1 if whole else size))

    def readline(self, size: int | None = -1) -> bytes:
        """See ``io.RawIOBase``."""
        return self._checked(super().readline(size))

    def _checked(self, text: bytes) -> bytes:
        check_unpacked(self.tell(), self._packed, self._where)
        return text
