"""Digests of the contents of a point: files by their bytes, generators by their words, and its size."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.workloads import file_of, is_gemm, load, lookup, names
from fiberscope.workloads.array_file import named_array
from fiberscope.workloads.spec import describe_spec, is_spec, split_view, view_in

__all__ = ["estimate_nonzeros", "file_digest", "operand_digest", "text_digest"]

BYTES_A_NONZERO = 10  # of a file, about; for the time that is left


def operand_digest(operand: str, exact: bool) -> str:
    """Return the digest of an operand: of a file its bytes, of a generator its words.

    Of a view these are the words and those of what it reads, of an array of a file its name too.

    Raises:
        WorkloadError: there is no such operand, or it cannot be had ``exact``.
        InputError: a file that cannot be read.
    """
    if view_in(operand):
        head, of = split_view(operand)
        return f"{head}of={operand_digest(of, exact)}"
    if (place := named_array(operand)) is not None:
        return f"{file_digest(Path(place[0]))}:{place[1]}"
    path = Path(operand)
    if path.is_dir():
        return text_digest("".join(f"{file.name} {file_digest(file)}\n" for file in sorted(path.iterdir())))
    file = file_of(operand)
    if file is not None:
        return file_digest(file)
    if _is_drawn(operand):
        return operand
    return describe_spec(operand) if is_spec(operand) else _loaded(operand, exact)


def _is_drawn(operand: str) -> bool:
    """Return whether a command draws it of its words alone."""
    number = re.fullmatch(r"[-+0-9.eE]+", operand)
    return bool(number) or is_gemm(operand) or operand.startswith(("ones", "sam-"))


def file_digest(path: Path) -> str:
    """The sha256 of its bytes."""
    try:
        state = path.stat()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or '').lower()}") from error
    return _hashed(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1024)
def _hashed(path: Path, _written: int, _size: int) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or '').lower()}") from error


@lru_cache(maxsize=1024)
def _loaded(operand: str, exact: bool) -> str:
    return load(operand, exact=exact).digest


def text_digest(text: str) -> str:
    """Return the sha256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def estimate_nonzeros(operand: str) -> float:
    """About how many nonzeros an operand has, before it is loaded."""
    match = re.search(r"(?:nonzeros|edges)=(\d+)", operand)
    if match:
        return float(match[1])
    if operand in names():
        return float(lookup(operand).nonzeros)
    file = file_of(operand)
    return file.stat().st_size / BYTES_A_NONZERO if file is not None and file.is_file() else 1.0
