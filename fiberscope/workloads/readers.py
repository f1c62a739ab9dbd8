"""Readers of matrix files: MatrixMarket, SNAP edge lists, FROSTT, binary formats; plain or gzip.

All suffixes but ``.npz``, ``.npy`` and ``.mat`` may be followed by ``.gz``:

- ``.mtx``, ``.ttx``: MatrixMarket; see ``fiberscope.workloads.matrixmarket``.
- ``.npz``, ``.npy``, ``.mat``: ``scipy.sparse.save_npz``, ``numpy.save``, MATLAB; see
  ``fiberscope.workloads.binary``.
- ``.smtx``: a pattern of the Deep Learning Matrix Collection; see ``fiberscope.workloads.smtx``.
- ``.txt``, ``.el``, ``.wel``, ``.edges``, ``.edgelist``, ``.tsv``: an edge list as in SNAP: ``#`` or
  ``%`` comments, then ``from to`` or ``from to weight``, separated by blanks or commas. Nodes count from
  0. The matrix is square, of the largest node + 1. networkx writes ``{}`` or ``{'weight': 3}`` as the
  weight.
- ``.tns``: FROSTT with two indices in a line, counted from 1. The shape is the largest index of each
  rank, or the shape of a header, see ``fiberscope.workloads.tns_header``.
- ``.gr``, ``.graph``, ``.sg``, ``.wsg``: see ``fiberscope.workloads.graph_files``.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import BinaryIO

from fiberscope.workloads.array_file import refuse_unnamed
from fiberscope.workloads.binary import read_binary
from fiberscope.workloads.canonical import CsrArray, Duplicates, check_shape, from_coordinates
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.foreign_content import BEGINNING
from fiberscope.workloads.gathering import Entries, gather
from fiberscope.workloads.graph_files import is_konect, read_dimacs, read_konect, read_metis, read_serialized
from fiberscope.workloads.market_header import is_market
from fiberscope.workloads.matrixmarket import read_matrix_market
from fiberscope.workloads.smtx import read_smtx
from fiberscope.workloads.suffixes import EDGE_SUFFIXES, GRAPH_SUFFIXES, MAGIC, SUFFIXES, suffix_of
from fiberscope.workloads.text import Grammar, first_entry, open_text, read_line, scan
from fiberscope.workloads.tns_header import read_header

_COMMENTS = "#%"
_COMMA = re.compile(rb"(?<=[^\s,])[ \t]*,[ \t]*(?=[^\s,])")  # a comma between two fields
# The attributes of an edge, as networkx writes them: {}, or a dict whose weight the group captures.
_ATTRIBUTES = re.compile(
    rb"[ \t]*\{(?:(?:[^{}\r\n]*, )?'weight': ([-+.\deE]+)(?:, [^{}\r\n]*)?)?\}(?=[ \t\r]*$)", re.MULTILINE
)


def read_matrix(path: str | os.PathLike[str], duplicates: Duplicates = "sum") -> CsrArray:
    """Read the matrix of a file, as CSR with float64 values and int64, sorted indices.

    Entries at the same position are added (``sum``), kept (``keep``) or reduced to the smallest (``least``).
    Binary files, ``.smtx``, serialized graphs (``.sg``, ``.wsg``), and vectors and tensors of MatrixMarket
    ignore ``duplicates``. With ``keep``, duplicates make the matrix not canonical. Explicit zeros stay as
    stored nonzeros, except in dense arrays: a MatrixMarket *array* file, ``.npy``, a dense matrix of MATLAB,
    or diagonals (DIA) in ``.npz``. gzip is detected by content. The format is the first that applies:
    MatrixMarket (content, or ``.mtx``, ``.ttx``); KONECT (content) or another graph (suffix); zip, NumPy or
    MATLAB (content); the suffix, listed in ``fiberscope.workloads.readers``.

    Args:
        path: the file; ``-`` is standard input.
        duplicates: treatment of entries at the same position.

    Raises:
        WorkloadError: for any fault; the message names the file and, if known, the line.
    """
    location = os.fspath(path)
    file = Path(path)
    with open_text(file, location) as stream:
        beginning = stream.read(BEGINNING)
        stream.seek(0)
        if not beginning:
            raise WorkloadError("the file is empty", location=location)
        suffix = suffix_of(file)
        if is_market(beginning) or suffix in (".mtx", ".ttx"):
            return read_matrix_market(stream, location, duplicates)
        if is_konect(beginning) or suffix in GRAPH_SUFFIXES:
            return _read_graph(stream, "" if is_konect(beginning) else suffix, location, duplicates)
        binary = next((kind for magic, kind in MAGIC.items() if beginning.startswith(magic)), suffix)
        if binary in MAGIC.values():
            return read_binary(stream, binary, location)
        if suffix == ".smtx":
            return read_smtx(stream, location)
        if suffix == ".tns":
            return _read_tns(stream, location, duplicates)
        if suffix in EDGE_SUFFIXES:
            return _read_edges(stream, location, duplicates)
    raise _unknown_format(suffix, location)


def _unknown_format(suffix: str, location: str) -> WorkloadError:
    """Return the error for a file whose format neither its content nor its suffix shows."""
    refuse_unnamed(location)
    if suffix == ".csv":
        fault = "comma-separated text, which may be a matrix or an edge list"
        fix = "rename an edge list to .edges, or save a matrix by numpy.save"
        return WorkloadError(fault, location=location, fix=fix)
    suffixes = ", ".join(suffix for suffix in SUFFIXES if not suffix.endswith(".gz"))
    fix = f"known: {suffixes}; those of text also with .gz"
    return WorkloadError("neither its content nor its name tells a format", location=location, fix=fix)


def _read_graph(stream: BinaryIO, suffix: str, location: str, duplicates: Duplicates) -> CsrArray:
    """Read a graph in the format of ``suffix``, one of ``GRAPH_SUFFIXES``; an empty text means KONECT."""
    if not suffix:
        return read_konect(stream, location, duplicates)
    if suffix == ".gr":
        return read_dimacs(stream, location, duplicates)
    if suffix == ".graph":
        return read_metis(stream, location, duplicates)
    return read_serialized(stream, suffix == ".wsg", location)


def _read_edges(stream: BinaryIO, location: str, duplicates: Duplicates) -> CsrArray:
    """Read an edge list, with or without weights."""
    first_line, field_count = first_entry(stream, location)
    line = _read_line_at(stream, location, first_line)
    if b"," in line or b"{" in line:  # the first entry shows the form of all entries
        stream = _normalize_edges(stream, location)
        first_line, field_count = first_entry(stream, location)
    if field_count not in (2, 3):
        fault = f"{field_count} columns; an edge list has <from> <to> or <from> <to> <weight>"
        raise WorkloadError(fault, location=location, line=first_line)
    grammar = Grammar(["index", "index", "real"][:field_count], _COMMENTS)
    entries = gather(scan(stream, grammar, location), location)
    size = 1 + int(max(entries.rows.max(), entries.cols.max()))
    fix = "the largest node sets the size: number the nodes from 0 without gaps"
    return _build_matrix(entries, (size, size), location, duplicates, fix)


def _read_line_at(stream: BinaryIO, location: str, number: int) -> bytes:
    """Return a line by its number, counted from 1, and rewind the stream."""
    for skipped in range(1, number):
        read_line(stream, _COMMENTS.encode(), location, skipped)
    line = read_line(stream, _COMMENTS.encode(), location, number)
    stream.seek(0)
    return line


def _normalize_edges(stream: BinaryIO, location: str) -> BinaryIO:
    """Return an edge list with blanks for commas, and plain weights for the attributes of networkx.

    Raises:
        WorkloadError: an edge has attributes without a weight.
    """
    text = _ATTRIBUTES.sub(rb" \1", stream.read())  # what still has a brace has attributes, and no weight
    for number, line in enumerate(text.splitlines(), start=1) if b"{" in text else ():
        if b"{" in line and not line.lstrip().startswith((b"#", b"%")):
            raise WorkloadError(
                "an edge has attributes but no 'weight'",
                location=location,
                line=number,
                fix="write the list by networkx.write_weighted_edgelist",
            )
    return io.BytesIO(_COMMA.sub(b" ", text))


def _read_tns(stream: BinaryIO, location: str, duplicates: Duplicates) -> CsrArray:
    header = read_header(stream, location)
    if header.rank != 2:
        fault = f"a tensor of rank {header.rank}; only rank 2 is a matrix (<row> <column> <value>)"
        raise WorkloadError(fault, location=location, line=header.first)
    grammar = Grammar(["index", "index", "real"], _COMMENTS)
    entries = gather(scan(stream, grammar, location, header.lines + 1), location, base=1)
    sizes = [1 + int(numbers.max(initial=-1)) for numbers in (entries.rows, entries.cols)]
    rows, columns = header.check(sizes, len(entries.values), location)
    return _build_matrix(
        entries, (rows, columns), location, duplicates, "the largest index of each mode sets the shape"
    )


def _build_matrix(
    entries: Entries, shape: tuple[int, int], location: str, duplicates: Duplicates, fix: str
) -> CsrArray:
    check_shape(*shape, len(entries.values), location, fix=fix)
    return from_coordinates(entries.rows, entries.cols, entries.values, shape, location, duplicates)
