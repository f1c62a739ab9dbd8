"""Names of files that are no UTF-8, and characters that the terminal's encoding lacks: told all the same.

Python has the bytes of a name that its file system's encoding does not know as lone surrogates, which no
document and no strict terminal takes.
"""

from __future__ import annotations

import codecs
from typing import Any

__all__ = ["SPELT", "escape_undecodable"]

SPELT = "fiberscope.spelt"  # of ``str.encode``: a name's own bytes; of other characters their escapes


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


codecs.register_error(SPELT, _spell)


def escape_undecodable(value: Any) -> Any:  # noqa: ANN401  (plain data)
    r"""The same plain data with texts that UTF-8 has: where a name is none, ``\xff`` stands for a byte."""
    if isinstance(value, str):
        return value.encode(errors=SPELT).decode(errors="backslashreplace")
    if isinstance(value, dict):
        return {escape_undecodable(key): escape_undecodable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [escape_undecodable(inner) for inner in value]
    return value
