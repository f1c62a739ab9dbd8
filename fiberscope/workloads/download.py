"""One file over HTTP: resumed from its ``.part``, checked against its sha256, moved into place when whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.workloads.errors import WorkloadError

if TYPE_CHECKING:
    import requests

__all__ = ["DownloadError", "Progress", "download", "file_digest"]

Progress = Callable[[int, int], None]
"""Called with the bytes had so far and the bytes in all, 0 where the server does not say."""

CONNECT_SECONDS = 5  # an offline machine moves on quickly
READ_SECONDS = 30
ATTEMPTS = 3
CHUNK_BYTES = 2**16  # at most this much of an interrupted transfer is asked for again


class DownloadError(WorkloadError):
    """A download that failed; the caller may go on without it."""


def download(address: str, target: Path, checksum: str | None, progress: Progress | None = None) -> str:
    """Bring a file from the network; returns its sha256.

    An interrupted transfer leaves ``target`` + ``.part``, and the next attempt, in this call or a later one,
    asks the server for the rest of it only.

    Args:
        address: where it is.
        target: where it goes.
        checksum: the sha256 that it must have, None if that is not known.
        progress: called as bytes come in.

    Raises:
        DownloadError: no connection, an HTTP error, three interruptions, a wrong checksum (nothing is kept),
            a folder that cannot be written.
    """
    part = target.with_name(target.name + ".part")
    try:
        _transfer(address, part, progress)
        digest = file_digest(part)
        if checksum is not None and digest != checksum:
            part.unlink()
            raise DownloadError(f"sha256 {digest} is not the {checksum} on record", where=address)
        os.replace(part, target)
    except OSError as error:
        raise DownloadError(f"cannot be stored ({error.strerror or error})", where=address) from error
    return digest


def file_digest(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _transfer(address: str, part: Path, progress: Progress | None) -> None:
    import requests  # noqa: PLC0415 - a tenth of a second that only a download should cost

    for attempt in range(1, ATTEMPTS + 1):
        had = part.stat().st_size if part.exists() else 0
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={had}-"} if had else {})
        try:
            with requests.get(
                address, headers=headers, stream=True, timeout=(CONNECT_SECONDS, READ_SECONDS)
            ) as reply:
                if reply.status_code == 416:  # nothing beyond what we have: not a part of this file
                    part.unlink()
                    continue
                _check_status(reply, address)
                _append(reply, part, had if reply.status_code == 206 else 0, progress)
                return
        except requests.exceptions.ChunkedEncodingError as error:
            if attempt == ATTEMPTS:
                raise DownloadError("the transfer broke off", where=address) from error
        except requests.exceptions.RequestException as error:
            raise DownloadError(_reason(error), where=address) from error
    raise DownloadError("the server refuses to send it from the start", where=address)


def _check_status(reply: requests.Response, address: str) -> None:
    if reply.status_code not in (200, 206):
        raise DownloadError(f"the server answers {reply.status_code} {reply.reason}", where=address)


def _append(reply: requests.Response, part: Path, had: int, progress: Progress | None) -> None:
    """Write the body after the first ``had`` bytes of ``part``."""
    length = reply.headers.get("Content-Length", "")
    total = had + int(length) if length.isdigit() else 0
    with part.open("r+b" if had else "wb") as stream:
        stream.truncate(had)
        stream.seek(had)
        for chunk in reply.iter_content(CHUNK_BYTES):
            had += stream.write(chunk)
            if progress is not None:
                progress(had, total)


def _reason(error: Exception) -> str:
    kind = type(error).__name__
    return {
        "ConnectTimeout": f"no connection within {CONNECT_SECONDS} s",
        "ReadTimeout": f"no data for {READ_SECONDS} s",
        "ConnectionError": "no connection",
        "SSLError": "no trusted connection",
        "ProxyError": "no connection through the proxy",
    }.get(kind, kind)
