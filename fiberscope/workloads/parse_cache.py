"""Cache of parsed files: the matrix of a file is mapped from the cache instead of being parsed again.

``parsed/<sha256 of the file>`` in the cache has a folder for each treatment of duplicates, with the three
arrays of the matrix and their checksums. A record for each path has the sha256 by size, time of change and
inode, so that a large file is not hashed each time. Matrices are mapped into memory, copy-on-write. Files
below 4 MiB and standard input are not cached. ``FIBERSCOPE_PARSED=0`` disables the cache. The folder
``parsed`` may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fiberscope.workloads.cache import cache_folder
from fiberscope.workloads.canonical import CsrArray, Duplicates, compressed, digest
from fiberscope.workloads.download import file_digest
from fiberscope.workloads.text import STANDARD_INPUT

RECORD = "record"
VERSION = 1  # of the cache's format; other versions are ignored
LEAST_BYTES = 4 * 2**20  # smallest file that is cached
SETTLED_NANOSECONDS = 2 * 10**9  # minimum age of a change, as the time has a coarse resolution
_ARRAYS = {"indptr": np.int64, "indices": np.int64, "data": np.float64}


class Parsed(NamedTuple):
    """A matrix, its digest, and a note for the user about the cache."""

    matrix: CsrArray
    digest: str
    note: str | None = None


def read_parsed(path: str | os.PathLike[str], duplicates: Duplicates = "sum") -> Parsed:
    """Return the matrix of a file, from the cache if possible; the arguments are those of ``read_matrix``.

    Raises:
        WorkloadError: see ``read_matrix``. A fault of the cache is no error: the file is parsed again.
    """
    file = Path(path)
    if not _is_cacheable(file):
        return _from_file(path, duplicates)
    state_before = _state(file)
    folder = _folder() / _content(file) / f"{VERSION}-{duplicates}"
    note = None
    if folder.is_dir():
        try:
            return _open(folder)
        except (OSError, ValueError, KeyError, TypeError, EOFError):
            note = f"NOTE: what the cache kept of {file.name} was damaged; it has been read again"
            shutil.rmtree(folder, ignore_errors=True)
    parsed = _from_file(path, duplicates)
    # a file that has changed since may not have the content of the sha256
    if _state(file) == state_before:
        with suppress(OSError):
            _store(parsed, folder)
    return parsed._replace(note=note)


def _from_file(path: str | os.PathLike[str], duplicates: Duplicates) -> Parsed:
    from fiberscope.workloads.readers import read_matrix  # noqa: PLC0415  (drawn matrices need no reader)

    matrix = read_matrix(path, duplicates)
    return Parsed(matrix, digest(matrix))


def _is_cacheable(file: Path) -> bool:
    if os.environ.get("FIBERSCOPE_PARSED", "1") == "0" or str(file) == STANDARD_INPUT:
        return False
    try:
        return file.is_file() and os.access(file, os.R_OK) and file.stat().st_size >= LEAST_BYTES
    except OSError:
        return False


def _folder() -> Path:
    return cache_folder() / "parsed"


def _state(file: Path) -> list[int]:
    """Return the attributes of a file that reveal a change."""
    status = file.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ino]


def _content(file: Path) -> str:
    """Return the sha256 of a file, from its record if the file has not changed."""
    path = str(file.resolve())
    record = _folder() / f"{hashlib.sha256(path.encode()).hexdigest()}.json"
    state = _state(file)
    with suppress(OSError, ValueError, KeyError, TypeError):
        state_before = json.loads(record.read_text(encoding="utf-8"))
        if state_before["state"] == state:
            return str(state_before["content"])
        # the cache keeps no former content of a path, so that it does not grow with each change
        shutil.rmtree(_folder() / state_before["content"], ignore_errors=True)
    content = file_digest(file)
    if time.time_ns() - state[1] > SETTLED_NANOSECONDS:
        with suppress(OSError):
            _write_whole(record, {"path": path, "state": state, "content": content})
    return content


def _write_whole(file: Path, record: dict[str, Any]) -> None:
    """Write a record under a temporary name, then rename it, so that no process reads a part of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as partly:
        json.dump(record, partly)
    os.replace(partly.name, file)


def _store(parsed: Parsed, folder: Path) -> None:
    """Write a matrix to the cache under a temporary name, then rename it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    partly = Path(tempfile.mkdtemp(dir=folder.parent, prefix=folder.name, suffix=".partly"))
    try:
        arrays = {name: getattr(parsed.matrix, name) for name in _ARRAYS}
        for name, array in arrays.items():
            np.save(partly / f"{name}.npy", array)
        checksums = {name: zlib.crc32(array) for name, array in arrays.items()}
        shape = [int(size) for size in parsed.matrix.shape]
        record = json.dumps({"shape": shape, "digest": parsed.digest, "checksums": checksums})
        (partly / RECORD).write_text(f"{zlib.crc32(record.encode())} {record}", encoding="utf-8")
        partly.rename(folder)  # fails if another process was first, which the caller ignores
    finally:
        shutil.rmtree(partly, ignore_errors=True)


def _open(folder: Path) -> Parsed:
    """Return the matrix in a folder of the cache.

    Raises:
        OSError, ValueError, KeyError, TypeError, EOFError: the folder is damaged.
    """
    checksum, _, text = (folder / RECORD).read_text(encoding="utf-8").partition(" ")
    if int(checksum) != zlib.crc32(text.encode()):
        raise ValueError(f"{RECORD} does not have its checksum")
    record = json.loads(text)
    indptr, indices, values = (_map_array(folder, name, record["checksums"][name]) for name in _ARRAYS)
    return Parsed(compressed(tuple(record["shape"]), indptr, indices, values), record["digest"])


def _map_array(folder: Path, name: str, checksum: int) -> np.ndarray[Any, Any]:
    array = np.asarray(np.load(folder / f"{name}.npy", mmap_mode="c"))
    if array.dtype != _ARRAYS[name] or array.ndim != 1 or zlib.crc32(array.data) != checksum:
        raise ValueError(f"{name} does not have its type and checksum")
    return array
