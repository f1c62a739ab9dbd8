"""Formats of tensors: the formats of their levels, and the dimension that each level stores."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fiberscope.base.errors import InputError
from fiberscope.base.whole_numbers import read_whole_number
from fiberscope.models.graphs.levels import BY_LETTER, BY_NAME
from fiberscope.models.graphs.levels.level import LevelFormat

# letters that ``--format`` accepts; graph files may also have the other letters of a level
LETTERS = {level.letters[0]: level.meaning for level in BY_NAME.values()}
NOT_LOWERED = {  # level formats of TACO without a scanner
    "u": "compressed without an order",
    "z": "singleton",
    "c": "compressed with coordinates that repeat",
    "q": "singleton with coordinates that repeat",
}
_ENTRY = re.compile(r"\s*([A-Za-z][A-Za-z0-9]*)\s*:\s*([A-Za-z]*)\s*(?::\s*([0-9][0-9,\s]*))?\s*")
# a comma before a digit belongs to the order of the levels, as in C:ss:1,0
_SEPARATOR = re.compile(r",(?=\s*(?:[A-Za-z]|$))")


@dataclass(frozen=True)
class Format:
    """Format of a tensor.

    Args:
        letters: a letter per level, see ``levels``; empty for a scalar.
        order: dimension of each level.
    """

    letters: str
    order: tuple[int, ...]

    def __str__(self) -> str:
        """Return the text of a graph's ``comment``: ``ss01``, or ``none`` for a scalar.

        ``format_of`` reads the text if the format has at most ten levels.
        """
        return self.letters + "".join(map(str, self.order)) or "none"

    @property
    def levels(self) -> tuple[LevelFormat, ...]:
        """Return the format of each level, outermost first."""
        return tuple(BY_LETTER[letter] for letter in self.letters)

    @property
    def text(self) -> str:
        """Return the format as ``--format`` takes it: ``ds``, or ``ss:1,0`` with another order of levels."""
        ordered = self.order == tuple(range(len(self.order)))
        return self.letters if ordered else f"{self.letters}:{','.join(map(str, self.order))}"

    def level_of(self, dimension: int) -> int:
        """Return the level that stores a dimension."""
        return self.order.index(dimension)


def format_of(text: str) -> Format:
    """Return the format of a text in the notation of graph files: ``ss01``, ``s`` or ``none``.

    Without digits, the levels store the dimensions in order. An empty text is a scalar's, as ``none``. The
    notation has one digit for each level, so a format has at most ten levels.

    Raises:
        ValueError: the text is no format.
    """
    if text in ("none", ""):
        return Format("", ())
    letters = text.rstrip("0123456789")
    digits = text[len(letters) :] or "".join(map(str, range(len(letters))))
    order = tuple(map(int, digits))
    if set(letters) - set(BY_LETTER) or sorted(order) != list(range(len(letters))):
        raise ValueError(f"{text} is no format; ss01 is two compressed levels, ds10 a dense one of columns")
    return Format(letters, order)


def dense(dimensions: int) -> Format:
    """Return the default format, in which all levels are dense; without dimensions, that of a scalar."""
    return Format("d" * dimensions, tuple(range(dimensions)))


def parse_formats(texts: Iterable[str]) -> dict[str, Format]:
    """Return the formats by tensor; the dimensions of the levels are written as ``10`` or ``1,0``.

    Raises:
        InputError: a format is invalid, has a level without blocks, or occurs twice.
    """
    formats: dict[str, Format] = {}
    for entry in (" ".join(entry.split()) for text in texts for entry in _SEPARATOR.split(text)):
        name, tensor_format = _parse(entry)
        if name in formats:
            raise InputError(f"format {entry}: {name} has one already; leave one out")
        formats[name] = tensor_format
    return formats


def _parse(entry: str) -> tuple[str, Format]:
    match = _ENTRY.fullmatch(entry)
    if match is None:
        raise InputError(f"format {entry!r}: write TENSOR:LETTERS or TENSOR:LETTERS:ORDER, as in C:ss:10")
    name, letters, order = match.groups()
    for letter in letters:
        _check_letter(entry, letter)
    return name, Format(letters, _order(entry, letters, order))


def _check_letter(entry: str, letter: str) -> None:
    if letter not in LETTERS:
        description = f"{NOT_LOWERED[letter]}, and not lowered" if letter in NOT_LOWERED else "no level"
        letters = ", ".join(f"{letter_} is {level}" for letter_, level in LETTERS.items())
        raise InputError(f"format {entry}: {letter} is {description}; {letters}")


def _order(entry: str, letters: str, order: str | None) -> tuple[int, ...]:
    """Return the dimension of each level, from the text after the letters; None is their natural order."""
    if order is None:
        return tuple(range(len(letters)))
    # without commas, each digit is a dimension
    entries = order.split(",") if "," in order else order.replace(" ", "")
    numbers = [read_whole_number(entry.strip()) for entry in entries]
    dimensions = tuple(number for number in numbers if number is not None)
    if len(dimensions) < len(numbers) or sorted(dimensions) != list(range(len(letters))):
        dimensions_text = ",".join(map(str, range(len(letters)))) or "none"
        raise InputError(
            f"format {entry}: {order} should have each of {dimensions_text} once, outermost level first"
        )
    return dimensions
