"""Tensors of any order that numpy or the library sparse saved; those of scipy ``workloads`` reads."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.unpacked import check_members

__all__ = ["array_in"]

SCIPY = "format"  # the array that tells its files from those of others


def array_in(text: str) -> SparseTensor | npt.NDArray[Any] | None:
    """What a file ``.npy`` or ``.npz`` holds, if it is no matrix of scipy's; None of any other file.

    Raises:
        WorkloadError: it cannot be read, or does not say which of its arrays is the tensor.
    """
    if not text.lower().endswith((".npy", ".npz")):
        return None
    try:
        if zipfile.is_zipfile(text):
            with zipfile.ZipFile(text) as members:
                check_members(members, text)
        loaded = np.load(Path(text), allow_pickle=False)
        arrays = {name: loaded[name] for name in loaded.files} if hasattr(loaded, "files") else {"": loaded}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise WorkloadError("cannot be read as an array of numpy", where=text) from error
    if SCIPY in arrays:
        return None
    if {"data", "coords", "shape"} <= set(arrays):
        shape = tuple(int(size) for size in arrays["shape"])
        return SparseTensor.from_coordinates(shape, list(arrays["coords"]), arrays["data"].astype(np.float64))
    if len(arrays) != 1:
        names = ", ".join(sorted(arrays))
        raise WorkloadError(f"{len(arrays)} arrays ({names}), and a tensor is one", where=text)
    return np.asarray(next(iter(arrays.values())))
