"""Numbers with units in configurations: sizes, frequencies, bandwidths and times.

A number with a unit is converted exactly to an integer in the base unit: bytes, hertz, bytes per second, or
picoseconds. A number that would need rounding is an error.
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

# The number of digits is bounded, so that a text cannot make the parser build a huge integer.
_TEXT = re.compile(r"(?P<number>\d{1,20}(\.\d{1,20})?([eE][+-]?\d{1,2})?) *(?P<unit>[A-Za-z/]*)")
_LARGEST = 2**62  # in base units; fits a signed 64-bit integer


@dataclass(frozen=True)
class Quantity:
    """A kind of number with units.

    Args:
        noun: name of the kind with its article, for error messages: ``a size``.
        units: number of base units in each unit; the first unit is the base unit.
        examples: examples of correct texts, for error messages.
        plain: whether a number without a unit is accepted, as a number of base units.
    """

    noun: str
    units: Mapping[str, int]
    examples: str
    plain: bool = True

    def parse(self, text: object) -> int:
        """Return a quantity in base units.

        Args:
            text: a text such as ``3 MiB``, or a number if ``plain``.

        Raises:
            ValueError: if the text is not a number with a known unit, or if the number is negative, larger
                than 2**62, or not an integer in the base unit.
        """
        match = _TEXT.fullmatch(str(text).strip())
        if match is None or isinstance(text, bool):
            raise ValueError(self._advice())
        # Exact, so that 0.1 GHz is an integer and 0.3 bytes are refused
        amount = Fraction(match["number"]) * self._factor(match["unit"])
        if amount.denominator != 1 or amount > _LARGEST:
            raise ValueError(f"{self._advice()}, and a whole number of {next(iter(self.units))}")
        return int(amount)

    def text(self, amount: int) -> str:
        """Return an amount of base units as a text with the largest unit without a fraction: ``3 MiB``.

        Of units of the same size, such as kB and KB, the first is used. For 0, the smallest unit is used.
        """
        pick = max if amount else min
        unit = pick(
            (unit for unit, factor in self.units.items() if amount % factor == 0), key=self.units.__getitem__
        )
        return f"{amount // self.units[unit]} {unit}"

    def read(self, value: int | str, name: str) -> int:
        """Return a quantity in base units, as ``parse``, but with an error for the user.

        Args:
            value: text or number.
            name: name of the option or parameter, for the error message.

        Raises:
            InputError: if ``parse`` refuses the value.
        """
        try:
            return self.parse(value)
        except ValueError as error:
            raise InputError(f"{name} {value}: {error}") from error

    def short(self, amount: int) -> str:
        """Return the text of ``text`` without the space, for a command line: ``1008KiB``."""
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
    """Return a text that is a quantity as a number of base units; return any other value unchanged.

    The text may have the unit of a size, frequency, bandwidth or time. A text of a whole number without a
    unit, such as ``"64"``, is also converted.
    """
    if isinstance(value, str):
        # The kinds have no unit in common, so that the first kind that accepts a text is the right one
        for quantity in (SIZE, FREQUENCY, BANDWIDTH, TIME):
            with suppress(ValueError):
                return quantity.parse(value)
    return value


def plain_number(value: object) -> object:
    """Return a number as it is.

    Raises:
        ValueError: if the value is not a number; ``true`` is not.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("it should be a number")
    return value


# Types of parameters: integers in base units, which JSON has as texts with a unit
Bytes = Annotated[int, BeforeValidator(SIZE.parse), PlainSerializer(SIZE.text, when_used="json")]
Hertz = Annotated[int, BeforeValidator(FREQUENCY.parse), PlainSerializer(FREQUENCY.text, when_used="json")]
BytesPerSecond = Annotated[
    int, BeforeValidator(BANDWIDTH.parse), PlainSerializer(BANDWIDTH.text, when_used="json")
]
Picoseconds = Annotated[int, BeforeValidator(TIME.parse), PlainSerializer(TIME.text, when_used="json")]
