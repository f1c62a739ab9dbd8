"""Profile of a matrix, from which a similar matrix can be drawn that causes a similar workload.

Nodes (row i with column i; in a matrix that is not square, rows and columns separately) are grouped into
classes of similar degree. A profile keeps the degree distribution of each class and the nonzeros between any
two classes. Degrees alone would lose the links between hubs, and with them the dense core of a product.
"""

from __future__ import annotations

import functools
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fiberscope.workloads.canonical import CsrArray, Integers
from fiberscope.workloads.errors import WorkloadError

_Count = Annotated[int, Field(ge=0)]
_Size = Annotated[int, Field(ge=1, le=2**28)]  # as ``canonical.MAX_ROWS``
_CLASSES_A_DECADE = 10
# Least degree of each class from the second on, over the nine decades up to the largest size of a rank; the
# first class has degree 0.
# Small degrees repeat after rounding; ``unique`` removes the repetitions.
LEAST_DEGREES = np.unique(np.rint(10.0 ** (np.arange(9 * _CLASSES_A_DECADE) / _CLASSES_A_DECADE))).astype(
    np.int64
)


class _Row(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class NodeClass(_Row):
    """Nodes of similar degree.

    Args:
        degrees: [number of nodes, row nonzeros, column nonzeros] for each combination.
        diagonal: number of nodes with a nonzero on the diagonal.
    """

    degrees: tuple[tuple[_Count, _Count, _Count], ...]
    diagonal: _Count = 0

    @property
    def nodes(self) -> int:
        """Number of nodes of the class."""
        return sum(count for count, _row, _column in self.degrees)


class Profile(_Row):
    """A matrix without the positions of its nonzeros.

    Args:
        format: format of the file.
        name: name of the matrix.
        source: source of the numbers.
        shape: rows, columns.
        nonzeros: total number.
        symmetric: whether the pattern equals its transpose.
        locality: distance of neighbours on a line of length 1 (see ``wiring``); 1 for no locality.
        classes: for a matrix that is not square, the classes of rows, then of columns.
        nonzeros_between: at ``[a][b]``, the nonzeros in rows of class a and columns of class b.
    """

    format: Literal["fiberscope profile 1"] = "fiberscope profile 1"
    name: str
    source: str
    shape: tuple[_Size, _Size]
    nonzeros: _Count
    symmetric: bool
    locality: Annotated[float, Field(gt=0, le=1)] = 1
    classes: tuple[NodeClass, ...]
    nonzeros_between: tuple[tuple[_Count, ...], ...]

    @property
    def square(self) -> bool:
        """Return whether row i and column i are one node."""
        return self.shape[0] == self.shape[1]

    def degrees(self) -> tuple[Integers, Integers, Integers]:
        """Return class, row nonzeros and column nonzeros of every node, by class.

        The arrays are new, so that the caller may change them.
        """
        groups = [(kind, *row) for kind, class_ in enumerate(self.classes) for row in class_.degrees]
        kinds, counts, rows, columns = np.array(groups, dtype=np.int64).reshape(-1, 4).T
        return np.repeat(kinds, counts), np.repeat(rows, counts), np.repeat(columns, counts)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        """Check that classes, degrees and the nonzeros between classes agree.

        Not checked: that some matrix has these degrees, and that a matrix which is not square has its rows in
        the first classes.
        """
        class_nonzeros = np.array(self.nonzeros_between, dtype=np.int64)
        kinds, rows, columns = self.degrees()
        count = len(self.classes)
        nodes = self.shape[0] if self.square else sum(self.shape)
        _require(len(kinds) == nodes, f"the classes have {len(kinds)} nodes; the shape has {nodes}")
        _require(
            class_nonzeros.shape == (count, count), f"nonzeros_between is not {count} x {count}, by class"
        )
        _require(
            class_nonzeros.sum() == self.nonzeros,
            f"nonzeros_between sums to {class_nonzeros.sum()}, not to nonzeros",
        )
        for axis, degree, sums in (
            ("row", rows, class_nonzeros.sum(axis=1)),
            ("column", columns, class_nonzeros.sum(axis=0)),
        ):
            expected = np.bincount(kinds, weights=degree, minlength=count).astype(np.int64)
            for kind in np.flatnonzero(expected != sums).tolist():
                _require(
                    False, f"class {kind} has {expected[kind]} {axis} nonzeros; nonzeros_between {sums[kind]}"
                )
        self._check_capacity(class_nonzeros)
        return self

    def _check_capacity(self, class_nonzeros: Integers) -> None:
        """Check that distinct nonzeros fit between any two classes, also with a symmetric pattern."""
        sizes = np.array([class_.nodes for class_ in self.classes], dtype=np.int64)
        diagonal = np.diag([class_.diagonal for class_ in self.classes])
        # off the diagonal, a class of n nodes has n * n - n positions with itself
        crowded = np.argwhere(class_nonzeros - diagonal > np.outer(sizes, sizes) - np.diag(sizes))
        for row, column in crowded.tolist():
            _require(False, f"nonzeros_between[{row}][{column}] is more than its classes have places for")
        if self.symmetric:
            # off the diagonal, each nonzero within a class has a mirror image in the same class
            odd = ((class_nonzeros - diagonal).diagonal() % 2).any()
            _require(
                bool((class_nonzeros == class_nonzeros.T).all()), "symmetric, and nonzeros_between is not"
            )
            _require(not odd, "symmetric, and a class has an odd number of nonzeros off the diagonal")


def _require(holds: bool, fault: str) -> None:
    if not holds:
        raise ValueError(fault)


def measure_profile(matrix: CsrArray, name: str, source: str) -> Profile:
    """Return the profile of a matrix, without its locality.

    Args:
        matrix: canonical CSR.
        name: name of the matrix.
        source: source of the matrix, for the reader of the profile.
    """
    rows, columns = matrix.shape
    row = np.repeat(np.arange(rows, dtype=np.int64), np.diff(matrix.indptr))
    column = matrix.indices
    if rows != columns:  # treated as two sets of nodes, one of rows and one of columns
        column = column + rows
    nodes = rows if rows == columns else rows + columns
    row_counts, column_counts = (np.bincount(ends, minlength=nodes) for ends in (row, column))
    # the larger of both degrees determines the class of a node
    kinds = _assign_classes(np.maximum(row_counts, column_counts), first_set=rows)
    count = int(kinds.max()) + 1
    class_nonzeros = np.bincount(kinds[row] * count + kinds[column], minlength=count * count).reshape(
        count, count
    )
    # all 0 if the matrix is not square, because its columns are numbered after its rows
    diagonal = np.bincount(kinds[row[row == column]], minlength=count)
    classes = [
        NodeClass(
            degrees=_group_degrees(row_counts[kinds == kind], column_counts[kinds == kind]),
            diagonal=diagonal_count,
        )
        for kind, diagonal_count in enumerate(diagonal.tolist())
    ]
    return Profile(
        name=name,
        source=source,
        shape=(rows, columns),
        nonzeros=matrix.nnz,
        symmetric=rows == columns and _is_symmetric(matrix),
        classes=tuple(classes),
        nonzeros_between=tuple(map(tuple, class_nonzeros.tolist())),
    )


def _assign_classes(degree: Integers, first_set: int) -> Integers:
    """Return the class of every node, without gaps; nodes from ``first_set`` on have separate classes."""
    # the number of least degrees that a degree reaches: 0 for degree 0
    kinds = np.searchsorted(LEAST_DEGREES, degree, side="right")
    kinds[first_set:] += len(LEAST_DEGREES) + 1
    dense: Integers = np.unique(kinds, return_inverse=True)[1].astype(np.int64)
    return dense


def _group_degrees(rows: Integers, columns: Integers) -> tuple[tuple[int, int, int], ...]:
    pairs, counts = np.unique(np.stack([rows, columns]), axis=1, return_counts=True)
    return tuple(zip(counts.tolist(), *pairs.tolist(), strict=True))


def _is_symmetric(matrix: CsrArray) -> bool:
    transpose = matrix.T.tocsr()
    transpose.sort_indices()
    # the pattern alone: values may differ
    return all((getattr(matrix, part) == getattr(transpose, part)).all() for part in ("indptr", "indices"))


def read_profile(path: str | Path) -> Profile:
    """Read a profile file, as ``fiberscope profile`` writes it.

    Raises:
        WorkloadError: no such file, no JSON, or numbers that contradict each other.
    """
    try:
        return Profile.model_validate_json(Path(path).read_bytes())
    except OSError as error:
        names = ", ".join(profiles())
        remedy = f"give a file, or one of {names}"
        raise WorkloadError(f"cannot be read ({error.strerror})", location=str(path), fix=remedy) from None
    except ValidationError as error:
        first_error = error.errors()[0]
        key = "".join(f"{part}: " for part in (".".join(map(str, first_error["loc"])),) if part)
        fault = f"no profile: {key}{first_error['msg'].removeprefix('Value error, ')}"
        raise WorkloadError(fault, location=str(path), fix="write one with `fiberscope profile`") from None


@functools.cache
def profiles() -> dict[str, Profile]:
    """Return the profiles that ship with Fiberscope, by the matrix's registry name."""
    folder = resources.files("fiberscope.workloads").joinpath("profiles")
    texts = sorted(
        file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".json")
    )
    return {profile.name: profile for profile in map(Profile.model_validate_json, texts)}
