"""Results of a graph, and their comparison with the graph's expression.

The reference is computed from the expression (``expression.py``, ``algebra.py``), not from any stream. A
result may have explicit zeros without a counterpart in the reference, as graphs without droppers keep them.

Some results of the public simulator have values without coordinates: its reducer keeps the zeros of dropped
coordinates (quirk Q15), and its writer drops empty fibers (Q16). Such a result is compared as lists: the
coordinates of the last level and the nonzero values, in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fiberscope.models.graphs.algebra import evaluate, number_points
from fiberscope.models.graphs.cut_tensors import split_columns
from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.levels.level import Level
from fiberscope.models.graphs.splits import Splits, split_variables
from fiberscope.models.graphs.storage import StoredTensor, assemble_tensor
from fiberscope.workloads.canonical import Integers, Values
from fiberscope.workloads.expressions.expression import Access
from fiberscope.workloads.expressions.points import Points
from fiberscope.workloads.tensor import SparseTensor
from fiberscope.workloads.verification import DOUBLE_LIMITS, Comparison, Rounding, compare_values


@dataclass(frozen=True)
class WriterContents:
    """Contents of the writers of one tensor.

    Args:
        format: format of the tensor.
        shape: sizes of the dimensions.
        levels: written levels; a dimension without a writer has a dense level.
        values: the values of the values writer; None without such a writer.
    """

    format: Format
    shape: tuple[int, ...]
    levels: tuple[Level, ...]
    values: Values | None

    @property
    def positions(self) -> int:
        """Return the number of positions of the last level, each of which has a value."""
        return self.levels[-1].children if self.levels else 1

    def assemble(self, *, has_unpaired_values: bool = True) -> StoredTensor | None:
        """Return the tensor; None if there are no values, or if some values have no coordinates.

        If all values do not fit the coordinates, zeros may be left out.

        Args:
            has_unpaired_values: whether zeros without coordinates may stand anywhere. Otherwise they may only
                follow the last value, as a reducer sends them for an empty list.
        """
        if self.values is None:
            return None
        if has_unpaired_values:
            fewer = self.values[self.values != 0]
        else:
            # a nonzero value beyond the last position stays, and then the tensor cannot be assembled
            last = int(np.flatnonzero(self.values).max(initial=-1))
            fewer = self.values[: max(self.positions, last + 1)]
        for values in (self.values, fewer):
            try:
                return assemble_tensor(self.shape, self.format, self.levels, values)
            except ValueError:
                continue
        return None

    def coordinates(self) -> Integers:
        """Return the coordinates of the last level, in order; the tensor must have a level."""
        return self.levels[-1].coordinates


def count_unpaired(contents: WriterContents) -> Comparison:
    """Return the failed comparison of a result whose values do not fit its coordinates."""
    values = contents.values if contents.values is not None else np.zeros(0)
    surplus = len(values) - contents.positions
    return Comparison(np.inf, max(0, -surplus), max(0, surplus))


def attach_values(contents: WriterContents, values: Values) -> StoredTensor:
    """Return a tensor of which only the coordinates were written, with the values of its source.

    Args:
        contents: the written levels.
        values: values of the source, in the order of the coordinates.

    Raises:
        InputError: the number of values, or of fibers, does not fit the written levels.
    """
    return assemble_tensor(contents.shape, contents.format, contents.levels, values)


def reference(
    assignment: Assignment, tensors: Mapping[str, SparseTensor | Points], sizes: Mapping[str, int]
) -> Points:
    """Return the expected entries of a result, with columns in the order of dimensions.

    Args:
        assignment: the assignment that computes the result.
        tensors: entries of the tensors that the assignment reads, by name.
        sizes: sizes of the index variables.

    Raises:
        InputError: an intermediate result is too large, see ``algebra.evaluate``.
    """
    points = evaluate(assignment.expression, tensors, sizes)
    columns = {variable: points.columns[variable] for variable in assignment.result.variables}
    return Points(columns, points.values, points.sizes)


def unit_values(tensor: SparseTensor | Points) -> SparseTensor | Points:
    """Return the entries of a tensor with values of 1, a term each."""
    return replace(tensor, values=np.ones_like(tensor.values))


def count_terms(
    assignment: Assignment, terms: Mapping[str, SparseTensor | Points], sizes: Mapping[str, int]
) -> Points:
    """Return the number of terms of each entry of a result, from those of its operands.

    The assignment is evaluated with numbers of terms in place of values; see ``unit_values``. The number of
    terms bounds the rounding error of an entry.

    Args:
        assignment: the assignment that computes the result.
        terms: number of terms of each entry of the operands, by name.
        sizes: sizes of the index variables.
    """
    # the sizes add up magnitudes, so a difference counts the terms of both sides; its values may cancel
    points = reference(assignment, terms, sizes)
    return Points(points.columns, points.sizes, points.sizes)


def compare(
    contents: WriterContents,
    tensor: SparseTensor | None,
    result: Access,
    expected: Points,
    sizes: Mapping[str, int],
    splits: Splits,
    rounding: Rounding = DOUBLE_LIMITS,
) -> Comparison:
    """Compare the result that the writers of a graph hold with the expected result.

    Args:
        contents: levels and values of the writers.
        tensor: entries of ``contents`` in undivided dimensions; None if some values have no coordinates.
        result: tensor and index variables of the result.
        expected: entries of the expected result.
        sizes: sizes of the index variables.
        splits: coordinates of a chunk, by index variable that is split.
        rounding: differences that are accepted as rounding.

    Raises:
        InputError: the space of the result has at least 2**63 points.
    """
    # an error by underflow is absolute; added to the magnitudes, it passes as a relative error
    if rounding.floor:
        expected = replace(expected, sizes=expected.sizes + rounding.floor)
    if tensor is None:
        comparison = _compare_lists(contents, result, expected, sizes, splits, rounding)
    else:
        columns = dict(zip(result.variables, tensor.coordinates, strict=True))
        keys = number_points(Points(columns, tensor.values, tensor.values), result.variables, sizes)
        expected_keys = number_points(expected, result.variables, sizes)
        order = np.argsort(expected_keys)
        comparison = _compare_keyed(
            keys, tensor.values, expected_keys[order], expected.select(order), rounding
        )
    return replace(comparison, tolerance=rounding.tolerance)


def _compare_keyed(
    keys: Integers, values: Values, expected_keys: Integers, expected: Points, rounding: Rounding
) -> Comparison:
    """Compare entries by key; the expected keys are sorted and distinct."""
    indices = np.searchsorted(expected_keys, keys)
    in_range = indices < len(expected_keys)
    is_expected = np.zeros(len(keys), bool)
    is_expected[in_range] = expected_keys[indices[in_range]] == keys[in_range]
    # an explicit zero on one side only is no difference
    extra = int(np.count_nonzero(values[~is_expected]))
    entries = expected.select(indices[is_expected])
    error, overflows = compare_values(entries.values, entries.sizes, values[is_expected], rounding)
    is_present = np.zeros(len(expected_keys), bool)
    is_present[indices[is_expected]] = True
    missing = int(np.count_nonzero(expected.values[~is_present]))
    return Comparison(error, missing, extra, overflows=overflows)


def _compare_lists(
    contents: WriterContents,
    result: Access,
    undivided: Points,
    sizes: Mapping[str, int],
    splits: Splits,
    rounding: Rounding,
) -> Comparison:
    """Compare the nonzero values and the coordinates of the last level as lists."""
    expected = Points(split_columns(undivided.columns, splits), undivided.values, undivided.sizes)
    variables = split_variables(result.variables, splits)
    by_level = [variables[dimension] for dimension in contents.format.order]
    ordered = expected.select(np.argsort(number_points(expected, by_level, sizes), kind="stable"))
    values = contents.values if contents.values is not None else np.zeros(0)
    nonzeros = values[values != 0]
    nonzero_points = ordered.select(np.flatnonzero(ordered.values))
    if len(nonzeros) != len(nonzero_points):
        return Comparison(
            np.inf, max(0, len(nonzero_points) - len(nonzeros)), max(0, len(nonzeros) - len(nonzero_points))
        )
    error, overflows = compare_values(nonzero_points.values, nonzero_points.sizes, nonzeros, rounding)
    # the writer may have kept or dropped the coordinates of explicit zeros, but all of them alike
    if by_level and not _find_equal_coordinates(
        contents.coordinates(), by_level[-1], ordered, nonzero_points
    ):
        return Comparison(np.inf, 0, 0)
    return Comparison(error, overflows=overflows)


def _find_equal_coordinates(coordinates: Integers, variable: str, *expected: Points) -> bool:
    """Return whether the coordinates equal those of any of these lists of points."""
    return any(np.array_equal(coordinates, points.columns[variable]) for points in expected)
