"""Detection of files whose content contradicts their name: Git LFS pointers, web pages, archives."""

from __future__ import annotations

import re
from pathlib import Path

from fiberscope.workloads.errors import WorkloadError

BEGINNING = 512  # bytes of a file that are inspected
_FOREIGN = {
    b"version https://git-lfs.github.com/": (
        "a pointer of Git LFS, not the file itself",
        "fetch it by git lfs pull",
    ),
    b"<!doctype": ("a web page, not a matrix", "download the file itself"),
    b"<html": ("a web page, not a matrix", "download the file itself"),
    b"<?xml": ("an XML document, perhaps a server's error, not a matrix", "download the file itself"),
    b"\x89hdf\r\n": ("an HDF5 file", "save it as .npz, .mtx, or .mat of version 7"),
    b"matlab 7.3 mat": ("a file of MATLAB version 7.3, which is HDF5", "save it with -v7"),
    b"\xff\xfe": ("text in UTF-16", "save it as UTF-8"),
    b"\xfe\xff": ("text in UTF-16", "save it as UTF-8"),
    b"adjacencygraph": ("a graph of Ligra", "convert it to an edge list"),
    b"weightedadjacencygraph": ("a graph of Ligra", "convert it to an edge list"),
    b"bzh": ("a bzip2 archive", "unpack it first, or pack it by gzip"),
    b"\xfd7zxz": ("an xz archive", "unpack it first, or pack it by gzip"),
    b"\x28\xb5\x2f\xfd": ("a zstd archive", "unpack it first, or pack it by gzip"),
}
_BOEING = re.compile(rb"^[RPCI][SUHZR][AE][ \t]+\d+[ \t]+\d+[ \t]+\d+[ \t]+\d+", re.MULTILINE | re.IGNORECASE)
_ARCHIVE, _TAR = 257, b"ustar"  # position and signature of a tar archive


def check_content(beginning: bytes, location: str) -> None:
    """Refuse content in a known foreign format.

    Args:
        beginning: the first ``BEGINNING`` bytes of a file.
        location: name of the file, for errors.

    Raises:
        WorkloadError: a Git LFS pointer, a web page, an HDF5 file, an archive, or an unsupported matrix
            format.
    """
    text = beginning.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for mark, (fault, fix) in _FOREIGN.items():
        if text.startswith(mark):
            raise WorkloadError(f"{fault}", location=location, fix=fix)
    if _BOEING.search(beginning):
        fault = "a matrix in Harwell-Boeing or Rutherford-Boeing form"
        raise WorkloadError(fault, location=location, fix="take its MatrixMarket file, or save it as .mtx")
    if beginning[_ARCHIVE : _ARCHIVE + len(_TAR)] == _TAR:
        raise WorkloadError("a tar archive", location=location, fix="unpack it, and name the matrix in it")


def check_file(path: str) -> None:
    """Refuse a file with foreign content.

    Raises:
        WorkloadError: see ``check_content``.
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as file:
        check_content(file.read(BEGINNING), path)
