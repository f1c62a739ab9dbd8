"""Arrays of any rank that libraries wrote: of numpy, of the library sparse, and weights of networks.

Of a file of several one is named behind the file: ``net.npz:fc1``.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fiberscope.workloads.errors import WorkloadError, nearest
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.unpacked import check_members

__all__ = ["array_in", "named_array", "read_array"]

_NAMED = re.compile(r"(?P<file>.+\.(?:npz|safetensors)):(?P<array>[^:]+)", re.IGNORECASE)
_SCIPY = "format"  # the array that tells its files from those of others
_LIBRARY_SPARSE = {"data", "coords", "shape"}


def named_array(text: str) -> tuple[str, str] | None:
    """File and array of a text such as ``net.npz:fc1``; None of another text, and of a file of that name."""
    match = _NAMED.fullmatch(text)
    if match is None or Path(text).exists():
        return None
    return match["file"], match["array"]


def read_array(path: str, name: str) -> SparseTensor:
    """An array of a file of several. Zeros are not stored.

    Raises:
        WorkloadError: the file cannot be read, has no such array, or its values are no real numbers.
    """
    where = f"{path}:{name}"
    array = _read(_READERS[Path(path).suffix.lower()], path, name)
    if array.ndim == 0:
        raise WorkloadError("a single number; a matrix is needed", where=where)
    return SparseTensor.from_array(array, where)


def array_in(path: str) -> SparseTensor | None:
    """What a file ``.npy`` or ``.npz`` holds, if it is no matrix of scipy's; None of any other file.

    Raises:
        WorkloadError: it cannot be read, or does not say which of its arrays is the tensor.
    """
    if not path.lower().endswith((".npy", ".npz")):
        return None
    arrays = _read(_arrays, path)
    if _SCIPY in arrays:
        return None
    if set(arrays) >= _LIBRARY_SPARSE:
        shape = tuple(int(size) for size in arrays["shape"])
        return SparseTensor.from_coordinates(shape, list(arrays["coords"]), arrays["data"].astype(np.float64))
    if len(arrays) != 1:
        named = ", ".join(f"{path}:{name}" for name in sorted(arrays)) or "it has none"
        fix = f"name one of its arrays: {named}"
        raise WorkloadError(f"{len(arrays)} arrays, and a tensor is one", where=path, fix=fix)
    return SparseTensor.from_array(next(iter(arrays.values())), path)


def _read(reader: Callable[..., Any], path: str, *name: str) -> Any:  # noqa: ANN401
    try:
        return reader(path, *name)
    except (WorkloadError, ModuleNotFoundError):
        raise
    except Exception as error:  # damage shows in a dozen ways inside zipfile, numpy and safetensors
        raise WorkloadError(f"cannot be read ({type(error).__name__}: {error})", where=path) from error


def _arrays(path: str) -> Mapping[str, Any]:
    """The arrays of a file of numpy's by name; the one of ``.npy`` has none."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as members:
            check_members(members, path)
    loaded = np.load(path, allow_pickle=False)
    return {name: loaded[name] for name in loaded.files} if hasattr(loaded, "files") else {"": loaded}


def _npz(path: str, name: str) -> Any:  # noqa: ANN401
    arrays = _arrays(path)
    return arrays[_known(path, name, list(arrays))]


def _safetensors(path: str, name: str) -> Any:  # noqa: ANN401
    from safetensors import safe_open  # noqa: PLC0415  (an extra)

    with safe_open(path, framework="np") as held:
        return held.get_tensor(_known(path, name, list(held.keys())))


def _known(path: str, name: str, names: list[str]) -> str:
    if name not in names:
        raise WorkloadError(f"it has no array {name}", where=path, fix=nearest(name, names))
    return name


_READERS: Mapping[str, Callable[[str, str], Any]] = {".npz": _npz, ".safetensors": _safetensors}
