"""Status of a row of a store whose run came to its end and was right."""

from typing import Final

__all__ = ["DONE"]

DONE: Final = "done"
