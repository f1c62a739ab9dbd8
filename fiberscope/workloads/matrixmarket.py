"""MatrixMarket files: coordinate and array; pattern, integer, real; general, symmetric, skew-symmetric.

The format: R. F. Boisvert, R. Pozo, K. A. Remington, "The Matrix Market Exchange Formats: Initial Design",
NISTIR 5935, 1996.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from fiberscope.workloads.canonical import (
    Coordinates,
    CsrArray,
    Duplicates,
    Values,
    check_shape,
    from_coordinates,
)
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.gathering import Entries, gather
from fiberscope.workloads.text import Grammar, read_line, scan

__all__ = ["BANNER", "read_matrix_market"]

BANNER = b"%%matrixmarket"
_FIELDS = ("pattern", "integer", "real")
_SAME_FIELDS = {"double": "real", "unsigned-integer": "integer", "int": "integer"}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


@dataclass(frozen=True)
class _Header:
    layout: str
    field: str
    symmetry: str
    rows: int
    cols: int
    entries: int
    line: int  # of the size line

    @property
    def words(self) -> list[str]:
        if self.layout == "array":
            return ["real" if self.field == "real" else "integer"]
        return ["index", "index"] + ([] if self.field == "pattern" else [self.field])


def read_matrix_market(stream: BinaryIO, where: str, duplicates: Duplicates = "sum") -> CsrArray:
    """The matrix of a MatrixMarket ``stream``; the zeros of an array file are not stored.

    Raises:
        WorkloadError: with the line number: banner, size line, an entry, too few or too many entries.
    """
    header = _read_header(stream, where)
    _check_room(stream, header, where)
    grammar = Grammar(header.words, "%")
    blocks = scan(stream, grammar, where, header.line + 1)
    if header.layout == "array":
        values = gather(blocks, where, header.entries).values
        entries = _dense_coordinates(header, values)
    else:
        entries = gather(blocks, where, header.entries, (header.rows, header.cols), base=1)
    rows, cols, values = _mirrored(header, entries, where)
    return from_coordinates(rows, cols, values, (header.rows, header.cols), where, duplicates)


def _read_header(stream: BinaryIO, where: str) -> _Header:
    layout, field, symmetry = _read_banner(stream, where)
    line, text = 1, b"%"
    while not text.strip() or text.lstrip().startswith(b"%"):
        line += 1
        text = read_line(stream, b"%", where, line)
        if not text:
            raise WorkloadError("the file ends before its size line", where=where, line=line)
    wanted = 3 if layout == "coordinate" else 2
    words = text.split()
    if len(words) != wanted or not all(word.isdigit() and len(word) < 20 for word in words):
        shown = repr(text[:60].strip().decode("utf-8", "backslashreplace"))
        form = "<rows> <columns> <entries>" if wanted == 3 else "<rows> <columns>"
        raise WorkloadError(f"bad size line {shown}; it is {form}", where=where, line=line)
    rows, cols = int(words[0]), int(words[1])
    entries = int(words[2]) if wanted == 3 else _dense_entries(rows, cols, symmetry)
    check_shape(rows, cols, entries, where, line)
    if symmetry != "general" and rows != cols:
        raise WorkloadError(
            f"a {symmetry} matrix of {rows} x {cols}; it must be square", where=where, line=line
        )
    return _Header(layout, field, symmetry, rows, cols, entries, line)


def _read_banner(stream: BinaryIO, where: str) -> tuple[str, str, str]:
    words = stream.readline(1024).decode("utf-8", "backslashreplace").lower().split()
    if len(words) != 5 or words[0].encode() != BANNER or words[1] != "matrix":
        form = "%%MatrixMarket matrix <coordinate or array> <field> <symmetry>"
        raise WorkloadError(f"bad banner; the first line is {form}", where=where, line=1)
    layout, field, symmetry = words[2:]
    fields = _FIELDS if layout == "coordinate" else _FIELDS[1:]
    field = "real" if field == "double" else field
    for name, word, known in (
        ("layout", layout, ("coordinate", "array")),
        ("field", field, fields),
        ("symmetry", symmetry, _SYMMETRIES),
    ):
        if word not in known:
            what = f"the {name} {word!r} is not supported"
            raise WorkloadError(what, where=where, line=1, fix="one of " + ", ".join(known))
    return layout, field, symmetry


def _check_room(stream: BinaryIO, header: _Header, where: str) -> None:
    """Refuse at once a plain file too short for what it declares; a gzip file is read to see."""
    if not hasattr(stream, "raw"):
        return
    left = os.fstat(stream.fileno()).st_size - stream.tell() + 1
    room = left // (2 * len(header.words))
    if header.entries > room:
        what = f"declares {header.entries} entries, and the file has room for at most {room}"
        raise WorkloadError(what, where=where, line=header.line)


def _dense_entries(rows: int, cols: int, symmetry: str) -> int:
    if symmetry == "general":
        return rows * cols
    return rows * (rows + 1) // 2 if symmetry == "symmetric" else rows * (rows - 1) // 2


def _dense_coordinates(header: _Header, values: Values) -> Entries:
    """An array file goes down the columns; a symmetric one holds the lower triangle only."""
    places = np.flatnonzero(values)
    if header.symmetry == "general":
        return Entries(places % header.rows, places // header.rows, values[places])
    skew = header.symmetry == "skew-symmetric"
    lengths = np.arange(header.cols, 0, -1, dtype=np.int64) - skew
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    cols = np.searchsorted(starts, places, side="right") - 1
    return Entries(cols + places - starts[cols] + skew, cols, values[places])


def _mirrored(header: _Header, entries: Entries, where: str) -> tuple[Coordinates, Coordinates, Values]:
    rows, cols, values = entries.rows, entries.cols, entries.values
    if header.symmetry == "general":
        return rows, cols, values
    if np.any(rows < cols) and np.any(rows > cols):
        what = f"entries on both sides of the diagonal of a {header.symmetry} matrix"
        raise WorkloadError(what, where=where, fix="store one triangle, or say general")
    off = rows != cols
    sign = -1.0 if header.symmetry == "skew-symmetric" else 1.0
    if sign < 0 and np.any(values[~off]):
        raise WorkloadError("a nonzero on the diagonal of a skew-symmetric matrix", where=where)
    return (
        np.concatenate([rows, cols[off]]),
        np.concatenate([cols, rows[off]]),
        np.concatenate([values, sign * values[off]]),
    )
