"""Files that are not of this computer: addresses that fsspec knows, as ``s3://bucket/run.json``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError

if TYPE_CHECKING:
    from upath import UPath

__all__ = ["address_of", "open_remote", "storage_errors"]

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+(.+)", re.DOTALL)  # of the two slashes a Path keeps one


def address_of(path: str | Path) -> str:
    """The address that a path is; empty if it is of this computer."""
    match = _ADDRESS.fullmatch(str(path))
    return "{}://{}".format(*match.groups()) if match else ""


def open_remote(address: str) -> UPath:
    """The file or folder at an address, with what others write there meanwhile.

    Raises:
        InputError: nobody knows the protocol, or its library is not installed.
    """
    from upath import UPath  # noqa: PLC0415  (files of this computer need none)

    try:
        remote_path = UPath(address, use_listings_cache=False, skip_instance_cache=True)
        remote_path.fs  # noqa: B018  (made when it is asked for: where the library is missing)
    except (ImportError, ValueError) as error:
        raise InputError(f"{address}: {' '.join(str(error).split())}") from error
    return remote_path


@contextmanager
def storage_errors(address: str) -> Iterator[None]:
    """A line on a storage that does not let anybody in; each of them has errors of its own.

    Raises:
        InputError: for whatever was raised.
    """
    try:
        yield
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{address}: cannot be reached: {said}") from error
