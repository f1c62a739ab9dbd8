"""The banner and the size line of a MatrixMarket file, as in the standard and in common use.

Vectors are an extension of GraphBLAS, tensors an extension of the compiler taco (suffix ``.ttx``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import BinaryIO

from fiberscope.workloads.canonical import MAX_ROWS, check_shape
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.text import read_line

# The standard has two percent signs; files with a single one are in use.
_BANNERS = ("%%matrixmarket", "%matrixmarket")
_OBJECTS = ("matrix", "vector", "tensor")
_FIELDS = ("pattern", "integer", "real")
_SAME_FIELDS = {"double": "real", "unsigned-integer": "integer"}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
_MAX_NUMBERS = 64  # in the size line of a tensor, with the number of entries


def is_market(beginning: bytes) -> bool:
    """Return whether a file with this beginning is a MatrixMarket file."""
    # Latin-1 decodes any byte, so that a binary file is no error
    return beginning.lower().decode("latin-1").startswith(_BANNERS)


@dataclass(frozen=True)
class Header:
    """Declarations in the first lines of a file.

    Args:
        object: ``matrix``, ``vector`` or ``tensor``.
        layout: ``coordinate`` or ``array``.
        field: ``pattern``, ``integer`` or ``real``.
        symmetry: ``general``, ``symmetric`` or ``skew-symmetric``.
        shape: size of each rank.
        entries: number of entries that follow; for a symmetric array, of one triangle with its diagonal, for
            a skew-symmetric array without the diagonal.
        line: number of the size line, from 1.
    """

    object: str
    layout: str
    field: str
    symmetry: str
    shape: tuple[int, ...]
    entries: int
    line: int

    @property
    def rows(self) -> int:
        """Size of the first rank."""
        return self.shape[0]

    @property
    def cols(self) -> int:
        """Size of the second rank; 1 for a vector."""
        return self.shape[1] if len(self.shape) > 1 else 1

    @property
    def kinds(self) -> list[str]:
        """Kinds of the numbers of a line: ``index``, and ``real`` or ``integer`` for a value."""
        if self.layout == "array":
            return ["real" if self.field == "real" else "integer"]
        return ["index"] * len(self.shape) + ([] if self.field == "pattern" else [self.field])


def read_header(stream: BinaryIO, location: str) -> Header:
    """Read banner, comments and size line; the stream is then at the first entry.

    Args:
        stream: at the beginning of the file.
        location: name of the file, for errors.

    Raises:
        WorkloadError: with the line: a malformed banner or size line, or an unrealistic shape.
    """
    kind, layout, field, symmetry = read_banner(stream, location)
    line, text = 1, b"%"  # the banner counts as a comment, so that the loop reads line 2 first
    while not text.strip() or text.lstrip().startswith(b"%"):
        line += 1
        text = read_line(stream, b"%", location, line)
        if not text:
            raise WorkloadError("the file ends before its size line", location=location, line=line)
    numbers = _parse_sizes(text, kind, layout, location, line)
    shape = tuple(numbers[:-1] if layout == "coordinate" else numbers)
    if symmetry != "general" and (len(shape) != 2 or shape[0] != shape[1]):
        sizes = " x ".join(map(str, shape))
        raise WorkloadError(
            f"a {symmetry} {kind} of {sizes}; it must be square", location=location, line=line
        )
    entries = numbers[-1] if layout == "coordinate" else _count_dense_entries(shape, symmetry)
    if len(shape) <= 2:
        # a vector has one number, which is checked as rows and as columns
        check_shape(shape[0], shape[-1], entries, location, line)
    elif not all(1 <= size <= MAX_ROWS for size in shape):
        sizes = " x ".join(map(str, shape))
        raise WorkloadError(f"the shape {sizes}; sizes are 1 to {MAX_ROWS}", location=location, line=line)
    return Header(kind, layout, field, symmetry, shape, entries, line)


def _parse_sizes(text: bytes, kind: str, layout: str, location: str, line: int) -> list[int]:
    """Return the numbers of a size line: the shape, and for a coordinate file the entries."""
    has_count = layout == "coordinate"
    names = {"matrix": ["<rows>", "<columns>"], "vector": ["<length>"]}.get(kind, ["<size>", "..."])
    numbers = text.split()
    if kind == "tensor":
        is_complete = 1 + has_count <= len(numbers) <= _MAX_NUMBERS
    else:
        is_complete = len(numbers) == len(names) + has_count
    # ``isdigit`` of bytes accepts ASCII digits only, and no sign
    if not is_complete or not all(number.isdigit() and len(number) < 20 for number in numbers):
        line_text = repr(text[:60].strip().decode("utf-8", "backslashreplace"))
        form = " ".join([*names, *["<entries>"] * has_count])
        raise WorkloadError(f"bad size line {line_text}; it is {form}", location=location, line=line)
    return [int(number) for number in numbers]


def read_banner(stream: BinaryIO, location: str) -> tuple[str, str, str, str]:
    """Return object, layout, field and symmetry from the first line, in lower case.

    ``double`` is returned as ``real``, ``unsigned-integer`` as ``integer``. Complex numbers are not
    supported.

    Args:
        stream: at the beginning of the file.
        location: name of the file, for errors.

    Raises:
        WorkloadError: the line is no banner, or one of the four is not supported.
    """
    tokens = stream.readline(1024).decode("utf-8", "backslashreplace").lower().split()
    if len(tokens) != 5 or tokens[0] not in _BANNERS:
        form = "%%MatrixMarket matrix <coordinate or array> <field> <symmetry>"
        raise WorkloadError(f"bad banner; the first line is {form}", location=location, line=1)
    kind, layout, field, symmetry = tokens[1:]
    # the entries of an array have no coordinates, so that a pattern would have no content
    fields = _FIELDS if layout == "coordinate" else _FIELDS[1:]
    field = _SAME_FIELDS.get(field, field)
    for name, token, allowed in (
        ("object", kind, _OBJECTS),
        ("layout", layout, ("coordinate", "array")),
        ("field", field, fields),
        ("symmetry", symmetry, _SYMMETRIES),
    ):
        if token not in allowed:
            fault = f"the {name} {token!r} is not supported"
            raise WorkloadError(fault, location=location, line=1, fix="one of " + ", ".join(allowed))
    return kind, layout, field, symmetry


def _count_dense_entries(shape: tuple[int, ...], symmetry: str) -> int:
    """Return the entries of an array file; the diagonal of a skew-symmetric array is 0 and not stored."""
    if symmetry == "general":
        return math.prod(shape)
    rows = shape[0]
    return rows * (rows + 1) // 2 if symmetry == "symmetric" else rows * (rows - 1) // 2
