"""Matrices in binary formats: ``.npz`` of scipy, ``.npy`` of numpy, ``.mat`` of MATLAB."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fiberscope.workloads.canonical import CsrArray, check_shape
from fiberscope.workloads.decompression_limit import check_deflated, check_members
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.matlab_file import read_matlab
from fiberscope.workloads.sparse_layouts import SPARSE_ARRAYS, decode, layout_of
from fiberscope.workloads.suffixes import MATLAB
from fiberscope.workloads.tensor import SparseTensor

_MATLAB_HEADER = 128  # bytes; the last two are the byte order mark
_MATLAB_COMPRESSED = 15  # type of an element that is a zlib stream


def read_binary(stream: BinaryIO, suffix: str, location: str) -> CsrArray:
    """Read the matrix of a binary file. The zeros of a dense matrix are not stored.

    Args:
        stream: the file, at its beginning.
        suffix: the format: ``.npz``, ``.npy`` or ``.mat``.
        location: name of the file, for errors.

    Raises:
        WorkloadError: the file is damaged, not two-dimensional, not of real numbers, or not a single matrix.
    """
    read, writer = _READERS[suffix]
    try:
        content = read(stream, location)
    except WorkloadError:
        raise
    except Exception as error:  # many error types for damage
        raise WorkloadError(
            f"not a matrix of {writer} ({type(error).__name__}: {error})", location=location
        ) from error
    if not isinstance(content, SparseTensor):
        return content
    if content.order not in (1, 2):
        raise WorkloadError(f"a tensor of rank {content.order}; a matrix has rank 2", location=location)
    check_shape(content.shape[0], content.shape[-1], content.nonzeros, location)
    return content.unfolded(1).matrix() if content.order == 1 else content.matrix()  # vectors are columns


def _read_npz(stream: BinaryIO, location: str) -> CsrArray | SparseTensor:
    """Return the sparse matrix or tensor of a ``.npz`` file, after a check of its members."""
    with zipfile.ZipFile(stream) as members:
        names = members.namelist()
        if names and not any(name.endswith(".npy") for name in names):
            raise WorkloadError(
                "a zip archive", location=location, fix="unpack it, and name the matrix in it"
            )
        check_members(members, location)
        if (damaged_member := members.testzip()) is not None:
            raise WorkloadError(f"the member {damaged_member} of the .npz file is damaged", location=location)
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as loaded:
        names = list(loaded.files)
        arrays = {name: loaded[name] for name in names if name in SPARSE_ARRAYS}
    layout = layout_of(arrays)
    if layout is None:
        fix = f"name one of its arrays: {', '.join(f'{location}:{name}' for name in names) or 'it has none'}"
        raise WorkloadError("no sparse matrix of scipy.sparse.save_npz", location=location, fix=fix)
    return decode(layout, arrays, location)


def _read_npy(stream: BinaryIO, location: str) -> SparseTensor:
    return SparseTensor.from_array(np.load(stream, allow_pickle=False), location)


def read_matlab_variable(path: str, variable: str) -> SparseTensor:
    """Read a matrix of a MATLAB file by its name.

    Raises:
        WorkloadError: the file is damaged, or has no such matrix.
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as stream:
        content = _read_mat(stream, path, variable)
    return content if isinstance(content, SparseTensor) else SparseTensor.from_matrix(content)


def _read_mat(stream: BinaryIO, location: str, variable: str = "") -> CsrArray | SparseTensor:
    if not stream.read(len(MATLAB)).startswith(MATLAB):  # older versions have no signature
        raise WorkloadError("not a file of MATLAB version 5 to 7.2", location=location)
    check_deflated(_yield_compressed(stream), stream.seek(0, os.SEEK_END), location)
    stream.seek(0)
    arrays = read_matlab(stream, location, variable)
    layout = layout_of(arrays)
    return (
        SparseTensor.from_array(arrays["dense"], location)
        if layout is None
        else decode(layout, arrays, location)
    )


def _yield_compressed(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the compressed elements of a MATLAB file, each a zlib stream."""
    stream.seek(_MATLAB_HEADER - 2)
    # The writer stores the mark "MI" as a 16-bit number: reversed bytes mean little-endian
    tag = struct.Struct("<II" if stream.read(2) == b"IM" else ">II")
    while len(tag_bytes := stream.read(tag.size)) == tag.size:
        kind, size = tag.unpack(tag_bytes)
        if kind == _MATLAB_COMPRESSED:
            yield stream.read(size)
        else:
            stream.seek(size, os.SEEK_CUR)


_READERS: dict[str, tuple[Callable[[BinaryIO, str], CsrArray | SparseTensor], str]] = {
    ".npz": (_read_npz, "scipy.sparse.save_npz"),
    ".npy": (_read_npy, "numpy.save"),
    ".mat": (_read_mat, "MATLAB version 5 to 7.2"),
}
