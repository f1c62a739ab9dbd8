"""Split index variables: ``i:4`` splits i into the chunk i_0 and the offset i_1, with i = 4 i_0 + i_1.

A graph that splits i has two loops for i, and two levels in every tensor with i;
``fiberscope.models.graphs.cut_tensors`` splits the tensors.
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

Splits: TypeAlias = Mapping[str, int]  # coordinates of a chunk, by index variable


def parts(variable: str) -> tuple[str, str]:
    """Return the variables of the chunk and of the offset."""
    return f"{variable}_0", f"{variable}_1"


def split_lines(splits: Splits) -> list[str]:
    """Return a line for each variable, which describes its parts."""
    return [
        f"Split: {variable} = {chunk} * {parts(variable)[0]} + {parts(variable)[1]}"
        for variable, chunk in splits.items()
    ]


def part_sizes(size: int, chunk: int) -> tuple[int, int]:
    """Return the number of chunks, and the number of offsets."""
    return -(-size // chunk), min(chunk, size)


def cut_variables(variables: Sequence[str], splits: Splits) -> tuple[str, ...]:
    """Return variables with both parts in place of each split variable."""
    return tuple(
        part for variable in variables for part in (parts(variable) if variable in splits else (variable,))
    )


def joined_variables(variables: Sequence[str], splits: Splits) -> tuple[str, ...]:
    """Return variables with each split variable in place of its parts.

    Raises:
        ValueError: a part occurs without the other part.
    """
    whole = {part: variable for variable in splits for part in parts(variable)}
    joined = tuple(dict.fromkeys(whole.get(variable, variable) for variable in variables))
    torn = [
        variable for variable in joined if variable in splits and not set(parts(variable)) <= set(variables)
    ]
    if torn:
        raise ValueError(f"{' and '.join(parts(torn[0]))} do not go together in {','.join(variables)}")
    return joined
