"""Index variables in chunks: of ``i:4`` are made i_0, which chunk, and i_1, the place in it: i = 4 i_0 + i_1.

A graph that splits i has two levels for it in every tensor, and two loops. Tensors are cut as they are loaded
and results joined as they are read back, so that all around a graph knows of i alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from workloads.canonical import Integers
from workloads.tensor import SparseTensor

__all__ = [
    "Splits",
    "cut_columns",
    "cut_tensor",
    "cut_variables",
    "joined_tensor",
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


def cut_tensor(tensor: SparseTensor, variables: Sequence[str], splits: Splits) -> SparseTensor:
    """A tensor with two dimensions in the place of each whose variable is split."""
    columns = cut_columns(dict(zip(variables, tensor.coordinates, strict=True)), splits)
    shape = list[int]()
    for variable, size in zip(variables, tensor.shape, strict=True):
        shape += part_sizes(size, splits[variable]) if variable in splits else [size]
    return SparseTensor(tuple(shape), tuple(columns.values()), tensor.values)


def cut_columns(columns: Mapping[str, Integers], splits: Splits) -> dict[str, Integers]:
    """Coordinates by variable, with those of both parts in the place of each that is split."""
    found = dict[str, Integers]()
    for variable, column in columns.items():
        if variable in splits:
            found |= zip(parts(variable), np.divmod(column, splits[variable]), strict=True)
        else:
            found[variable] = column
    return found


def joined_tensor(
    tensor: SparseTensor, variables: Sequence[str], sizes: Mapping[str, int], splits: Splits
) -> SparseTensor:
    """The tensor that was cut so; what a graph wrote behind the end of the last chunk is left out.

    Args:
        tensor: cut.
        variables: of the whole one, a dimension each.
        sizes: of each of them.
        splits: of the graph.
    """
    if not splits.keys() & set(variables):
        return tensor
    columns, inside = iter(tensor.coordinates), np.ones(tensor.nonzeros, bool)
    joined = []
    for variable in variables:
        column, chunk = next(columns), splits.get(variable)
        joined.append(column * chunk + next(columns) if chunk else column)
        inside &= joined[-1] < sizes[variable]
    shape = [sizes[variable] for variable in variables]
    return SparseTensor.from_coordinates(shape, [column[inside] for column in joined], tensor.values[inside])
