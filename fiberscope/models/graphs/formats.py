"""How tensors are stored: the formats of their levels, and the dimension that each level stores."""

from __future__ import annotations

from dataclasses import dataclass

from fiberscope.models.graphs.levels import BY_LETTER
from fiberscope.models.graphs.levels.level import LevelFormat

__all__ = ["Format", "format_of"]


@dataclass(frozen=True)
class Format:
    """How a tensor is stored: a letter a level, of those that are known (``levels``).

    ``order`` is the dimension that each level stores; of a scalar both are empty.
    """

    letters: str
    order: tuple[int, ...]

    def __str__(self) -> str:
        """As in a graph's ``comment``: ``ss01``, ``none`` of a scalar."""
        return self.letters + "".join(map(str, self.order)) or "none"

    @property
    def levels(self) -> tuple[LevelFormat, ...]:
        """The format of each level, outermost first."""
        return tuple(BY_LETTER[letter] for letter in self.letters)

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
    if set(letters) - set(BY_LETTER) or sorted(order) != list(range(len(letters))):
        raise ValueError(f"{text} is no format; ss01 is two compressed levels, ds10 a dense one of columns")
    return Format(letters, order)
