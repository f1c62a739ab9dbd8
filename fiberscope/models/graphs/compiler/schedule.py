"""What a schedule may ask of the loops; what no graph can do is refused, not left out."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.errors import InputError

__all__ = ["parse_copies", "parse_splits", "parse_variables", "reordered"]

MOST_COPIES = 64  # a graph of some thousand blocks
LARGEST_CHUNK = 2**31 - 1  # no tensor is longer


def parse_variables(text: str, option: str) -> tuple[str, ...]:
    """Variables with commas between them, as in ``i,k,j``.

    Raises:
        InputError: there is none between two commas.
    """
    variables = tuple(word.strip() for word in text.split(","))
    if not all(variables):
        raise InputError(f"{option} {text!r}: write variables with commas between them, as in i,k,j")
    return variables


def reordered(order: Sequence[str], moved: Sequence[str]) -> tuple[str, ...]:
    """An order in which some loops take each other's places, to be in the order that is given here.

    Raises:
        InputError: one is no loop, or is named twice.
    """
    named = f"reorder {','.join(moved)}"
    for number, variable in enumerate(moved):
        if variable not in order:
            raise InputError(f"{named}: there is no loop {variable}; there are {','.join(order) or 'none'}")
        if variable in moved[:number]:
            raise InputError(f"{named}: {variable} stands there twice; leave one out")
    following = iter(moved)
    return tuple(next(following) if variable in moved else variable for variable in order)


def parse_splits(text: str) -> dict[str, int]:
    """Variables and the coordinates of a chunk of each, as in ``i:4,k:8``.

    Raises:
        InputError: it is not written so, or a variable stands there twice.
    """
    found: dict[str, int] = {}
    for entry in text.split(","):
        variable, _colon, number = (part.strip() for part in entry.partition(":"))
        if not variable or not number.isdecimal() or not 1 <= int(number) <= LARGEST_CHUNK:
            raise InputError(f"split {text!r}: write variables and the coordinates of a chunk, as in i:4,k:8")
        if variable in found:
            raise InputError(f"split {text!r}: {variable} stands there twice; a variable is split once")
        found[variable] = int(number)
    return found


def parse_copies(text: str) -> tuple[str, int]:
    """A loop and how many copies of its blocks there are, as in ``i:4``.

    Raises:
        InputError: it is not written so.
    """
    variable, colon, number = (part.strip() for part in text.partition(":"))
    if not variable or not colon or not number.isdecimal() or not 1 <= int(number) <= MOST_COPIES:
        raise InputError(
            f"parallelize {text!r}: write a loop and a number of copies from 1 to {MOST_COPIES}, as in i:4"
        )
    return variable, int(number)
