"""Files of several arrays, as weights of networks come in; one is named behind the file: ``net.npz:fc1``."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fiberscope.workloads.canonical import CsrArray, canonical
from fiberscope.workloads.errors import WorkloadError, nearest
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.unpacked import check_members

__all__ = ["Array", "named_array", "read_array"]

_NAMED = re.compile(r"(?P<file>.+\.(?:npz|safetensors)):(?P<array>[^:]+)", re.IGNORECASE)


class Array(NamedTuple):
    """A matrix out of such a file, and what the user should know of how it was read."""

    matrix: CsrArray
    note: str | None


def named_array(text: str) -> tuple[str, str] | None:
    """File and array of a text such as ``net.npz:fc1``; None of another text, and of a file of that name."""
    match = _NAMED.fullmatch(text)
    if match is None or Path(text).exists():
        return None
    return match["file"], match["array"]


def read_array(path: str, name: str) -> Array:
    """An array of a file as a matrix: of one rank a column, of more than two all but the first as one.

    So the weights of a convolution, output by input by height by width, are the left factor of the product
    that it is with its unrolled input. Zeros are not stored.

    Raises:
        WorkloadError: the file cannot be read, has no such array, or its values are no real numbers.
    """
    where = f"{path}:{name}"
    try:
        array = _READERS[Path(path).suffix.lower()](path, name)
    except (WorkloadError, ModuleNotFoundError):
        raise
    except Exception as error:  # damage shows in a dozen ways inside zipfile, numpy and safetensors
        raise WorkloadError(f"cannot be read ({type(error).__name__}: {error})", where=path) from error
    if array.dtype.kind not in "biuf":
        raise WorkloadError(f"values of type {array.dtype}; they must be real numbers", where=where)
    if array.ndim == 0:
        raise WorkloadError("a single number; a matrix is needed", where=where)
    rows = array.shape[0]
    columns = 1 if array.ndim == 1 else int(np.prod(array.shape[1:]))
    note = None
    if array.ndim > 2:
        shape = " x ".join(map(str, array.shape))
        note = f"NOTE: {name} is {shape}, and was read as a matrix of {rows} x {columns}"
    return Array(canonical(sparse.coo_array(array.reshape(rows, columns)), where), note)


def _npz(path: str, name: str) -> Any:  # noqa: ANN401
    with zipfile.ZipFile(path) as members:
        check_members(members, path)
    with np.load(path, allow_pickle=False) as held:
        return held[_known(path, name, held.files)]


def _safetensors(path: str, name: str) -> Any:  # noqa: ANN401
    from safetensors import safe_open  # noqa: PLC0415  (an extra)

    with safe_open(path, framework="np") as held:
        return held.get_tensor(_known(path, name, list(held.keys())))


def _known(path: str, name: str, names: list[str]) -> str:
    if name not in names:
        raise WorkloadError(f"it has no array {name}", where=path, fix=nearest(name, names))
    return name


_READERS: Mapping[str, Callable[[str, str], Any]] = {".npz": _npz, ".safetensors": _safetensors}
