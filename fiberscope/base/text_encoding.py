"""Encoding of file names that are not UTF-8, and of characters that the terminal cannot represent.

Python represents undecodable bytes of a file name as lone surrogates. Documents and strict terminals refuse
surrogates.
"""

from __future__ import annotations

import codecs
from typing import Any

ESCAPE_HANDLER = "fiberscope.escape"  # error handler: bytes for surrogates, else escapes


def _escape(error: UnicodeError) -> tuple[str | bytes, int]:
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


codecs.register_error(ESCAPE_HANDLER, _escape)


def escape_undecodable(value: Any) -> Any:  # noqa: ANN401  (plain data)
    r"""Return the same plain data with ``\xff`` for each undecodable byte of a text."""
    if isinstance(value, str):
        return value.encode(errors=ESCAPE_HANDLER).decode(errors="backslashreplace")
    if isinstance(value, dict):
        return {escape_undecodable(key): escape_undecodable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [escape_undecodable(inner) for inner in value]
    return value
