"""Groups of elements of A, the units of work that the central control processor assigns to tiles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fiberscope.hw.fibers.arrays import integers_of

Numbers = npt.NDArray[np.int64]


class Groups:
    """The groups of elements of A in the order in which they are assigned.

    A group consists of segments, and each segment lies within one column of A. There are three assignments,
    from different sources, which ``config.yaml`` names:

    - ``tile``: a group is a whole column, and each tile works on its own column;
    - ``chip``: a group has as many elements of a column as a tile has processing elements. All tiles work on
      the same column, on as many of its elements as the chip has processing elements;
    - ``flat``: a group has as many elements as a tile has processing elements, in the order of columns, and
      may span several columns. Only this assignment skips empty columns.

    Attributes:
        count: number of groups.
        first_segments: group g has the segments ``first_segments[g]`` to ``first_segments[g + 1]`` - 1.
        columns, starts, ends: segment s has the elements ``starts[s]`` to ``ends[s]`` - 1 of ``columns[s]``.
        required_groups: number of groups that must be finished before group g may begin; 0 unless ``chip``.

    Args:
        pointers: column pointers of A.
        assign: name of the assignment: ``tile``, ``chip`` or ``flat``.
        tiles: number of tiles.
        elements: number of processing elements in a tile.
        long_first: whether the columns with the most elements come first.
    """

    def __init__(
        self, pointers: npt.ArrayLike, assign: str, tiles: int, elements: int, long_first: bool = False
    ) -> None:
        pointers = np.asarray(pointers, np.int64)
        order = np.arange(len(pointers) - 1)
        if long_first:
            order = np.argsort(-np.diff(pointers), kind="stable")
        divide = {"tile": _whole_columns, "chip": _column_pieces, "flat": _element_pieces}[assign]
        columns, starts, ends, groups = divide(pointers, order, elements)
        self.count = int(groups[-1]) + 1 if len(groups) else 0
        self.columns, self.starts, self.ends = map(integers_of, (columns, starts, ends))
        self.first_segments = integers_of(np.searchsorted(groups, np.arange(self.count + 1)))
        required = _count_required(columns, tiles) if assign == "chip" else np.zeros(self.count, np.int64)
        self.required_groups = integers_of(required)


# The next three functions return columns, starts and ends of the segments, and the group of each segment.
# ``order`` is the order of the columns, ``elements`` the number of processing elements in a tile.
def _whole_columns(pointers: Numbers, order: Numbers, _elements: int) -> tuple[Numbers, ...]:
    """Take each column as a group of one segment."""
    return order, pointers[order], pointers[order + 1], np.arange(len(order))


def _column_pieces(pointers: Numbers, order: Numbers, elements: int) -> tuple[Numbers, ...]:
    """Divide each column into pieces of a tile's size; an empty column is one piece, as it takes time too."""
    lengths = np.diff(pointers)[order]
    pieces = np.maximum(1, -(-lengths // elements))
    columns = np.repeat(order, pieces)
    starts = pointers[columns] + elements * _count_up(pieces)
    return columns, starts, np.minimum(starts + elements, pointers[columns + 1]), np.arange(len(columns))


def _element_pieces(pointers: Numbers, order: Numbers, elements: int) -> tuple[Numbers, ...]:
    """Divide the sequence of all elements into pieces of a tile's size; a piece has a segment per column."""
    lengths = np.diff(pointers)[order]
    offsets = np.concatenate([[0], np.cumsum(lengths)])  # first element of each column in the sequence
    # Cut at the first element of each column that is not empty, and at every multiple of a tile's size.
    cuts = np.union1d(offsets[:-1][lengths > 0], np.arange(0, offsets[-1], elements))
    # Of several columns with the same offset, only the last has elements: ``right`` - 1 finds this column.
    positions = np.searchsorted(offsets, cuts, side="right") - 1  # of the columns, in ``order``
    columns = order[positions]
    starts = pointers[columns] + cuts - offsets[positions]
    # The group of a piece is the multiple of a tile's size in which it begins.
    return columns, starts, starts + np.diff(np.append(cuts, offsets[-1])), cuts // elements


def _count_required(columns: Numbers, tiles: int) -> Numbers:
    """Return the number of groups that must be finished before each group.

    These are the groups of earlier columns, and the earlier groups of the same column that fill the chip.
    """
    # Each group has one segment here, so that ``columns`` has an entry for each group.
    changes = np.flatnonzero(np.diff(columns, prepend=-1))
    lengths = np.diff(np.append(changes, len(columns)))
    positions = _count_up(lengths)  # of the groups within their columns
    # The chip is full with one group for each tile.
    return np.repeat(changes, lengths) + positions // tiles * tiles


def _count_up(lengths: Numbers) -> Numbers:
    """Return 0 to length - 1 for each of the lengths, concatenated."""
    ends = np.cumsum(lengths)
    counted: Numbers = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    return counted
