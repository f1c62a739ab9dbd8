"""Names in a store for modules that must load without the libraries of a store."""

from __future__ import annotations

from typing import Final

__all__ = ["DONE", "OPERANDS"]

DONE: Final = "done"  # status of a row whose run came to its end and was right
OPERANDS: Final = "_operands"  # folder of the matrices in memory that a sweep saved
