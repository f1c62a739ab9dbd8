"""Readers of graphs as adjacency matrices: files of METIS, the DIMACS challenges, GAPBS and KONECT.

An edge from u to v with weight w is the entry (u, v) with value w, or 1 in a graph without weights. Sources:
METIS 5.1.0 manual, section 4.1.1; 9th DIMACS Implementation Challenge, "Shortest Paths"; S. Beamer, K.
Asanovic, D. Patterson, "The GAP Benchmark Suite", arXiv 1508.03619, and its reference code; J. Kunegis,
"KONECT: the Koblenz network collection", WWW 2013 Companion, and its handbook, section 9.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import BinaryIO, TypeAlias

import numpy as np

from fiberscope.workloads.array_checks import check_bounds, check_pointers
from fiberscope.workloads.canonical import (
    MAX_ROWS,
    CsrArray,
    Duplicates,
    canonicalize_in_place,
    check_shape,
    compressed,
    from_coordinates,
)
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.gathering import gather
from fiberscope.workloads.text import Grammar, first_entry, scan

_GALOIS = b"\x01\0\0\0\0\0\0\0"  # the version, in 64 bits
# Lines of DIMACS: p for the problem, c for a comment, a for an arc.
_PROBLEM = re.compile(rb"^p[ \t]+(\S+)[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*$", re.MULTILINE)
_OTHER_LINE = re.compile(rb"^(?![ \t\r]*$|c|p[ \t]|a[ \t])", re.MULTILINE)
_NOT_ARC = re.compile(rb"^[cp].*$", re.MULTILINE)
_ARC = re.compile(rb"^a(?=[ \t])", re.MULTILINE)
_KONECT = re.compile(
    rb"%[ \t]*(sym|asym|bip)[ \t]+[a-z]+[ \t\r]*\n"
    rb"(?:%[ \t]*\d+[ \t]+(\d{1,18})[ \t]+(\d{1,18}))?"  # edges, and the nodes of both sides
)
# The fourth column of an edge of KONECT; the group captures the first three.
_TIME = re.compile(rb"^([^%\r\n]\S*[ \t]+\S+[ \t]+\S+)[ \t]+[-+.\deE]+(?=[ \t\r]*$)", re.MULTILINE)
_MAX_DIGITS = 18  # every number of so many digits fits in 64 bits
_Line: TypeAlias = tuple[int, list[bytes]]  # line number, and the texts of the line's numbers
_SERIALIZED = np.dtype([("directed", "u1"), ("edges", "<i8"), ("nodes", "<i8")])


def read_dimacs(stream: BinaryIO, location: str, duplicates: Duplicates = "sum") -> CsrArray:
    """Read the directed, weighted graph of a ``.gr`` file of the DIMACS challenge on shortest paths.

    Args:
        stream: the file, at its beginning.
        location: name of the file, for errors.
        duplicates: treatment of arcs between the same nodes.

    Raises:
        WorkloadError: a binary graph of Galois, another problem than ``sp``, a malformed line, a wrong number
            of arcs, a node out of range, or an unrealistic shape.
    """
    text = stream.read()
    if text.startswith(_GALOIS):
        raise WorkloadError("a binary graph of Galois", location=location, fix="convert it to an edge list")
    problem = _PROBLEM.search(text)
    if problem is None or problem[1] != b"sp":
        line = _line_number(text, problem.start()) if problem else None
        raise WorkloadError(
            "no graph of DIMACS, which has a line p sp NODES ARCS", location=location, line=line
        )
    nodes, arcs = int(problem[2]), int(problem[3])
    check_shape(nodes, nodes, arcs, location)
    if (unknown := _OTHER_LINE.search(text)) is not None:
        line = _line_number(text, unknown.start())
        raise WorkloadError("a line of a graph of DIMACS begins with c, p or a", location=location, line=line)
    # What is left is a plain list of entries. No line is removed, so errors name the line of the file.
    stripped = io.BytesIO(_ARC.sub(b" ", _NOT_ARC.sub(b"", text)))
    blocks = scan(stripped, Grammar(["index", "index", "real"], "#"), location)
    entries = gather(blocks, location, declared=arcs, shape=(nodes, nodes), base=1)
    return from_coordinates(entries.rows, entries.cols, entries.values, (nodes, nodes), location, duplicates)


def _line_number(text: bytes, offset: int) -> int:
    return text.count(b"\n", 0, offset) + 1


def read_metis(stream: BinaryIO, location: str, duplicates: Duplicates = "sum") -> CsrArray:
    """Read the graph of a ``.graph`` file of METIS: one line for each vertex, with its 1-based neighbours.

    An undirected graph lists each edge at both vertices. A file with as many neighbours as declared edges is
    directed, as in GAPBS. Vertex sizes and weights are ignored.

    Args:
        stream: the file, at its beginning.
        location: name of the file, for errors.
        duplicates: treatment of edges between the same vertices.

    Raises:
        WorkloadError: with the line: a malformed number, a vertex out of range, a missing weight, or a wrong
            number of lines or edges.
    """
    lines = [
        (number, line.split())
        for number, line in enumerate(stream.read().removesuffix(b"\n").split(b"\n"), start=1)
        if not line.lstrip().startswith(b"%")
    ]
    if not lines:
        raise WorkloadError("no line with the number of vertices", location=location)
    (number, header), lines = lines[0], lines[1:]
    for line, texts in ((number, header), *lines):
        if texts and not (b"".join(texts).isdigit() and max(map(len, texts)) <= _MAX_DIGITS):
            raise WorkloadError("a word that is no whole number from 0 on", location=location, line=line)
    if len(header) not in (2, 3, 4):
        fault = f"{len(header)} words; the first line is VERTICES EDGES, perhaps with a format and weights"
        raise WorkloadError(fault, location=location, line=number)
    vertices, edges = int(header[0]), int(header[1])
    check_shape(vertices, vertices, 2 * edges, location, number)
    while len(lines) > vertices and not lines[-1][1]:  # empty lines at the end
        lines.pop()
    if len(lines) != vertices:
        extra = lines[vertices][0] if len(lines) > vertices else None
        raise WorkloadError(f"{len(lines)} lines for {vertices} vertices", location=location, line=extra)
    return _read_adjacency(
        lines, edges, *_find_line_layout(header[2:], lines, location, number), location, duplicates
    )


def _find_line_layout(
    options: Sequence[bytes], lines: Sequence[_Line], location: str, number: int
) -> tuple[int, int]:
    """Return how many numbers a line has before its neighbours, and how many for each neighbour.

    Args:
        options: the third and fourth number of the first line. The third has three digits: whether lines have
            a size, weights of the vertex, and weights of edges. The fourth is the number of weights of a
            vertex, 1 by default.
        lines: the lines of the vertices.
        location: name of the file, for errors.
        number: the first line's number, for errors.
    """
    layout = options[0].zfill(3) if options else b"000"
    if len(layout) != 3 or layout.strip(b"01"):
        fault = f"the format {options[0].decode()}; it has three digits, each 0 or 1"
        raise WorkloadError(fault, location=location, line=number)
    has_sizes, has_weights, has_edge_weights = (digit == ord("1") for digit in layout)
    if not all(texts for _number, texts in lines):  # a declared size would make every line nonempty
        has_sizes = False  # graphs of GAPBS declare sizes and have none
    weights = int(options[1]) if len(options) > 1 else 1
    return has_sizes + (weights if has_weights else 0), 1 + has_edge_weights


def _read_adjacency(
    lines: Sequence[_Line], edges: int, lead: int, width: int, location: str, duplicates: Duplicates
) -> CsrArray:
    """Return the matrix of lines with ``lead`` numbers, then ``width`` numbers for each neighbour."""
    vertices = len(lines)
    counts = np.array([len(texts) for _number, texts in lines]) - lead
    if (wrong := (counts < 0) | (counts % width != 0)).any():
        line, texts = lines[int(np.argmax(wrong))]
        fault = f"{len(texts)} words; there are {lead} of the vertex, then {width} a neighbour"
        raise WorkloadError(fault, location=location, line=line)
    neighbours = counts // width
    # ``edges`` neighbours: a directed graph of GAPBS; twice as many: each edge at both of its vertices
    if neighbours.sum() not in (edges, 2 * edges):
        fault = f"{neighbours.sum()} neighbours for {edges} edges; there should be {2 * edges}"
        raise WorkloadError(fault, location=location, fix="each edge stands at both of its vertices")
    text = b" ".join(number for _number, texts in lines for number in texts[lead:])
    table = np.fromstring(text, dtype=np.int64, sep=" ").reshape(-1, width) if text else np.empty((0, width))
    rows, columns = np.repeat(np.arange(vertices), neighbours), table[:, 0].astype(np.int64) - 1
    if (wrong := (columns < 0) | (columns >= vertices)).any():
        entry = int(np.argmax(wrong))
        fault = f"the neighbour {columns[entry] + 1} is outside 1 to {vertices}"
        raise WorkloadError(fault, location=location, line=lines[int(rows[entry])][0])
    values = table[:, 1].astype(np.float64) if width == 2 else np.ones(len(columns))
    return from_coordinates(rows, columns, values, (vertices, vertices), location, duplicates)


def read_serialized(stream: BinaryIO, weighted: bool, location: str) -> CsrArray:
    """Read a serialized graph of GAPBS: outgoing edges by node, then incoming edges, which are ignored.

    Args:
        stream: the file, at its beginning, in little-endian byte order.
        weighted: whether a weight follows each 32-bit neighbour (``.wsg``).
        location: name of the file, for errors.

    Raises:
        WorkloadError: the length contradicts the header, pointers fall, or a neighbour is out of range.
    """
    data = stream.read()
    if len(data) < _SERIALIZED.itemsize:
        raise WorkloadError("too short for a serialized graph of GAPBS", location=location)
    directed, edges, nodes = (int(number) for number in np.frombuffer(data, _SERIALIZED, 1)[0])
    # 64-bit pointers, then 32-bit neighbours, each followed by a 32-bit weight if there are weights
    edge_bytes = 8 * (nodes + 1) + 4 * (1 + weighted) * edges
    # a directed graph repeats both arrays for the incoming edges
    length = _SERIALIZED.itemsize + edge_bytes * (1 + directed)
    if directed > 1 or min(edges, nodes) < 0 or len(data) != length:
        fault = f"{len(data)} bytes; a graph of GAPBS with {nodes} nodes and {edges} edges has {length}"
        fix = "a graph with weights has the suffix .wsg, one without .sg"
        raise WorkloadError(fault, location=location, fix=fix)
    check_shape(nodes, nodes, edges, location)
    pointers = np.frombuffer(data, "<i8", nodes + 1, _SERIALIZED.itemsize).astype(np.int64)
    check_pointers(pointers, nodes, edges, location)
    table = np.frombuffer(data, "<i4", edges * (1 + weighted), _SERIALIZED.itemsize + 8 * (nodes + 1))
    columns = table[:: 1 + weighted].astype(np.int64)
    check_bounds(columns, nodes, "the neighbour", location)
    values = table[1::2].astype(np.float64) if weighted else np.ones(edges)
    return canonicalize_in_place(compressed((nodes, nodes), pointers, columns, values), location)


def is_konect(beginning: bytes) -> bool:
    """Return whether a file begins with the header of KONECT."""
    return _KONECT.match(beginning) is not None


def read_konect(stream: BinaryIO, location: str, duplicates: Duplicates = "sum") -> CsrArray:
    """Read a graph of KONECT: ``from to``, optionally a weight, optionally a time, which is ignored.

    Nodes count from 1. An undirected graph is symmetric. In a bipartite graph, the nodes of the right side
    are columns. Without sizes in the second line, the largest nodes determine the shape. The caller has
    checked the header with ``is_konect``.

    Args:
        stream: the file, at its beginning.
        location: name of the file, for errors.
        duplicates: treatment of edges between the same nodes.

    Raises:
        WorkloadError: with the line: a wrong number of columns, or a node out of range.
    """
    text = stream.read()
    header = _KONECT.match(text)
    assert header is not None  # by ``is_konect``
    line, columns_in_file = first_entry(io.BytesIO(text), location)
    if columns_in_file not in (2, 3, 4):
        fault = f"{columns_in_file} columns; a graph of KONECT has <from> <to>, perhaps <weight> and <time>"
        raise WorkloadError(fault, location=location, line=line)
    stripped = io.BytesIO(_TIME.sub(rb"\1", text) if columns_in_file == 4 else text)
    grammar = Grammar(["index", "index", "real"][: min(columns_in_file, 3)], "%")
    is_square = header[1] != b"bip"
    # without sizes, any node up to the limit is read, and the shape follows from the entries below
    declared = [int(size) for size in header.groups()[1:] if size] or [MAX_ROWS, MAX_ROWS]
    sides = [min(max(declared) if is_square else size, MAX_ROWS) for size in declared]
    entries = gather(scan(stripped, grammar, location), location, shape=(sides[0], sides[1]), base=1)
    rows, columns, values = entries.rows, entries.cols, entries.values
    if header[2] is None:
        sides = [1 + int(nodes.max()) for nodes in (rows, columns)]
    shape = (max(sides),) * 2 if is_square else (sides[0], sides[1])
    if header[1] == b"sym":
        off_diagonal = rows != columns  # each edge stands once in the file; a loop is its own reverse
        rows, columns = (
            np.concatenate([rows, columns[off_diagonal]]),
            np.concatenate([columns, rows[off_diagonal]]),
        )
        values = np.concatenate([values, values[off_diagonal]])
    check_shape(*shape, len(values), location, fix="number the nodes from 1 without gaps")
    return from_coordinates(rows, columns, values, shape, location, duplicates)
