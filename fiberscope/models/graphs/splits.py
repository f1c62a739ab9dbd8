"""Split index variables: ``i:4`` splits i into the chunk i_0 and the offset i_1, with i = 4 i_0 + i_1.

A graph that splits i has two loops for i, and two levels in every tensor with i;
``fiberscope.models.graphs.cut_tensors`` splits the tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Splits: TypeAlias = Mapping[str, int]  # coordinates of a chunk, by index variable


def name_parts(variable: str) -> tuple[str, str]:
    """Return the variables of the chunk and of the offset."""
    return f"{variable}_0", f"{variable}_1"


def split_lines(splits: Splits) -> list[str]:
    """Return a line for each variable, which describes its parts."""
    return [
        f"Split: {variable} = {chunk} * {name_parts(variable)[0]} + {name_parts(variable)[1]}"
        for variable, chunk in splits.items()
    ]


def count_parts(size: int, chunk: int) -> tuple[int, int]:
    """Return the number of chunks, and the number of offsets in a chunk.

    Args:
        size: size of the undivided dimension.
        chunk: coordinates of a chunk, at least 1.
    """
    return -(-size // chunk), min(chunk, size)


def split_variables(variables: Sequence[str], splits: Splits) -> tuple[str, ...]:
    """Return variables with both parts in place of each split variable, the chunk before the offset.

    Args:
        variables: undivided index variables, in any order.
        splits: coordinates of a chunk, by index variable.
    """
    return tuple(
        part
        for variable in variables
        for part in (name_parts(variable) if variable in splits else (variable,))
    )


def join_variables(variables: Sequence[str], splits: Splits) -> tuple[str, ...]:
    """Return variables with each split variable in place of its parts.

    Raises:
        ValueError: a part occurs without the other part.
    """
    undivided = {part: variable for variable in splits for part in name_parts(variable)}
    merged = tuple(dict.fromkeys(undivided.get(variable, variable) for variable in variables))
    incomplete = [
        variable
        for variable in merged
        if variable in splits and not set(name_parts(variable)) <= set(variables)
    ]
    if incomplete:
        raise ValueError(
            f"{' and '.join(name_parts(incomplete[0]))} do not go together in {','.join(variables)}"
        )
    return merged
