"""Values at points, in arrays: joins, sums and numbering by the coordinates of variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fiberscope.workloads.canonical import Integers, Values


@dataclass(frozen=True)
class Points:
    """Values at points.

    Args:
        columns: for each variable, the coordinate of each point.
        values: the value of each point.
        sizes: the sum of the magnitudes of the terms of each value, a scale for rounding errors. The array
            ``values`` itself if no value is negative.
    """

    columns: dict[str, Integers]
    values: Values
    sizes: Values

    @classmethod
    def from_columns(cls, columns: dict[str, Integers], values: Values) -> Points:
        """Return points whose values are not sums, so that the size of a value is its magnitude."""
        # one array for both saves memory and time: the operations compute it once (``sizes is values``)
        return cls(columns, values, np.abs(values) if np.signbit(values).any() else values)

    @classmethod
    def concatenate(cls, point_sets: Sequence[Points]) -> Points:
        """Concatenate at least one set of points; all sets have the same variables."""
        if len(point_sets) == 1:
            return point_sets[0]
        names = point_sets[0].columns
        columns = {name: np.concatenate([points.columns[name] for points in point_sets]) for name in names}
        values = np.concatenate([points.values for points in point_sets])
        if all(points.sizes is points.values for points in point_sets):
            return cls(columns, values, values)
        return cls(columns, values, np.concatenate([points.sizes for points in point_sets]))

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.values)

    def select(self, positions: Integers) -> Points:
        """Return the points at these positions, which may repeat."""
        columns = {variable: column[positions] for variable, column in self.columns.items()}
        return self._replace_columns(columns, lambda numbers: numbers[positions])

    def keys(self, variables: Sequence[str], shapes: Mapping[str, int]) -> Integers:
        """Return one number for each point, in the order of these variables; without variables, all are 0.

        Args:
            variables: variables of the points, the most significant first.
            shapes: sizes of the variables; see ``number_points`` for their limit.
        """
        columns = [self.columns[variable] for variable in variables]
        return number_points(columns, [shapes[variable] for variable in variables], len(self))

    def sum_equal(self, variables: Sequence[str], shapes: Mapping[str, int]) -> Points:
        """Return a point for each set of points that agree in ``variables``, with the sum of their values.

        The points are in the order of their coordinates, and have no other variables. Values are added in the
        order of the points. Arguments as for ``keys``.
        """
        keys = self.keys(variables, shapes)
        # stable, because the order of the terms of a sum decides its rounding
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        columns = {variable: self.columns[variable][order[starts]] for variable in variables}
        if not len(starts):  # ``reduceat`` refuses an empty array
            return Points(columns, self.values, self.sizes)
        return self._replace_columns(columns, lambda numbers: np.add.reduceat(numbers[order], starts))

    def join(
        self,
        other: Points,
        shapes: Mapping[str, int],
        function: Callable[[Values, Values], Values] = np.multiply,
        check: Callable[[int], None] = lambda _count: None,
    ) -> Points:
        """Join two sets of points on their common variables and apply a function to the values.

        Without a common variable, every point is joined with every other. The result is in the order of these
        points, and for each of them in the order of the others.

        Args:
            other: the other points.
            shapes: sizes of the variables.
            function: a function of two arrays; nonnegative for nonnegative arguments.
            check: called with the number of resulting points before they are computed, to refuse too many.
        """
        common = [variable for variable in self.columns if variable in other.columns]
        keys, other_keys = self.keys(common, shapes), other.keys(common, shapes)
        order = np.argsort(other_keys, kind="stable")
        starts, ends = (np.searchsorted(other_keys[order], keys, side=side) for side in ("left", "right"))
        counts = ends - starts  # for each point, the number of its partners, at ``starts`` in sorted order
        check(int(counts.sum()))
        owners = np.repeat(np.arange(len(keys)), counts)
        # for each resulting point, the number of its partner, from 0 for each owner
        offsets = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        points, matches = self.select(owners), other.select(order[np.repeat(starts, counts) + offsets])
        columns = {**matches.columns, **points.columns}
        with np.errstate(all="ignore"):  # infinite and undefined values are values of the result
            values = function(points.values, matches.values)
            if points.sizes is points.values and matches.sizes is matches.values:
                return Points(columns, values, values)
            return Points(columns, values, np.abs(function(points.sizes, matches.sizes)))

    def _replace_columns(self, columns: dict[str, Integers], change: Callable[[Values], Values]) -> Points:
        """Return points with other columns, and the same change of values and sizes."""
        values = change(self.values)
        return Points(columns, values, values if self.sizes is self.values else change(self.sizes))


def number_points(columns: Sequence[Integers], shapes: Sequence[int], count: int) -> Integers:
    """Return one number for each point. The numbers are ordered as the coordinates of the points.

    Args:
        columns: by variable, the coordinate of each point; the first variable is the most significant.
        shapes: sizes of the variables. 63 bits must number all points of these sizes, which is not checked.
        count: number of points.
    """
    keys = np.zeros(count, np.int64)
    for column, shape in zip(columns, shapes, strict=True):
        keys *= shape
        keys += column
    return keys
