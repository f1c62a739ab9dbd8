"""Matrices that libraries wrote: scipy's ``.npz``, numpy's ``.npy``, MATLAB's ``.mat``."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

import numpy as np

from fiberscope.workloads.canonical import CsrArray, canonical
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.sparse import sparse
from fiberscope.workloads.suffixes import MATLAB
from fiberscope.workloads.unpacked import check_deflated, check_members

__all__ = ["read_binary"]

_MATLAB_HEADER = 128  # bytes; the last two tell the order of bytes
_MATLAB_COMPRESSED = 15  # the type of an element that is a stream of zlib
_COLLECTION = "Problem"  # SuiteSparse keeps its matrix as field A of a structure of this name


def read_binary(stream: BinaryIO, suffix: str, where: str) -> CsrArray:
    """The matrix of a file of one of the three formats; the zeros of a dense one are not stored.

    Args:
        stream: the file, at its beginning.
        suffix: which format: ``.npz``, ``.npy`` or ``.mat``.
        where: the file's name, for errors.

    Raises:
        WorkloadError: damaged, not two-dimensional, not real numbers, or not one matrix.
    """
    read, writer = _READERS[suffix]
    try:
        matrix = read(stream, where)
        if getattr(matrix, "format", "") in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
    except WorkloadError:
        raise
    except Exception as error:  # damage shows in a dozen ways inside zipfile, numpy and scipy
        raise WorkloadError(
            f"not a matrix of {writer} ({type(error).__name__}: {error})", where=where
        ) from error
    if matrix.ndim == 1:  # a vector is a column
        matrix = matrix.reshape(-1, 1)
    if matrix.ndim != 2:
        raise WorkloadError(f"a tensor of rank {matrix.ndim}; a matrix has rank 2", where=where)
    if matrix.dtype.kind not in "biuf":
        raise WorkloadError(f"values of type {matrix.dtype}; they must be real numbers", where=where)
    return canonical(matrix if sparse.issparse(matrix) else sparse.coo_array(matrix), where)


def _npz(stream: BinaryIO, where: str) -> Any:  # noqa: ANN401 - scipy's formats have no common public type
    with zipfile.ZipFile(stream) as members:
        check_members(members, where)
        if (bad := members.testzip()) is not None:
            raise WorkloadError(f"the member {bad} of the .npz file is damaged", where=where)
        names = [name.removesuffix(".npy") for name in members.namelist()]
        if "format" not in names:
            fix = f"name one of its arrays: {', '.join(f'{where}:{name}' for name in names) or 'it has none'}"
            raise WorkloadError("no sparse matrix of scipy.sparse.save_npz", where=where, fix=fix)
    stream.seek(0)
    return sparse.load_npz(stream)


def _npy(stream: BinaryIO, _where: str) -> Any:  # noqa: ANN401
    return np.load(stream, allow_pickle=False)


def _mat(stream: BinaryIO, where: str) -> Any:  # noqa: ANN401
    if not stream.read(len(MATLAB)).startswith(MATLAB):  # an older one says nothing by which to know it
        raise WorkloadError("not a file of MATLAB version 5 to 7.2", where=where)
    check_deflated(_compressed(stream), stream.seek(0, os.SEEK_END), where)
    stream.seek(0)
    from scipy.io import loadmat  # noqa: PLC0415 - it brings scipy.linalg, which nothing else needs

    held = loadmat(cast(Any, stream))
    if _COLLECTION in held:
        held = {"A": held[_COLLECTION]["A"][0, 0]}
    matrices = {
        name: value for name, value in held.items() if not name.startswith("__") and hasattr(value, "ndim")
    }
    if len(matrices) != 1:
        raise WorkloadError(
            f"it holds {len(matrices)} matrices ({', '.join(matrices) or 'none'}); one is needed", where=where
        )
    return next(iter(matrices.values()))


def _compressed(stream: BinaryIO) -> Iterator[bytes]:
    """The compressed elements of a file of MATLAB's, each a stream of zlib."""
    stream.seek(_MATLAB_HEADER - 2)
    tag = struct.Struct("<II" if stream.read(2) == b"IM" else ">II")
    while len(begin := stream.read(tag.size)) == tag.size:
        kind, size = tag.unpack(begin)
        if kind == _MATLAB_COMPRESSED:
            yield stream.read(size)
        else:
            stream.seek(size, os.SEEK_CUR)


_READERS: dict[str, tuple[Callable[[BinaryIO, str], Any], str]] = {
    ".npz": (_npz, "scipy.sparse.save_npz"),
    ".npy": (_npy, "numpy.save"),
    ".mat": (_mat, "MATLAB version 5 to 7.2"),
}
