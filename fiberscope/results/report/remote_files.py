"""Remote files at addresses that fsspec supports, such as ``s3://bucket/run.json``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError

if TYPE_CHECKING:
    from upath import UPath

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+(.+)", re.DOTALL)  # a Path keeps one of the two slashes


def find_address(path: str | Path) -> str:
    """Return the address of a remote path; empty for a local path."""
    match = _ADDRESS.fullmatch(str(path))
    return "{}://{}".format(*match.groups()) if match else ""


def open_remote(address: str) -> UPath:
    """Open a remote file or folder, without caches, so that writes of others are visible.

    Raises:
        InputError: the protocol is unknown, or its library is not installed.
    """
    from upath import UPath  # noqa: PLC0415  (not needed for local files)

    try:
        remote_path = UPath(address, use_listings_cache=False, skip_instance_cache=True)
        remote_path.fs  # noqa: B018  (needs the library)
    except (ImportError, ValueError) as error:
        raise InputError(f"{address}: {' '.join(str(error).split())}") from error
    return remote_path


@contextmanager
def storage_errors(address: str, kept: type[Exception] = InputError) -> Iterator[None]:
    """Convert any error of a remote storage into an ``InputError``, because each storage has its own errors.

    Args:
        address: the address, for the message.
        kept: the kind of error that is not converted.

    Raises:
        InputError: any other exception was raised.
    """
    try:
        yield
    except kept:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{address}: cannot be reached: {reason}") from error
