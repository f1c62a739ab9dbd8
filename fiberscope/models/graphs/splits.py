"""Index variables in chunks: of ``i:4`` are made i_0, which chunk, and i_1, the place in it: i = 4 i_0 + i_1.

A graph that splits i has two levels for it in every tensor, and two loops;
``fiberscope.models.graphs.cut_tensors`` cuts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

__all__ = [
    "Splits",
    "cut_variables",
    "joined_variables",
    "part_sizes",
    "parts",
    "told",
]

Splits: TypeAlias = Mapping[str, int]  # of a variable the coordinates of a chunk


def parts(variable: str) -> tuple[str, str]:
    """The variables of the chunk and of the place in it."""
    return f"{variable}_0", f"{variable}_1"


def told(splits: Splits) -> list[str]:
    """Of each variable a line that says what its parts are."""
    return [f"Split: {one} = {chunk} * {parts(one)[0]} + {parts(one)[1]}" for one, chunk in splits.items()]


def part_sizes(size: int, chunk: int) -> tuple[int, int]:
    """How many chunks there are, of which the last may be shorter, and how many places in the longest."""
    return -(-size // chunk), min(chunk, size)


def cut_variables(variables: Sequence[str], splits: Splits) -> tuple[str, ...]:
    """Variables with both parts in the place of each that is split."""
    return tuple(part for one in variables for part in (parts(one) if one in splits else (one,)))


def joined_variables(variables: Sequence[str], splits: Splits) -> tuple[str, ...]:
    """Variables with each that is split in the place of its first part.

    Raises:
        ValueError: there is a part without the other one.
    """
    whole = {part: variable for variable in splits for part in parts(variable)}
    joined = tuple(dict.fromkeys(whole.get(one, one) for one in variables))
    torn = [one for one in joined if one in splits and not set(parts(one)) <= set(variables)]
    if torn:
        raise ValueError(f"{' and '.join(parts(torn[0]))} do not go together in {','.join(variables)}")
    return joined
