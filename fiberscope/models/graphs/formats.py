"""How tensors are stored: the formats of their levels, and the dimension that each level stores."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LETTERS", "LETTER_OF", "Format", "format_of"]

LETTERS = {"d": "dense", "s": "compressed", "u": "compressed", "c": "compressed", "b": "bitvector"}
LETTER_OF = {level: letter for letter, level in reversed(LETTERS.items())}


@dataclass(frozen=True)
class Format:
    """How a tensor is stored: a letter a level (``s`` compressed, ``d`` dense, ``b`` bit vector).

    ``order`` is the dimension that each level stores; of a scalar both are empty.
    """

    letters: str
    order: tuple[int, ...]

    def __str__(self) -> str:
        """As in a graph's ``comment``: ``ss01``, ``none`` of a scalar."""
        return self.letters + "".join(map(str, self.order)) or "none"

    def level_of(self, dimension: int) -> int:
        """The level that stores a dimension."""
        return self.order.index(dimension)


def format_of(text: str) -> Format:
    """A format as a graph's ``comment`` has it: ``ss01``, ``s`` or ``none``.

    Raises:
        ValueError: it is none.
    """
    if text in ("none", ""):
        return Format("", ())
    letters = text.rstrip("0123456789")
    digits = text[len(letters) :] or "".join(map(str, range(len(letters))))
    order = tuple(map(int, digits))
    if set(letters) - set(LETTERS) or sorted(order) != list(range(len(letters))):
        raise ValueError(f"{text} is no format; ss01 is two compressed levels, ds10 a dense one of columns")
    return Format(letters, order)
