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
    "split_lines",
]

Splits: TypeAlias = Mapping[str, int]  # of a variable the coordinates of a chunk


def parts(variable: str) -> tuple[str, str]:
    """The variables of the chunk and of the place in it."""
    return f"{variable}_0", f"{variable}_1"


def split_lines(splits: Splits) -> list[str]:
    """Return for each variable a line that describes its parts."""
    return [
        f"Split: {variable} = {chunk} * {parts(variable)[0]} + {parts(variable)[1]}"
        for variable, chunk in splits.items()
    ]


def part_sizes(size: int, chunk: int) -> tuple[int, int]:
    """Return the number of chunks, of which the last may be shorter, and the places in the longest."""
    return -(-size // chunk), min(chunk, size)


def cut_variables(variables: Sequence[str], splits: Splits) -> tuple[str, ...]:
    """Variables with both parts in the place of each that is split."""
    return tuple(
        part for variable in variables for part in (parts(variable) if variable in splits else (variable,))
    )


def joined_variables(variables: Sequence[str], splits: Splits) -> tuple[str, ...]:
    """Variables with each that is split in the place of its first part.

    Raises:
        ValueError: there is a part without the other one.
    """
    whole = {part: variable for variable in splits for part in parts(variable)}
    joined = tuple(dict.fromkeys(whole.get(variable, variable) for variable in variables))
    torn = [
        variable for variable in joined if variable in splits and not set(parts(variable)) <= set(variables)
    ]
    if torn:
        raise ValueError(f"{' and '.join(parts(torn[0]))} do not go together in {','.join(variables)}")
    return joined
