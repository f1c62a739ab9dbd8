"""What a schedule may ask of the loops; what no graph can do is refused, not left out."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.errors import InputError

__all__ = ["parse_copies", "parse_variables", "refuse_split", "reordered"]

MOST_COPIES = 64  # a graph of some thousand blocks


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


def refuse_split(text: str) -> None:
    """Refuse to split a loop.

    Raises:
        InputError: always.
    """
    raise InputError(
        f"split {text}: a loop goes through one level of each tensor and is not split; "
        "store the tensors in tiles and write a variable for each part, as in B(i0,i1) for B(i)"
    )


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
