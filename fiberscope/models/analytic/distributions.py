"""Density models by the names of the problem section, with a tensor's file for actual data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import le
from pathlib import Path
from typing import Any

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.models.analytic.counted_densities import Actual, Banded
from fiberscope.models.analytic.density import Density
from fiberscope.models.analytic.uniform import FixedStructured, Uniform
from fiberscope.workloads.errors import WorkloadError, suggest
from fiberscope.workloads.opening import load_tensor


def build_density(
    value: float | Mapping[str, Any], shape: Sequence[int], *, where: str = "density", folder: Path = Path()
) -> Density:
    """Return the density model of a specification.

    Args:
        value: a number is the density of ``fixed_structured``. A mapping has the name of the ``distribution``
            (default: ``hypergeometric``) and its parameter: ``density``, ``band_width`` (half width) or
            ``data``, a file as of ``load_actual``.
        shape: size of each rank of the tensor.
        where: place of the specification, for messages.
        folder: base folder of relative file names.

    Raises:
        InputError: the specification or its file is invalid.
    """
    fields = (
        dict(value) if isinstance(value, Mapping) else {"distribution": "fixed_structured", "density": value}
    )
    name = str(fields.pop("distribution", "hypergeometric")).replace("-", "_")
    if name not in DISTRIBUTIONS:
        raise InputError(f"{where}: unknown distribution {name!r}; {suggest(name, DISTRIBUTIONS)}")
    key, make = DISTRIBUTIONS[name]
    if key not in fields:
        raise InputError(f"{where}: distribution {name} needs {key!r}")
    for other in (field for field in fields if field != key):
        raise InputError(f"{where}: distribution {name} has no {other!r}; leave it out")
    try:
        return make(fields[key], tuple(shape), folder)
    except (ValueError, OSError) as fault:
        raise InputError(f"{where}: {fault}") from None


def _share(value: object) -> float:
    try:
        share = float(str(value))
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"a density is a number from 0 to 1, not {value!r}")
    return share


def _build_structured(value: object, shape: Sequence[int], folder: Path) -> Density:
    return FixedStructured(shape, _share(value))


def _build_uniform(value: object, shape: Sequence[int], folder: Path) -> Density:
    return Uniform(shape, _share(value))


def _build_banded(value: object, shape: Sequence[int], folder: Path) -> Density:
    if not isinstance(value, int):
        raise ValueError(f"a band's half width is a whole number, not {value!r}")
    return Banded(shape, value)


def load_actual(value: object, shape: Sequence[int], folder: Path = Path()) -> Actual:
    """Return the density model of the nonzeros in a file.

    Args:
        value: name of the file: ``.npy``, or ``.txt`` with a 0 or a 1 for each element in row-major order of
            the shape; ``.tns`` with coordinates of a tensor of any order, which may be smaller than the
            shape; any other file is read as a matrix, as by every command.
        shape: required shape of the tensor.
        folder: base folder of relative names.

    Raises:
        ValueError: the file has another shape, or (other than ``.txt``) does not exist or cannot be read.
        OSError: a file ``.txt`` does not exist or cannot be read.
    """
    path = folder / str(value)
    if path.suffix == ".txt":
        return Actual(shape, np.argwhere(_mask(path, shape)))
    # a name that is no file may be that of a matrix that ships or can be downloaded
    return _count_entries(str(path) if path.exists() else str(value), shape)


def _mask(path: Path, shape: Sequence[int]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    digits = np.frombuffer("".join(path.read_text().replace(",", " ").split()).encode(), np.uint8) - ord("0")
    if (digits > 1).any():  # the digits have no sign: characters below "0" are large numbers here
        raise ValueError(f"{path} may hold nothing but 0 and 1")
    if digits.size != np.prod(shape):
        raise ValueError(
            f"{path} holds {digits.size} elements, "
            f"and the tensor of {_format_shape(shape)} has {np.prod(shape)}"
        )
    return digits.reshape(tuple(shape))


def _count_entries(name: str, shape: Sequence[int]) -> Actual:
    """Return the density model of the nonzero entries of a tensor."""
    try:
        tensor = load_tensor(name).tensor
    except WorkloadError as fault:
        raise ValueError(str(fault)) from None
    reaches = name.endswith((".tns", ".tns.gz"))  # the largest coordinates determine the shape
    fits = len(tensor.shape) == len(shape) and all(map(le, tensor.shape, shape))
    if tensor.shape != tuple(shape) and not (reaches and fits):
        raise ValueError(f"{name} is {_format_shape(tensor.shape)}, and the tensor is {_format_shape(shape)}")
    is_nonzero = tensor.values != 0
    return Actual(shape, np.stack([column[is_nonzero] for column in tensor.coordinates], axis=1))


def _format_shape(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "a scalar"


DISTRIBUTIONS = {  # by name: the required key, and the constructor
    "fixed_structured": ("density", _build_structured),
    "hypergeometric": ("density", _build_uniform),
    "uniform": ("density", _build_uniform),
    "banded": ("band_width", _build_banded),
    "actual": ("data", load_actual),
}
