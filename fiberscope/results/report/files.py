"""The files that commands write: whole or not at all, and refused before the work where they cannot be."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fiberscope.base.errors import InputError
from fiberscope.base.outputs import expect_output
from fiberscope.base.text_encoding import escape_undecodable
from fiberscope.results.report.remote_files import address_of, open_remote, storage_errors

__all__ = [
    "STANDARD_OUTPUT",
    "check_outputs",
    "check_writable",
    "make_folder",
    "matrices",
    "read_bytes",
    "read_text",
    "write_bytes",
    "write_json",
    "write_text",
]

STANDARD_OUTPUT: Final = Path("-")  # as the name of a file


def read_bytes(path: Path) -> bytes:
    """Read a file, or an object of a storage.

    Raises:
        OSError: a file cannot be read.
        InputError: an object cannot be.
    """
    if not (address := address_of(path)):
        return path.read_bytes()
    file = open_remote(address)
    with storage_errors(address):
        return bytes(file.read_bytes())


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        InputError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text, at byte {error.start}") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file at once, as ``write_bytes`` does; to standard output if the path is ``-``.

    It is UTF-8 there too, whatever the terminal's encoding. Names of files that are no UTF-8 are escaped.
    """
    if path == STANDARD_OUTPUT:
        _print(text)
    else:
        write_bytes(path, escape_undecodable(text).encode("utf-8"))


def _print(text: str) -> None:
    if sys.stdout is None:
        raise InputError("there is no standard output to write to; give the name of a file")
    sys.stdout.flush()
    if not hasattr(sys.stdout, "buffer"):  # as in a notebook
        sys.stdout.write(text)
        return
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()


def write_json(path: Path, document: object) -> None:
    """Write plain data as an indented JSON document with a final newline, as ``write_text`` does."""
    write_text(path, json.dumps(escape_undecodable(document), indent=2) + "\n")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file at once: a reader sees the old one or the new one, never a part.

    A link stays a link to the new file; a device or a pipe is written to and not replaced. An object of a
    storage, as ``s3://bucket/run.json``, comes into being whole.

    Raises:
        InputError: the file cannot be written.
    """
    if address := address_of(path):
        object_ = open_remote(address)
        with storage_errors(address):
            object_.write_bytes(content)
        return
    from fiberscope.sim.partial_files import replacing  # noqa: PLC0415  (the engine, which many commands do without)

    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        raise _unwritable(path, error) from error


def check_outputs(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
    """Find out before anything is read whether all outputs could be written, and would not destroy an input.

    Files are told apart by what they are and not by their names: a link to a file is that file.

    Args:
        outputs: by what asks for them, ``--json``; None where nothing does.
        inputs: by what they are, ``the matrix A``; None where there is no file.

    Raises:
        InputError: an output could not be written, or is another output or an input; two are printed.
    """
    printed = [name for name, path in outputs.items() if path == STANDARD_OUTPUT]
    if len(printed) > 1:
        raise InputError(f"{' and '.join(printed)} cannot both go to the terminal; give one a file")
    seen: dict[str, Path] = {}
    for name, path in outputs.items():
        if path is None or path == STANDARD_OUTPUT:
            continue
        check_writable(path)
        for other, there in seen.items():
            if _same(path, there):
                raise InputError(f"{path}: cannot be both {other} and {name}; give two names")
        for what, source in inputs.items():
            if source is not None and source.is_file() and _same(path, source):
                raise InputError(f"{name} {path}: is {what}, which it would overwrite; give another name")
        seen[name] = path


def _same(first: Path, other: Path) -> bool:
    try:
        return os.path.samefile(first, other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(first) == os.path.realpath(other)


def make_folder(folder: Path) -> None:
    """Make a folder, with all above it, where it is not there yet.

    Raises:
        InputError: it is a file, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InputError(f"{folder}: is a file; give the name of a folder") from error
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from error


def check_writable(path: Path) -> None:
    """Find out before a long run whether its outcome could be written to ``path``.

    Raises:
        InputError: it could not.
    """
    if path == STANDARD_OUTPUT:
        return
    if address := address_of(path):
        open_remote(address)
        return
    try:
        _check_place(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    expect_output(path)


def _check_place(path: Path) -> None:
    """Refuse a place where no file can be.

    Raises:
        OSError: the system does not have such a name.
    """
    if "\0" in str(path):
        raise InputError(f"{str(path)!r}: a null character is part of no file's name")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first")
    if path.exists() and not path.is_file():
        return  # a device or a pipe is written to where it is
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: the folder {path.parent} cannot be written to")


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot write it: {error.strerror}")


def matrices(a: str, b: str | None) -> dict[str, Path | None]:
    """The files of the matrices, which no output may overwrite, by what they are called in a message."""
    return operand_files({"A": a, "B": b})


def operand_files(operands: Mapping[str, str | None]) -> dict[str, Path | None]:
    """The same of operands by name."""
    from fiberscope.workloads import file_of  # noqa: PLC0415  (it takes time to load)

    return {
        f"the matrix {name}": None if operand is None else file_of(operand)
        for name, operand in operands.items()
    }
