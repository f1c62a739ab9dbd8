"""Names in a store, for modules that must load without the libraries of a store."""

from __future__ import annotations

from typing import Final

DONE: Final = "done"  # status of a finished and verified run
OPERANDS: Final = "_operands"  # folder of saved in-memory matrices
