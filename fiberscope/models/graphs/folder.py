"""Read a tensor from a folder of ``seg`` and ``crd`` files for each level, and a file of values.

The name of a file contains its kind (``seg``, ``crd``, ``val`` or ``shape``), and the number of its level
from the outermost (``seg0``, ``B1_crd.txt``, ``tensor_B_mode_0_seg``; optional for a vector). A level without
files is dense, and needs the file ``shape``. Blanks, commas, semicolons, brackets or newlines separate
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.levels.compressed import CompressedLevel
from fiberscope.models.graphs.levels.dense import DenseLevel
from fiberscope.models.graphs.levels.level import Level
from fiberscope.models.graphs.storage import StoredTensor, assemble_tensor
from fiberscope.workloads.array_checks import as_integers, as_shape, check_finite
from fiberscope.workloads.canonical import Integers, Values
from fiberscope.workloads.errors import WorkloadError

KINDS = ("seg", "crd", "val", "shape")


def read_folder(path: Path, format: Format) -> tuple[StoredTensor, bool]:
    """Return the tensor of a folder, and whether the folder has its shape.

    Args:
        path: path of the folder.
        format: number of levels, and the dimension of each; the files determine which levels are compressed.

    Raises:
        WorkloadError: a file is missing, unreadable or inconsistent.
    """
    files = _find_files(path)
    if ("val", 0) not in files:
        raise WorkloadError("there is no file of values", location=str(path), fix="name it vals")
    shape = None
    if ("shape", 0) in files:
        shape = as_shape(_read_numbers(files["shape", 0]), str(files["shape", 0])) if format.order else ()
    if shape is not None and len(shape) != len(format.order):
        message = f"the shape has {len(shape)} sizes, and the graph reads {len(format.order)} dimensions"
        raise WorkloadError(message, location=str(files["shape", 0]))
    sizes = list(shape) if shape is not None else _derive_sizes(files, format, path)
    levels = _read_levels(files, format, sizes, path)
    values = _read_numbers(files["val", 0])
    try:
        tensor = assemble_tensor(sizes, _format(levels, format), levels, values)
    except ValueError as error:
        raise WorkloadError(str(error), location=str(path)) from error
    _check(tensor, path)
    check_finite(values, [np.arange(len(values))], str(files["val", 0]))
    return tensor, shape is not None


def _find_files(path: Path) -> dict[tuple[str, int], Path]:
    """Return the files of a folder by kind and level; the files of values and of the shape have level 0."""
    files = {}
    for file in sorted(path.rglob("*")):
        # the path in the folder, as a subfolder may name the level; of two files of a level the last counts
        name = str(file.relative_to(path)).lower()
        kind = next((kind for kind in KINDS if kind in name.replace("vals", "val")), None)
        if file.is_file() and kind is not None:
            # earlier numbers, as in ``B1_mode_0_seg``, belong to the name of the tensor
            numbers = re.findall(r"\d+", name)
            level = int(numbers[-1]) if numbers and kind in ("seg", "crd") else 0
            files[kind, level] = file
    return files


def _derive_sizes(files: dict[tuple[str, int], Path], format: Format, path: Path) -> list[int]:
    """Return the sizes of the dimensions, as far as the coordinates determine them: 1 without coordinates.

    Raises:
        WorkloadError: a level has no coordinates file, so that only a shape could tell its size.
    """
    sizes = [0] * len(format.order)
    for level, dimension in enumerate(format.order):
        if ("crd", level) not in files:
            raise WorkloadError(
                f"level {level} has no crd file", location=str(path), fix="say its size in shape"
            )
        coordinates = _read_integers(files["crd", level])
        sizes[dimension] = int(coordinates.max()) + 1 if len(coordinates) else 1
    return sizes


def _read_levels(
    files: dict[tuple[str, int], Path], format: Format, sizes: Sequence[int], path: Path
) -> list[Level]:
    """Return the levels of a tensor from its files; a level without files is dense."""
    levels: list[Level] = []
    count = 1
    for number, dimension in enumerate(format.order):
        kinds = [kind for kind in ("seg", "crd") if (kind, number) in files]
        if len(kinds) == 1:
            raise WorkloadError(f"level {number} has a {kinds[0]} file alone", location=str(path))
        level: Level = DenseLevel(int(sizes[dimension]), count)
        if kinds:
            level = CompressedLevel(
                _read_integers(files["seg", number]), _read_integers(files["crd", number])
            )
        levels.append(level)
        count = level.children
    return levels


def _format(levels: Sequence[Level], format: Format) -> Format:
    letters = "".join("d" if isinstance(level, DenseLevel) else "s" for level in levels)
    return Format(letters, format.order)


def _check(tensor: StoredTensor, path: Path) -> None:
    """Refuse segments that do not divide the coordinates, and coordinates out of range or order."""
    for number, level in enumerate(tensor.levels):
        if not isinstance(level, CompressedLevel):
            continue
        segments, size = level.segments, tensor.shape[tensor.format.order[number]]
        fault = None
        if segments[0] != 0 or segments[-1] != len(level.coordinates) or (np.diff(segments) < 0).any():
            fault = f"seg must rise from 0 to {len(level.coordinates)}, the number of coordinates"
        elif len(level.coordinates) and not 0 <= level.coordinates.min() <= level.coordinates.max() < size:
            fault = f"coordinates must lie from 0 to {size - 1}"
        elif not _has_increasing_coordinates(level):
            fault = "coordinates must increase within a fiber"
        if fault:
            raise WorkloadError(f"level {number}: {fault}", location=str(path))


def _has_increasing_coordinates(level: CompressedLevel) -> bool:
    """Return whether the coordinates increase within each fiber."""
    # step n leads from element n to element n + 1
    steps = np.diff(level.coordinates) > 0
    begins = level.segments[(level.segments > 0) & (level.segments < len(level.coordinates))]
    steps[begins - 1] = True  # a new fiber may begin at any coordinate
    return bool(steps.all())


def _read_integers(file: Path) -> Integers:
    return as_integers(_read_numbers(file), "segments and coordinates", str(file))


def _read_numbers(file: Path) -> Values:
    try:
        # Python's numbers have underscores, which no program writes
        fields = re.sub(r"[\[\],;]", " ", file.read_text(encoding="utf-8").replace("_", "?")).split()
        return np.array(fields, dtype=np.float64)
    except OSError as error:
        raise WorkloadError(f"cannot be read: {error.strerror}", location=str(file)) from error
    except ValueError as error:
        raise WorkloadError("not a list of numbers", location=str(file)) from error
