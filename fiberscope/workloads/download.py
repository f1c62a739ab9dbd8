"""Download of a file over HTTP: resumed from its ``.part``, verified by sha256, renamed when complete."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.workloads.errors import WorkloadError

if TYPE_CHECKING:
    import requests

Progress = Callable[[int, int], None]
"""Called with the number of bytes received so far, and in total (0 if the server does not say)."""

CONNECT_SECONDS = 5  # an offline machine moves on quickly
READ_SECONDS = 30
ATTEMPTS = 3
CHUNK_BYTES = 2**16  # an interrupted transfer repeats at most this much


class DownloadError(WorkloadError):
    """A failed download. The caller may continue without the file."""


def download(address: str, target: Path, checksum: str | None, progress: Progress | None = None) -> str:
    """Download a file and return its sha256.

    An interrupted transfer leaves ``target`` + ``.part``. The next attempt requests only the missing bytes.
    The folder of ``target`` must exist; an existing ``target`` is replaced.

    Args:
        address: URL of the file.
        target: path of the file.
        checksum: the expected sha256; None if unknown.
        progress: called with the bytes received and the total.

    Raises:
        DownloadError: no connection, an HTTP error, a timeout, three interruptions, a wrong checksum (nothing
            is kept), or a folder that cannot be written.
    """
    part = target.with_name(target.name + ".part")
    try:
        _transfer(address, part, progress)
        digest = file_digest(part)
        if checksum is not None and digest != checksum:
            part.unlink()
            raise DownloadError(f"sha256 {digest} is not the {checksum} on record", location=address)
        os.replace(part, target)
    except OSError as error:
        raise DownloadError(f"cannot be stored ({error.strerror or error})", location=address) from error
    return digest


def file_digest(path: Path) -> str:
    """Return the hexadecimal sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _transfer(address: str, part: Path, progress: Progress | None) -> None:
    """Download into ``part``, resuming after interruptions."""

    import requests  # noqa: PLC0415 - imported in 0.1 s, only for downloads

    for attempt in range(1, ATTEMPTS + 1):
        received = part.stat().st_size if part.exists() else 0
        # A compressed transfer would have other byte positions than the file
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={received}-"} if received else {})
        try:
            with requests.get(
                address, headers=headers, stream=True, timeout=(CONNECT_SECONDS, READ_SECONDS)
            ) as reply:
                if reply.status_code == 416:  # no bytes after .part, which is complete or of another file
                    part.unlink()
                    continue
                _check_status(reply, address)
                # 200 in place of 206: the server ignored the range and sends the whole file
                _append(reply, part, received if reply.status_code == 206 else 0, progress)
                return
        except requests.exceptions.ChunkedEncodingError as error:
            if attempt == ATTEMPTS:
                raise DownloadError("the transfer broke off", location=address) from error
        except requests.exceptions.RequestException as error:
            raise DownloadError(_describe_reason(error), location=address) from error
    raise DownloadError("the server refuses to send it from the start", location=address)


def _check_status(reply: requests.Response, address: str) -> None:
    if reply.status_code not in (200, 206):
        raise DownloadError(f"the server answers {reply.status_code} {reply.reason}", location=address)


def _append(reply: requests.Response, part: Path, received: int, progress: Progress | None) -> None:
    """Write the response body after the first ``received`` bytes of ``part``."""
    length = reply.headers.get("Content-Length", "")
    total = received + int(length) if length.isdigit() else 0
    with part.open("r+b" if received else "wb") as stream:
        stream.truncate(received)
        stream.seek(received)
        for chunk in reply.iter_content(CHUNK_BYTES):
            received += stream.write(chunk)
            if progress is not None:
                progress(received, total)


def _describe_reason(error: Exception) -> str:
    kind = type(error).__name__
    return {
        "ConnectTimeout": f"no connection within {CONNECT_SECONDS} s",
        "ReadTimeout": f"no data for {READ_SECONDS} s",
        "ConnectionError": "no connection",
        "SSLError": "no trusted connection",
        "ProxyError": "no connection through the proxy",
    }.get(kind, kind)
