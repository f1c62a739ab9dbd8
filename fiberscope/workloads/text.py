"""Parsing of numbers in text, a few megabytes at a time, with a strict grammar for each line.

A line that does not match the grammar is an error. Nothing is guessed, and text after a number is not
ignored. (``scipy.io.mmread`` reads ``1.5d2`` as 1.5, ``1.5`` in an integer file as 1, ``1e400`` as infinity,
and ignores text after the value. It is therefore only the oracle of the tests.) The memory depends on the
content of a file, not on its declarations.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from fiberscope.workloads.canonical import Values
from fiberscope.workloads.decompression_limit import DecompressedFile
from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.foreign_content import BEGINNING, check_content
from fiberscope.workloads.number_lines import COMPILED, NumberLines

CHUNK_BYTES = 2 * 2**20  # read at once
# Bytes; a longer line that is no comment is an error, unless it lies within a chunk of ``scan``.
LONGEST_LINE = 64 * 2**10
GZIP_MAGIC = b"\x1f\x8b"
STANDARD_INPUT = "-"  # the file name of standard input
OPEN_PIPES = ("/dev/fd/", "/proc/self/fd/")  # file names of a shell's pipes

# Possessive quantifiers (``++``, ``*+``) never backtrack, so that any text takes linear time.
_FIELDS = {
    "index": rb"\+?+\d++",
    "integer": rb"[-+]?+\d++",
    "real": rb"[-+]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?+\d++)?+",
}


class Grammar:
    """Grammar of the lines of a format: a line has all fields, or is a comment, or is empty.

    Args:
        fields: the kind of each number of a line: ``index`` (no sign but +), ``integer`` or ``real``.
        comment: the characters that start a comment line.
    """

    def __init__(self, fields: Sequence[str], comment: str) -> None:
        self.fields = tuple(fields)
        self.comment = comment
        mark = re.escape(comment.encode())
        entry = rb"[ \t]++".join(_FIELDS[field] for field in self.fields)
        skip = rb"[ \t]*+[%s][^\n]*+\n" % mark
        self._comment = comment.encode()
        self._lines = re.compile(rb"(?:[ \t]*+(?:%s)?+[ \t\r]*+\n|%s)*+" % (entry, skip))

    def count_valid_bytes(self, text: bytes) -> int:
        """Return the number of leading bytes of ``text`` that are complete, valid lines."""
        match = self._lines.match(text)
        return match.end() if match else 0

    def is_comment(self, line: bytes) -> bool:
        """Return whether a line, or the beginning of a line, is a comment."""
        return bool(line.strip()) and line.strip()[:1] in self._comment

    def is_entry(self, line: bytes) -> bool:
        """Return whether a valid line has numbers."""
        return bool(line.strip()) and not self.is_comment(line)

    def without_comments(self, text: bytes) -> bytes:
        """Return valid lines without comments."""
        if not any(mark in text for mark in self._comment):
            return text
        return b"\n".join(line for line in text.split(b"\n") if self.is_entry(line))


@dataclass(frozen=True)
class Block:
    """Consecutive entries of a file.

    Args:
        numbers: the numbers of the entries, an array of entries x fields.
        text: the lines of the block, with comments and empty lines.
        first_line: the 1-based line of the file where the block begins.
        grammar: the grammar of the lines.
    """

    numbers: Values
    text: bytes
    first_line: int
    grammar: Grammar

    @cached_property
    def lines(self) -> int:
        """Return the number of lines."""
        return self.text.count(b"\n")

    def line_of(self, entry: int) -> int:
        """Return the 1-based line of the file with the 0-based ``entry`` of this block.

        Raises:
            IndexError: the block has no such entry.
        """
        number = -1  # of the last entry so far
        for offset, line in enumerate(self.text.split(b"\n")):
            number += self.grammar.is_entry(line)
            if number == entry:
                return self.first_line + offset
        raise IndexError(entry)


@contextmanager
def open_text(path: Path, location: str) -> Iterator[BinaryIO]:
    """Open a file as bytes, decompressed if the content is gzip.

    A byte order mark is removed. In a text whose first 2 MiB have no line feed, carriage returns become line
    feeds. Such files, files with a byte order mark, standard input (``-``) and the pipe of a ``<(command)``
    are read into memory, so that every stream can rewind.

    Damage of gzip appears only while the caller reads. Therefore ``OSError`` and errors of decompression
    within the ``with`` block become ``WorkloadError`` too.

    Args:
        path: the file.
        location: the name of the file as the user gave it, for errors; ``-`` is standard input.

    Raises:
        WorkloadError: no such file, not a regular file, no permission, damaged or truncated gzip, or a
            decompressed size far beyond that of a matrix.
    """
    try:
        with _open_raw(path, location) as raw:
            magic = raw.read(2)
            raw.seek(0)
            if magic != GZIP_MAGIC:
                yield _without_mark(raw, location)
                return
            with DecompressedFile(raw, location) as decompressed:
                yield _without_mark(cast(BinaryIO, decompressed), location)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise WorkloadError(f"the gzip file is damaged or cut short ({error})", location=location) from error
    except PermissionError as error:
        raise WorkloadError("no permission to read it", location=location) from error
    except OSError as error:
        raise WorkloadError(f"cannot be read ({error.strerror or error})", location=location) from error


def _open_raw(path: Path, location: str) -> BinaryIO:
    if location == STANDARD_INPUT:
        return io.BytesIO(sys.stdin.buffer.read())
    if not path.exists():
        raise WorkloadError("no such file", location=location)
    if path.is_fifo() and location.startswith(OPEN_PIPES):  # a named pipe without a writer would block
        return io.BytesIO(path.read_bytes())
    if not path.is_file():
        raise WorkloadError("not a file but a directory or a device", location=location)
    return path.open("rb")


def _without_mark(stream: BinaryIO, location: str) -> BinaryIO:
    """Return a stream from its start, without a byte order mark and with line feeds."""
    beginning = stream.read(CHUNK_BYTES)
    check_content(beginning[:BEGINNING], location)
    has_mark = beginning.startswith(codecs.BOM_UTF8)
    has_only_returns = b"\r" in beginning and b"\n" not in beginning and _is_text(beginning)
    stream.seek(0)
    if not has_mark and not has_only_returns:
        return stream
    text = stream.read().removeprefix(codecs.BOM_UTF8)
    return io.BytesIO(text.replace(b"\r", b"\n") if has_only_returns else text)


def _is_text(beginning: bytes) -> bool:
    return b"\0" not in beginning


def scan(stream: BinaryIO, grammar: Grammar, location: str, first_line: int = 1) -> Iterator[Block]:
    """Yield the remaining entries of a stream in blocks.

    Args:
        stream: at the beginning of a line.
        grammar: the grammar of its lines.
        location: name of the file, for errors.
        first_line: the 1-based number of the next line.

    Raises:
        WorkloadError: with the line: a line does not match the grammar.
    """
    line = first_line
    lines = NumberLines(grammar.fields, grammar.comment)
    while text := _whole_lines(stream, grammar, location, line):
        numbers = lines.table(text) if COMPILED else None
        if numbers is None:
            numbers = _parse_by_grammar(text, grammar, location, line)
        block = Block(numbers, text, line, grammar)
        yield block
        line += block.lines


def _parse_by_grammar(text: bytes, grammar: Grammar, location: str, line: int) -> Values:
    """Return the numbers of complete lines, entries x fields; report the first invalid line."""
    valid_bytes = grammar.count_valid_bytes(text)
    if valid_bytes < len(text):
        _raise_first_fault(text[valid_bytes:], grammar, location, line + text.count(b"\n", 0, valid_bytes))
    stripped = grammar.without_comments(text)
    numbers = np.fromstring(stripped, dtype=np.float64, sep=" ") if stripped.strip() else np.empty(0)
    return numbers.reshape(-1, len(grammar.fields))


def too_long(location: str, line: int) -> WorkloadError:
    """Return the error for a line of 64 KiB or more."""
    return WorkloadError("a line longer than 64 KiB; is this a text file?", location=location, line=line)


def read_line(stream: BinaryIO, comment: bytes, location: str, line: int) -> bytes:
    """Return the next line; for a long comment, only its beginning; at the end of the stream, nothing.

    Args:
        stream: at the beginning of a line.
        comment: the characters that start a comment.
        location: name of the file, for errors.
        line: number of the line, for errors.

    Raises:
        WorkloadError: the line is no comment and has 64 KiB or more.
    """
    text = stream.readline(LONGEST_LINE)
    if len(text) == LONGEST_LINE and not text.endswith(b"\n"):
        mark = text.lstrip()[:1]
        if not mark or mark not in comment:
            raise too_long(location, line)
        _skip_line(stream)
    return text


def _skip_line(stream: BinaryIO) -> None:
    while (remainder := stream.readline(LONGEST_LINE)) and not remainder.endswith(b"\n"):
        pass


def first_entry(stream: BinaryIO, location: str) -> tuple[int, int]:
    """Return the line of the first entry and its number of words, and rewind the stream.

    Raises:
        WorkloadError: there is no entry.
    """
    number = 1
    while line := read_line(stream, b"#%", location, number):
        tokens = line.split()
        if tokens and tokens[0][:1] not in b"#%":
            stream.seek(0)
            return number, len(tokens)
        number += 1
    raise WorkloadError("no entry in the file, so its shape is not known", location=location, fix="use .mtx")


def _whole_lines(stream: BinaryIO, grammar: Grammar, location: str, line: int) -> bytes:
    """Return the next complete lines, each with a newline; a comment beyond the end of a chunk is cut."""
    text = stream.read(CHUNK_BYTES)
    if not text or text.endswith(b"\n"):
        return text
    if grammar.is_comment(text[text.rfind(b"\n") + 1 :]):
        _skip_line(stream)
        return text + b"\n"
    remainder = stream.readline(LONGEST_LINE)
    if not remainder.endswith(b"\n"):
        if len(remainder) == LONGEST_LINE:
            raise too_long(location, line + text.count(b"\n"))
        remainder += b"\n"
    return text + remainder


def _raise_first_fault(text: bytes, grammar: Grammar, location: str, line: int) -> None:
    """Raise the error for the first line of a text, which does not match the grammar."""
    bad_line = text[: text.index(b"\n")]
    shown_text = repr(bad_line[:60].strip().decode("utf-8", "backslashreplace"))
    expected = " ".join(f"<{field}>" for field in grammar.fields)
    try:
        tokens = bad_line.decode("utf-8").split()
    except UnicodeDecodeError:
        raise WorkloadError(f"{shown_text} is not UTF-8 text", location=location, line=line) from None
    if any(token.lstrip("+-").lower() in ("nan", "inf", "infinity") for token in tokens):
        raise WorkloadError(f"{shown_text} holds a value that is not finite", location=location, line=line)
    fault = (
        f"{shown_text} has {len(tokens)} fields"
        if len(tokens) != len(grammar.fields)
        else f"{shown_text} does not fit"
    )
    raise WorkloadError(f"{fault}; a line here is {expected}", location=location, line=line)
