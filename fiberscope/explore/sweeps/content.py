"""Digests and sizes of the operands of a point: files by content, generators by their text."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.workloads import file_of, is_gemm, load, lookup, names
from fiberscope.workloads.array_file import parse_named_array
from fiberscope.workloads.spec import describe_spec, is_spec, split_view, view_keyword

BYTES_PER_NONZERO = 10  # approximate file size, for estimates of remaining time


def operand_digest(operand: str, exact: bool) -> str:
    """Return the digest of an operand: the content of a file, or the text of a generator.

    The digest of a folder depends on the names and contents of its files; it must have no folders. The digest
    of a view includes the digest of its operand; the digest of an array in a file includes its name. Any
    other operand is loaded; its digest is kept while the process runs.

    Raises:
        WorkloadError: there is no such operand, or only a surrogate and ``exact`` is set.
        InputError: a file cannot be read, or a folder has a folder.
    """
    # Views and arrays first: their texts contain the path of a file
    if view_keyword(operand):
        head, base = split_view(operand)
        return f"{head}of={operand_digest(base, exact)}"
    if (array := parse_named_array(operand)) is not None:
        return f"{file_digest(Path(array[0]))}:{array[1]}"
    path = Path(operand)
    if path.is_dir():
        return digest_text("".join(f"{file.name} {file_digest(file)}\n" for file in sorted(path.iterdir())))
    file = file_of(operand)
    if file is not None:
        return file_digest(file)
    if _is_generated(operand):
        return operand
    return describe_spec(operand) if is_spec(operand) else _digest_loaded(operand, exact)


def _is_generated(operand: str) -> bool:
    """Return whether an operand is generated from its text alone."""
    number = re.fullmatch(r"[-+0-9.eE]+", operand)
    return bool(number) or is_gemm(operand) or operand.startswith(("ones", "sam-"))


def file_digest(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal; cached until its time of modification or size changes.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        state = path.stat()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or '').lower()}") from error
    return _digest_file_once(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1024)
def _digest_file_once(path: Path, _modified: int, _size: int) -> str:  # both are only keys of the cache
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or '').lower()}") from error


@lru_cache(maxsize=1024)
def _digest_loaded(operand: str, exact: bool) -> str:
    return load(operand, exact=exact).digest


def digest_text(text: str) -> str:
    """Return the sha256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def estimate_nonzeros(operand: str) -> float:
    """Estimate the number of nonzeros of an operand without loading it; 1 if nothing is known."""
    # The text of a generator names the number
    match = re.search(r"(?:nonzeros|edges)=(\d+)", operand)
    if match:
        return float(match[1])
    if operand in names():
        return float(lookup(operand).nonzeros)
    file = file_of(operand)
    return file.stat().st_size / BYTES_PER_NONZERO if file is not None and file.is_file() else 1.0
