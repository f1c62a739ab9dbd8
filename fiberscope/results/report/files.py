"""Atomic writes of output files, and checks of outputs before the work."""

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
from fiberscope.results.report.remote_files import find_address, open_remote, storage_errors

STANDARD_OUTPUT: Final = Path("-")  # file name of standard output


def read_bytes(path: Path) -> bytes:
    """Read a file, or an object of a remote storage.

    Raises:
        OSError: a local file cannot be read.
        InputError: an object cannot be read, or the library of its storage is missing.
    """
    if not (address := find_address(path)):
        return path.read_bytes()
    file = open_remote(address)
    with storage_errors(address):
        return bytes(file.read_bytes())


def read_text(path: Path) -> str:
    """Read a text file.

    Raises:
        InputError: the file cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text, at byte {error.start}") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, or to standard output if the path is ``-``.

    The encoding is UTF-8, also on a terminal with another encoding. Undecodable file names are escaped.

    Raises:
        InputError: the file cannot be written, or there is no standard output.
        OSError: standard output cannot be written to, for example because its reader has closed it.
    """
    text = escape_undecodable(text)
    if path == STANDARD_OUTPUT:
        _print(text)
    else:
        write_bytes(path, text.encode("utf-8"))


def _print(text: str) -> None:
    if sys.stdout is None:
        raise InputError("there is no standard output to write to; give the name of a file")
    sys.stdout.flush()  # earlier text stays before the bytes, which bypass the text buffer
    if not hasattr(sys.stdout, "buffer"):  # as in a notebook
        sys.stdout.write(text)
        return
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()


def write_json(path: Path, document: object) -> None:
    """Write plain data as an indented JSON document with a final newline, as ``write_text`` does.

    Raises:
        InputError, OSError: as for ``write_text``.
    """
    write_text(path, json.dumps(escape_undecodable(document), indent=2) + "\n")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically: a reader sees the old content or the new content.

    A link stays a link to the new file. A device or pipe is written to in place. An object of a remote
    storage, such as ``s3://bucket/run.json``, is also written atomically.

    Raises:
        InputError: the file cannot be written.
    """
    if address := find_address(path):
        object_ = open_remote(address)
        with storage_errors(address):
            object_.write_bytes(content)
        return
    from fiberscope.sim.partial_files import replace_when_complete  # noqa: PLC0415  (loads the engine)

    try:
        if path.exists() and not path.is_file():  # a rename would replace the device by a file
            path.write_bytes(content)
            return
        with replace_when_complete(path) as file:
            file.write(content)
    except OSError as error:
        raise _build_unwritable_error(path, error) from error


def check_outputs(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
    """Check before any work that all outputs can be written and overwrite no input.

    Files are compared by identity, not by name: a link equals its target. Each output is also recorded for
    the message of an interrupted command (see ``check_writable``).

    Args:
        outputs: paths by the name of their option, such as ``--json``; None without a file.
        inputs: paths by their description, such as ``the matrix A``; None without a file.

    Raises:
        InputError: an output cannot be written, is another output or an input, or two outputs go to the
            terminal.
    """
    terminal_outputs = [name for name, path in outputs.items() if path == STANDARD_OUTPUT]
    if len(terminal_outputs) > 1:
        raise InputError(f"{' and '.join(terminal_outputs)} cannot both go to the terminal; give one a file")
    checked_paths: dict[str, Path] = {}
    for name, path in outputs.items():
        if path is None or path == STANDARD_OUTPUT:
            continue
        check_writable(path)
        for other, other_path in checked_paths.items():
            if _is_same_file(path, other_path):
                raise InputError(f"{path}: cannot be both {other} and {name}; give two names")
        for description, source in inputs.items():
            if source is not None and source.is_file() and _is_same_file(path, source):
                raise InputError(
                    f"{name} {path}: is {description}, which it would overwrite; give another name"
                )
        checked_paths[name] = path


def _is_same_file(first: Path, other: Path) -> bool:
    try:
        return os.path.samefile(first, other)
    except OSError:  # one path does not exist yet
        return os.path.realpath(first) == os.path.realpath(other)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents if they do not exist.

    Raises:
        InputError: the path is a file, or the folder cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InputError(f"{folder}: is a file; give the name of a folder") from error
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from error


def check_writable(path: Path) -> None:
    """Check before a long run that ``path`` can be written, and record a local file as an expected output.

    Nothing is written. Of an address of remote storage, only the protocol and its library are checked. An
    interrupted command names the recorded files that it has not written (``base.outputs``).

    Raises:
        InputError: the path cannot be written.
    """
    if path == STANDARD_OUTPUT:
        return
    if address := find_address(path):
        open_remote(address)
        return
    try:
        _check_path(path)
    except OSError as error:
        raise _build_unwritable_error(path, error) from error
    expect_output(path)


def _check_path(path: Path) -> None:
    """Check that a path can be a file.

    Raises:
        InputError: the path cannot be a file.
        OSError: the system does not support the name.
    """
    if "\0" in str(path):
        raise InputError(f"{str(path)!r}: a null character is part of no file's name")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first")
    if path.exists() and not path.is_file():
        return  # devices and pipes are written in place
    # A write replaces the file, which needs access to the folder, not to the old file.
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: the folder {path.parent} cannot be written to")


def _build_unwritable_error(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot write it: {error.strerror}")


def matrices(a: str, b: str | None) -> dict[str, Path | None]:
    """Return the files of two matrices by their names in messages; None for a matrix without a file."""
    return list_operand_files({"A": a, "B": b})


def list_operand_files(operands: Mapping[str, str | None]) -> dict[str, Path | None]:
    """Return the files of operands by their names in messages; None for an operand that is not in a file."""
    from fiberscope.workloads import file_of  # noqa: PLC0415  (it takes time to load)

    return {
        f"the matrix {name}": None if operand is None else file_of(operand)
        for name, operand in operands.items()
    }
