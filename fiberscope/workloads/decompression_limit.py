"""A limit on the size of decompressed data, as a few kilobytes can expand to fill memory or disk."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from typing import BinaryIO
from zipfile import ZipFile

from fiberscope.workloads.errors import WorkloadError

ALWAYS_BYTES = 2**30  # decompressed bytes that any file may have
CHUNK_BYTES = 2**20  # decompressed in one step
FACTOR = 100  # matrix text compresses to a tenth, repeated patterns to a fiftieth


def check_unpacked(decompressed_bytes: int, compressed_bytes: int, location: str) -> None:
    """Refuse data that is much larger decompressed than a matrix could be.

    Args:
        decompressed_bytes: decompressed bytes so far.
        compressed_bytes: bytes of the file.
        location: name of the file, for errors.

    Raises:
        WorkloadError: the data exceed the limit.
    """
    limit = _limit_bytes(compressed_bytes)
    if decompressed_bytes > limit:
        raise WorkloadError(
            f"it unpacks to more than {limit:,} bytes, and has {compressed_bytes:,} itself",
            location=location,
            fix="unpack it yourself if that is meant",
        )


def _limit_bytes(compressed_bytes: int) -> int:
    return max(ALWAYS_BYTES, FACTOR * compressed_bytes)


def check_members(archive: ZipFile, location: str) -> None:
    """Apply the limit to all members of a zip file without reading them.

    The declared sizes are enough, as ``zipfile`` reads no more of a member than its declared size.

    Raises:
        WorkloadError: see ``check_unpacked``.
    """
    members = archive.infolist()
    decompressed_bytes = sum(member.file_size for member in members)
    compressed_bytes = sum(member.compress_size for member in members)
    check_unpacked(decompressed_bytes, compressed_bytes, location)


def check_deflated(streams: Iterator[bytes], compressed_bytes: int, location: str) -> None:
    """Apply the limit to zlib streams within a file. Each is decompressed in pieces that are not kept.

    Args:
        streams: the complete streams.
        compressed_bytes: bytes of the file.
        location: name of the file, for errors.

    Raises:
        WorkloadError: see ``check_unpacked``.
        zlib.error: a stream is damaged.
    """
    decompressed_bytes = 0
    for stream in streams:
        inflating, remaining = zlib.decompressobj(), stream
        while remaining and not inflating.eof:
            decompressed_bytes += len(inflating.decompress(remaining, CHUNK_BYTES))
            check_unpacked(decompressed_bytes, compressed_bytes, location)
            remaining = inflating.unconsumed_tail


class DecompressedFile(gzip.GzipFile):
    """The decompressed bytes of a gzip file, up to the limit.

    ``read`` and ``readline`` raise ``WorkloadError`` beyond the limit. The check follows the decompression:
    give ``readline`` a size, as a single line can fill the memory.

    Args:
        compressed: the file.
        location: name of the file, for errors.
    """

    def __init__(self, compressed: BinaryIO, location: str) -> None:
        self._location = location
        self._compressed_bytes = compressed.seek(0, os.SEEK_END)
        compressed.seek(0)
        super().__init__(fileobj=compressed, mode="rb")

    def read(self, size: int | None = -1) -> bytes:
        """See ``io.RawIOBase``."""
        reads_all = size is None or size < 0
        # One byte more than the limit is enough to exceed it
        return self._check(super().read(_limit_bytes(self._compressed_bytes) + 1 if reads_all else size))

    def readline(self, size: int | None = -1) -> bytes:
        """See ``io.RawIOBase``."""
        return self._check(super().readline(size))

    def _check(self, text: bytes) -> bytes:
        check_unpacked(self.tell(), self._compressed_bytes, self._location)
        return text
