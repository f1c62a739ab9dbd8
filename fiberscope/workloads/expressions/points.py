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
        """Return points whose values are not sums."""
        return cls(columns, values, np.abs(values) if np.signbit(values).any() else values)

    @classmethod
    def together(cls, parts: Sequence[Points]) -> Points:
        """Concatenate points with the same variables."""
        if len(parts) == 1:
            return parts[0]
        columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
        values = np.concatenate([part.values for part in parts])
        if all(part.sizes is part.values for part in parts):
            return cls(columns, values, values)
        return cls(columns, values, np.concatenate([part.sizes for part in parts]))

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.values)

    def at(self, places: Integers) -> Points:
        """Return the points at these places."""
        columns = {variable: column[places] for variable, column in self.columns.items()}
        return self._with(columns, lambda numbers: numbers[places])

    def keys(self, variables: Sequence[str], shapes: Mapping[str, int]) -> Integers:
        """Return one number for each point, in the order of these variables."""
        columns = [self.columns[variable] for variable in variables]
        return keys_of(columns, [shapes[variable] for variable in variables], len(self))

    def summed(self, variables: Sequence[str], shapes: Mapping[str, int]) -> Points:
        """Return points with the values of equal points, by these variables, summed."""
        keys = self.keys(variables, shapes)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        columns = {variable: self.columns[variable][order[starts]] for variable in variables}
        if not len(starts):
            return Points(columns, self.values, self.sizes)
        return self._with(columns, lambda numbers: np.add.reduceat(numbers[order], starts))

    def joined(
        self,
        other: Points,
        shapes: Mapping[str, int],
        function: Callable[[Values, Values], Values] = np.multiply,
        check: Callable[[int], None] = lambda _count: None,
    ) -> Points:
        """Join two sets of points on their common variables and apply a function to the values.

        Args:
            other: the other points.
            shapes: sizes of the variables.
            function: a function of two arrays; nonnegative for nonnegative arguments.
            check: called with the number of resulting points before they are computed, to refuse too many.
        """
        common = [variable for variable in self.columns if variable in other.columns]
        keys, others = self.keys(common, shapes), other.keys(common, shapes)
        order = np.argsort(others, kind="stable")
        first, last = (np.searchsorted(others[order], keys, side=side) for side in ("left", "right"))
        counts = last - first
        check(int(counts.sum()))
        owners = np.repeat(np.arange(len(keys)), counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        points, matches = self.at(owners), other.at(order[np.repeat(first, counts) + within])
        columns = {**matches.columns, **points.columns}
        with np.errstate(all="ignore"):
            values = function(points.values, matches.values)
            if points.sizes is points.values and matches.sizes is matches.values:
                return Points(columns, values, values)
            return Points(columns, values, np.abs(function(points.sizes, matches.sizes)))

    def _with(self, columns: dict[str, Integers], change: Callable[[Values], Values]) -> Points:
        """Return points with other columns, and the same change of values and sizes."""
        values = change(self.values)
        return Points(columns, values, values if self.sizes is self.values else change(self.sizes))


def keys_of(columns: Sequence[Integers], shapes: Sequence[int], count: int) -> Integers:
    """Return one number for each point. The numbers are ordered as the coordinates of the points.

    Args:
        columns: by variable, the coordinate of each point; the first variable is the most significant.
        shapes: sizes of the variables; 64 bits must number all points of these sizes.
        count: number of points.
    """
    keys = np.zeros(count, np.int64)
    for column, shape in zip(columns, shapes, strict=True):
        keys *= shape
        keys += column
    return keys
