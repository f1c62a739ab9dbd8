"""A limit on the size of decompressed data, as a few kilobytes can expand to fill memory or disk."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from typing import BinaryIO
from zipfile import ZipFile

from fiberscope.workloads.errors import WorkloadError

ALWAYS_BYTES = 2**30
CHUNK_BYTES = 2**20  # decompressed in one step
FACTOR = 100  # matrix text compresses to a tenth, repeated patterns to a fiftieth


def check_unpacked(unpacked: int, packed: int, location: str) -> None:
    """Refuse data that is much larger decompressed than a matrix could be.

    Args:
        unpacked: decompressed bytes so far.
        packed: bytes of the file.
        location: name of the file, for errors.

    Raises:
        WorkloadError: the data exceed the limit.
    """
    bound = _bound(packed)
    if unpacked > bound:
        raise WorkloadError(
            f"it unpacks to more than {bound:,} bytes, and has {packed:,} itself",
            location=location,
            fix="unpack it yourself if that is meant",
        )


def _bound(packed: int) -> int:
    return max(ALWAYS_BYTES, FACTOR * packed)


def check_members(archive: ZipFile, location: str) -> None:
    """Apply the limit to all members of a zip file without reading them.

    Raises:
        WorkloadError: see ``check_unpacked``.
    """
    members = archive.infolist()
    unpacked, packed = (
        sum(member.file_size for member in members),
        sum(member.compress_size for member in members),
    )
    check_unpacked(unpacked, packed, location)


def check_deflated(streams: Iterator[bytes], packed: int, location: str) -> None:
    """Apply the limit to zlib streams within a file. Each is decompressed in pieces that are not kept.

    Args:
        streams: the complete streams.
        packed: bytes of the file.
        location: name of the file, for errors.

    Raises:
        WorkloadError: see ``check_unpacked``.
        zlib.error: a stream is damaged.
    """
    unpacked = 0
    for stream in streams:
        inflating, remaining = zlib.decompressobj(), stream
        while remaining and not inflating.eof:
            unpacked += len(inflating.decompress(remaining, CHUNK_BYTES))
            check_unpacked(unpacked, packed, location)
            remaining = inflating.unconsumed_tail


class Unpacked(gzip.GzipFile):
    """The decompressed bytes of a gzip file, up to the limit.

    Args:
        packed: the file.
        location: name of the file, for errors.
    """

    def __init__(self, packed: BinaryIO, location: str) -> None:
        self._where = location
        self._packed = packed.seek(0, os.SEEK_END)
        packed.seek(0)
        super().__init__(fileobj=packed, mode="rb")

    def read(self, size: int | None = -1) -> bytes:
        """See ``io.RawIOBase``."""
        reads_all = size is None or size < 0
        return self._checked(super().read(_bound(self._packed) + 1 if reads_all else size))

    def readline(self, size: int | None = -1) -> bytes:
        """See ``io.RawIOBase``."""
        return self._checked(super().readline(size))

    def _checked(self, text: bytes) -> bytes:
        check_unpacked(self.tell(), self._packed, self._where)
        return text
