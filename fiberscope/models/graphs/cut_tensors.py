"""Split the dimensions of operands into chunks, and join the dimensions of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fiberscope.models.graphs.splits import Splits, count_parts, name_parts
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.tensor import SparseTensor


def split_tensor(tensor: SparseTensor, variables: Sequence[str], splits: Splits) -> SparseTensor:
    """Return a tensor with two dimensions in place of each split dimension: the chunk, and the offset in it.

    Args:
        tensor: a tensor in undivided dimensions.
        variables: index variables of its dimensions.
        splits: coordinates of a chunk, by index variable.
    """
    columns = split_columns(dict(zip(variables, tensor.coordinates, strict=True)), splits)
    shape = list[int]()
    for variable, size in zip(variables, tensor.shape, strict=True):
        shape += count_parts(size, splits[variable]) if variable in splits else [size]
    return SparseTensor(tuple(shape), tuple(columns.values()), tensor.values)


def split_columns(columns: Mapping[str, Integers], splits: Splits) -> dict[str, Integers]:
    """Return coordinates by variable, with two columns in place of each split variable."""
    parts_by_variable = dict[str, Integers]()
    for variable, column in columns.items():
        if variable in splits:
            parts_by_variable |= zip(name_parts(variable), np.divmod(column, splits[variable]), strict=True)
        else:
            parts_by_variable[variable] = column
    return parts_by_variable


def join_tensor(
    tensor: SparseTensor, variables: Sequence[str], sizes: Mapping[str, int], splits: Splits
) -> SparseTensor:
    """Return a tensor with undivided dimensions; entries beyond the end of the last chunk are dropped.

    Args:
        tensor: a tensor with split dimensions.
        variables: index variables of the undivided dimensions.
        sizes: sizes of the index variables.
        splits: coordinates of a chunk, by index variable.
    """
    if not splits.keys() & set(variables):
        return tensor
    columns, inside = iter(tensor.coordinates), np.ones(tensor.nonzeros, bool)
    dimensions = []
    for variable in variables:
        column, chunk = next(columns), splits.get(variable)
        dimensions.append(column * chunk + next(columns) if chunk else column)
        inside &= dimensions[-1] < sizes[variable]
    shape = [sizes[variable] for variable in variables]
    return SparseTensor.from_coordinates(
        shape, [column[inside] for column in dimensions], tensor.values[inside]
    )
