"""Which elements of A fill the tiles together: the groups that the control processors hand out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fiberscope.hw.fibers.arrays import integers_of

Numbers = npt.NDArray[np.int64]


class Groups:
    """The groups in the order in which they are handed out, each of segments within columns of A.

    Group g has the segments from ``firsts[g]`` to ``firsts[g + 1]``; segment s has the elements from
    ``begins[s]`` to ``ends[s]`` of column ``columns[s]``. ``before[g]`` is how many groups must be done
    before group g may begin.

    Three ways to fill the tiles, as three sources have it:

    - ``tile``: a group is a whole column; each tile works on its own;
    - ``chip``: a group is as many elements of a column as a tile has processing elements, and all tiles work
      on the same column, as many elements of it as there are on the chip;
    - ``flat``: the same, of all elements in the order of columns, whichever column they are of.

    Args:
        pointers: the pointers of A by columns.
        assign: how, by its name.
        tiles: their number.
        elements: processing elements of a tile.
        long_first: whether the columns with the most elements come first.
    """

    def __init__(
        self, pointers: npt.ArrayLike, assign: str, tiles: int, elements: int, long_first: bool = False
    ) -> None:
        pointers = np.asarray(pointers, np.int64)
        order = np.arange(len(pointers) - 1)
        if long_first:
            order = np.argsort(-np.diff(pointers), kind="stable")
        cut = {"tile": _whole, "chip": _pieces, "flat": _flattened}[assign]
        columns, begins, ends, groups = cut(pointers, order, elements)
        self.count = int(groups[-1]) + 1 if len(groups) else 0
        self.columns, self.begins, self.ends = map(integers_of, (columns, begins, ends))
        self.firsts = integers_of(np.searchsorted(groups, np.arange(self.count + 1)))
        before = _waves(columns, tiles) if assign == "chip" else np.zeros(self.count, np.int64)
        self.before = integers_of(before)


def _whole(pointers: Numbers, order: Numbers, _elements: int) -> tuple[Numbers, ...]:
    return order, pointers[order], pointers[order + 1], np.arange(len(order))


def _pieces(pointers: Numbers, order: Numbers, elements: int) -> tuple[Numbers, ...]:
    """Each column in pieces; one without elements is one, for somebody has to find that out."""
    lengths = np.diff(pointers)[order]
    pieces = np.maximum(1, -(-lengths // elements))
    columns = np.repeat(order, pieces)
    begins = pointers[columns] + elements * _count_up(pieces)
    return columns, begins, np.minimum(begins + elements, pointers[columns + 1]), np.arange(len(columns))


def _flattened(pointers: Numbers, order: Numbers, elements: int) -> tuple[Numbers, ...]:
    """The elements of all columns in one row, cut into pieces; of a piece, a segment for each column."""
    lengths = np.diff(pointers)[order]
    starts = np.concatenate([[0], np.cumsum(lengths)])  # in the row
    cuts = np.union1d(starts[:-1][lengths > 0], np.arange(0, starts[-1], elements))
    place = np.searchsorted(starts, cuts, side="right") - 1
    columns = order[place]
    begins = pointers[columns] + cuts - starts[place]
    return columns, begins, begins + np.diff(np.append(cuts, starts[-1])), cuts // elements


def _waves(columns: Numbers, tiles: int) -> Numbers:
    """Groups to be done before each: those of earlier columns, and those of its own that fill the chip."""
    changes = np.flatnonzero(np.diff(columns, prepend=-1))
    lengths = np.diff(np.append(changes, len(columns)))
    within = _count_up(lengths)
    return np.repeat(changes, lengths) + within // tiles * tiles


def _count_up(lengths: Numbers) -> Numbers:
    """0, 1, 2, ... for each of the lengths."""
    ends = np.cumsum(lengths)
    counted: Numbers = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    return counted
