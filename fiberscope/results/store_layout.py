"""Names in a store that modules need which must load without the libraries of a store."""

from __future__ import annotations

from typing import Final

__all__ = ["OPERANDS"]

OPERANDS: Final = "_operands"  # folder of the matrices in memory that a sweep saved
