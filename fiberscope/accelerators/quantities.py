"""Numbers with units, as configurations write them: sizes, frequencies, bandwidths and times.

Each is read exactly into a whole number of its base unit, and refused where that would need rounding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from fiberscope.base.errors import InputError

# The digits are bounded, so that no text of a configuration can ask for a number with a million of them.
_TEXT = re.compile(r"(?P<number>\d{1,20}(\.\d{1,20})?([eE][+-]?\d{1,2})?) *(?P<unit>[A-Za-z/]*)")
_LARGEST = 2**62


@dataclass(frozen=True)
class Quantity:
    """A kind of number with units.

    Args:
        noun: what it is called in a message, with its article.
        units: how many of the base unit each unit is.
        examples: what would be right, for a message.
        plain: whether a number without unit is accepted, in the base unit.
    """

    noun: str
    units: Mapping[str, int]
    examples: str
    plain: bool = True

    def parse(self, text: object) -> int:
        """The quantity in base units.

        Raises:
            ValueError: not a number with a known unit, negative, too large, or not whole in the base unit.
        """
        match = _TEXT.fullmatch(str(text).strip())
        if match is None or isinstance(text, bool):
            raise ValueError(self._advice())
        amount = Fraction(match["number"]) * self._factor(match["unit"])
        if amount.denominator != 1 or amount > _LARGEST:
            raise ValueError(f"{self._advice()}, and a whole number of {next(iter(self.units))}")
        return int(amount)

    def text(self, amount: int) -> str:
        """The quantity with the largest unit that needs no fraction; ``parse`` reads it back."""
        unit = max(
            (unit for unit, factor in self.units.items() if amount % factor == 0), key=self.units.__getitem__
        )
        return f"{amount // self.units[unit]} {unit}"

    def read(self, value: int | str, name: str) -> int:
        """Return what ``parse`` does of a value that a message calls ``name``.

        Raises:
            InputError: it is none.
        """
        try:
            return self.parse(value)
        except ValueError as error:
            raise InputError(f"{name} {value}: {error}") from error

    def short(self, amount: int) -> str:
        """The same as a setting on a command line has it, ``1008KiB``."""
        return self.text(amount).replace(" ", "")

    def _factor(self, unit: str) -> int:
        if unit in self.units:
            return self.units[unit]
        if unit == "" and self.plain:
            return 1
        raise ValueError(self._advice())

    def _advice(self) -> str:
        return f"it should be {self.noun}, such as {self.examples}"


_DECIMAL = {"kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BINARY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_BYTES = {"B": 1, **_DECIMAL, **_BINARY}

SIZE = Quantity("a size", _BYTES, "3 MiB, 64 KiB, 1 MB or a number of bytes")
FREQUENCY = Quantity(
    "a frequency", {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}, "1 GHz, 1.5 GHz or a number of hertz"
)
BANDWIDTH = Quantity(
    "a bandwidth",
    {f"{unit}/s": factor for unit, factor in _BYTES.items()},
    "8 GiB/s, 128 GB/s or a number of bytes a second",
)
TIME = Quantity(
    "a time", {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9}, "40 ns, 3.9 us or 500 ps", plain=False
)


def in_base_units(value: object) -> object:
    """The number that a text with a unit is, in its base unit; anything else as it is."""
    if isinstance(value, str):
        for quantity in (SIZE, FREQUENCY, BANDWIDTH, TIME):
            with suppress(ValueError):
                return quantity.parse(value)
    return value


def plain_number(value: object) -> object:
    """Return a number as it is.

    Raises:
        ValueError: the value is no number, such as ``true``.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("it should be a number")
    return value


Bytes = Annotated[int, BeforeValidator(SIZE.parse), PlainSerializer(SIZE.text, when_used="json")]
Hertz = Annotated[int, BeforeValidator(FREQUENCY.parse), PlainSerializer(FREQUENCY.text, when_used="json")]
BytesPerSecond = Annotated[
    int, BeforeValidator(BANDWIDTH.parse), PlainSerializer(BANDWIDTH.text, when_used="json")
]
Picoseconds = Annotated[int, BeforeValidator(TIME.parse), PlainSerializer(TIME.text, when_used="json")]
