"""Arrays of any rank in files of numpy, the library sparse, MATLAB, and neural network weights.

A file with several arrays needs the name of an array: ``net.npz:fc1``.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fiberscope.workloads.binary import read_matlab_variable
from fiberscope.workloads.decompression_limit import check_members
from fiberscope.workloads.errors import WorkloadError, suggest
from fiberscope.workloads.foreign_content import check_file
from fiberscope.workloads.narrow_floats import NARROW, decode_narrow
from fiberscope.workloads.sparse_layouts import decode, layout_of
from fiberscope.workloads.tensor import SparseTensor

MAX_NAMES = 10  # arrays in a message

_WIDE = ("F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL")
_NAMED = re.compile(r"\.(?:npz|safetensors|mat):(?=.)", re.IGNORECASE | re.DOTALL)


def parse_named_array(text: str) -> tuple[str, str] | None:
    """Return the file and the array of a text such as ``net.npz:fc1``; None for any other text.

    The text of an existing file name is never split. Array names may contain colons, such as
    ``tf.npz:dense/kernel:0``: the split is after the first existing file. If no file exists, the split
    is at the first colon after a known ending.
    """
    colons = [match.end() - 1 for match in _NAMED.finditer(text) if match.start() > 0]
    if not colons or Path(text).exists():
        return None
    colon = next((colon for colon in colons if Path(text[:colon]).is_file()), colons[0])
    return text[:colon], text[colon + 1 :]


def read_array(path: str, name: str) -> SparseTensor:
    """Read a named array of a file. Zeros are not stored.

    Args:
        path: a file that ends in ``.npz``, ``.safetensors`` or ``.mat``; see ``parse_named_array``.
        name: name of the array.

    Raises:
        WorkloadError: the file cannot be read, has no such array, or the values are no real numbers.
        ModuleNotFoundError: the library of ``.safetensors`` files, an extra, is not installed.
    """
    location = f"{path}:{name}"
    if path.lower().endswith(".mat"):
        matrix: SparseTensor = _read(read_matlab_variable, path, name)
        return matrix
    array = _read(_READERS[Path(path).suffix.lower()], path, name)
    if array.ndim == 0:
        raise WorkloadError("a single number; a matrix is needed", location=location)
    return SparseTensor.from_array(array, location)


def refuse_unnamed(path: str) -> None:
    """Refuse a weights file without the name of an array. Other files pass.

    Raises:
        WorkloadError: naming the first arrays.
    """
    if not path.lower().endswith(".safetensors"):
        return
    names = sorted(_read(_list_safetensors_names, path))
    remainder = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    listed_names = ", ".join(f"{path}:{name}" for name in names[:MAX_NAMES]) or "it has none"
    raise WorkloadError(
        f"a file of {len(names)} arrays",
        location=path,
        fix=f"name one of its arrays: {listed_names}{remainder}",
    )


def read_stored_array(path: str) -> SparseTensor | None:
    """Return the array of a ``.npy`` or ``.npz`` file that is no sparse matrix; None for any other file.

    Raises:
        WorkloadError: the file cannot be read, or has several arrays.
    """
    if not path.lower().endswith((".npy", ".npz")):
        return None
    arrays = _read(_load_arrays, path)
    layout = layout_of(arrays)
    if layout is not None:
        if "shape" in arrays and arrays["shape"].size == 2:
            return None  # a matrix: ``binary`` reads it
        content = decode(layout, arrays, path)
        return content if isinstance(content, SparseTensor) else None
    if len(arrays) != 1:
        listed_names = ", ".join(f"{path}:{name}" for name in sorted(arrays)) or "it has none"
        fix = f"name one of its arrays: {listed_names}"
        raise WorkloadError(f"{len(arrays)} arrays, and a tensor is one", location=path, fix=fix)
    return SparseTensor.from_array(next(iter(arrays.values())), path)


def _read(reader: Callable[..., Any], path: str, *name: str) -> Any:  # noqa: ANN401
    try:
        check_file(path)
        return reader(path, *name)
    except (WorkloadError, ModuleNotFoundError):
        raise
    except Exception as error:  # the libraries raise many types of errors for damaged files
        raise WorkloadError(f"cannot be read ({type(error).__name__}: {error})", location=path) from error


def _load_arrays(path: str) -> Mapping[str, Any]:
    """Return the arrays of a numpy file by name; the name of the array of a ``.npy`` file is empty."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as members:
            check_members(members, path)
    loaded = np.load(path, allow_pickle=False)
    return {name: loaded[name] for name in loaded.files} if hasattr(loaded, "files") else {"": loaded}


def _read_npz(path: str, name: str) -> Any:  # noqa: ANN401
    arrays = _load_arrays(path)
    return arrays[_check_array(path, name, list(arrays))]


def _read_safetensors(path: str, name: str) -> Any:  # noqa: ANN401
    """Return an array of a file of neural network weights; narrow floating-point types become doubles."""

    from safetensors import safe_open  # noqa: PLC0415  (an extra)

    with safe_open(path, framework="np") as arrays_file:
        _check_array(path, name, list(arrays_file.keys()))
        stored = arrays_file.get_slice(name)
        kind = str(stored.get_dtype())
        if kind in NARROW:
            return decode_narrow(kind, _read_raw_bytes(path, name)).reshape(stored.get_shape())
        if kind not in _WIDE:
            type_names = ", ".join([*_WIDE, *NARROW])
            raise WorkloadError(
                f"values of type {kind}", location=f"{path}:{name}", fix=f"known: {type_names}"
            )
        return arrays_file.get_tensor(name)


def _list_safetensors_names(path: str) -> list[str]:
    from safetensors import safe_open  # noqa: PLC0415  (an extra)

    with safe_open(path, framework="np") as arrays_file:
        return list(arrays_file.keys())


def _read_raw_bytes(path: str, name: str) -> bytes:
    """Return the bytes of an array in a file whose header is valid."""
    with Path(path).open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        first, last = json.loads(file.read(length))[name]["data_offsets"]
        file.seek(8 + length + first)
        return file.read(last - first)


def _check_array(path: str, name: str, names: list[str]) -> str:
    if name not in names:
        raise WorkloadError(f"it has no array {name}", location=path, fix=suggest(name, names))
    return name


_READERS: Mapping[str, Callable[[str, str], Any]] = {".npz": _read_npz, ".safetensors": _read_safetensors}
