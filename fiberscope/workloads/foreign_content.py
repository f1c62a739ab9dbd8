"""Detection of content that no reader accepts: Git LFS pointers, web pages, archives, other formats."""

from __future__ import annotations

import re
from pathlib import Path

from fiberscope.workloads.errors import WorkloadError

BEGINNING = 512  # bytes of a file that are inspected; one block of a tar archive, with its signature
_EDGE_LIST = "convert it to an edge list, <from> <to> in a line"
# By the regular expression of a beginning: what the content is, and what to do. The first match counts, so
# that GraphML and GEXF come before other XML.
_BEGINNINGS = {
    rb"version https://git-lfs\.github\.com/": (
        "a pointer of Git LFS, not the file itself",
        "fetch it by git lfs pull",
    ),
    rb"<!doctype|<html": ("a web page, not a matrix", "download the file itself"),
    rb"<\?xml.*<graphml": ("a graph in GraphML", _EDGE_LIST),
    rb"<\?xml.*<gexf": ("a graph of Gephi (GEXF)", _EDGE_LIST),
    rb"<\?xml": ("an XML document, perhaps a server's error, not a matrix", "download the file itself"),
    rb"\x89hdf\r\n": ("an HDF5 file", "save it as .npz, .mtx, or .mat of version 7"),
    rb"matlab 7\.3 mat": ("a file of MATLAB version 7.3, which is HDF5", "save it with -v7"),
    rb"\xff\xfe|\xfe\xff": ("text in UTF-16", "save it as UTF-8"),
    rb"(?:weighted)?adjacencygraph": ("a graph of Ligra", _EDGE_LIST),
    rb"\*(?:vertices|network)\b": ("a graph of Pajek", _EDGE_LIST),
    rb"(?:(?:creator|version|#)[^\n]*\n\s*)*graph\s*\[": ("a graph in GML", _EDGE_LIST),
    rb"(?:strict\s+)?(?:di)?graph\b[^{\[\n]*\{": ("a graph of Graphviz (DOT)", _EDGE_LIST),
    rb"(?:c\b[^\n]*\n)*p\s+(?:edge|col)\s": ("a graph of DIMACS for colouring", "convert it to a .gr file"),
    rb"\x80[\x02-\x05]": ("a pickle of Python", "save it by scipy.sparse.save_npz or numpy.save"),
    rb"par1": ("an Apache Parquet table", _EDGE_LIST),
    rb"bzh": ("a bzip2 archive", "unpack it first, or pack it by gzip"),
    rb"\xfd7zxz": ("an xz archive", "unpack it first, or pack it by gzip"),
    rb"\x28\xb5\x2f\xfd": ("a zstd archive", "unpack it first, or pack it by gzip"),
    rb"(?:[^\n]*\n){1,2}[rpci][suhzr][ae][ \t]+\d+[ \t]+\d+[ \t]+\d+[ \t]+\d+": (
        "a matrix in Harwell-Boeing or Rutherford-Boeing form",
        "take its MatrixMarket file, or save it as .mtx",
    ),
}
_FOREIGN = [(re.compile(mark, re.IGNORECASE | re.DOTALL), *reason) for mark, reason in _BEGINNINGS.items()]
_ARCHIVE, _TAR = 257, b"ustar"  # position and signature of a tar archive


def check_content(beginning: bytes, location: str) -> None:
    """Refuse content in a known foreign format, and accept any other.

    The beginning may have a byte order mark of UTF-8 and white space before it. Case is ignored.

    Args:
        beginning: the first ``BEGINNING`` bytes of a file.
        location: name of the file, for errors.

    Raises:
        WorkloadError: a Git LFS pointer, a web page, an archive, or a format of matrices or graphs without
            a reader.
    """
    text = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()
    for mark, fault, fix in _FOREIGN:
        if mark.match(text):
            raise WorkloadError(fault, location=location, fix=fix)
    # from the first byte of the file: the position of the signature is absolute
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
