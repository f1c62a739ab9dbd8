"""Parameters of twins: checked, and set from the command line by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeVar


@dataclass(frozen=True)
class Parameters:
    """Base of the parameters of every block: dataclasses of numbers with defaults."""


Kind = TypeVar("Kind", bound=Parameters)


def check_range(block: str, name: str, number: int, least: int, most: int) -> None:
    """Refuse a number out of its range.

    Raises:
        ValueError: naming the block, the parameter and the range.
    """
    if not least <= number <= most:
        raise ValueError(f"{block}: {name} must be from {least} to {most}, not {number}")


def check_value_bits(block: str, bits: int) -> None:
    """Refuse a width that no IEEE float has.

    Raises:
        ValueError: naming the block.
    """
    if bits not in (32, 64):
        raise ValueError(f"{block}: value_bits must be 32 or 64, not {bits}")


def parse(block: str, kind: type[Kind], settings: Sequence[str]) -> Kind:
    """Parameters from settings ``name=number``; those not named keep their defaults.

    Raises:
        ValueError: for an unknown name, with the nearest known, or what is no number or out of range.
    """
    known = fields(kind)
    names = [field.name for field in known]
    given: dict[str, int] = {}
    for setting in settings:
        name, equals, number = setting.partition("=")
        if not equals or not number.strip().isdecimal():
            raise ValueError(f"--set {setting}: write name=number, as in {names[0]}={known[0].default}")
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            advice = f"did you mean {near[0]}?" if near else f"it has {', '.join(names)}"
            raise ValueError(f"{block} has no parameter {name}; {advice}")
        given[name] = int(number)
    return kind(**given)
