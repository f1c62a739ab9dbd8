"""Reader of the section ``problem``: dimensions, tensors and densities."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from fiberscope.base.errors import InputError
from fiberscope.models.analytic.density import Density
from fiberscope.models.analytic.distributions import build_density
from fiberscope.models.analytic.problem import Problem, Rank, Tensor
from fiberscope.models.analytic.schema import DataSpaceSchema, ProblemSchema, parse_number
from fiberscope.models.analytic.source import Location
from fiberscope.models.analytic.uniform import FixedStructured
from fiberscope.workloads.errors import suggest

LARGEST = 1 << 53  # computes; a double counts them exactly. Bounds and coefficients are below it


def read_problem(
    schema: ProblemSchema, location: Location, folder: Path, notes: list[str] | None = None
) -> Problem:
    """Return the problem of a section.

    Args:
        schema: the section, checked against its schema.
        location: location of the section in its document, for messages.
        folder: base folder of the names of data files.
        notes: list to which notes for the user are appended: names in ``instance`` that the problem does not
            use.

    Raises:
        ConfigurationError: a name does not exist or occurs twice, a bound is missing, a number is out of
            range, a density is invalid, no data space is written, or there are too many computes.
    """
    shape = schema.shape
    unused = _check_names(schema, location)
    if unused and notes is not None:
        notes.append(
            f"{location.document.name}: instance has names that the shape does not use: {', '.join(unused)}"
        )
    bounds = tuple(_bound(schema, location, dimension) for dimension in shape.dimensions)
    coefficients = {
        coefficient.name: _parse_positive_integer(
            schema.instance, coefficient.name, coefficient.default, location
        )
        for coefficient in shape.coefficients
    }
    data_spaces = location / "shape" / "data_spaces"
    tensors = tuple(
        _read_tensor(data_space, data_spaces / number, shape.dimensions, coefficients)
        for number, data_space in enumerate(shape.data_spaces)
    )
    # densities need the shapes of the tensors, so the problem is built twice
    problem = Problem(shape.name, tuple(shape.dimensions), bounds, tensors, ())
    if problem.operations > LARGEST:
        raise (location / "instance").error(f"a problem has at most {LARGEST} computes")
    densities = _read_densities(schema, location, problem, folder)
    return Problem(problem.name, problem.dimensions, bounds, tensors, densities)


def _check_names(schema: ProblemSchema, location: Location) -> list[str]:
    """Refuse duplicate names, and return the unused names of ``instance``."""
    shape, instance = schema.shape, schema.instance
    names = [data_space.name for data_space in shape.data_spaces]
    for kind, all_names in (("dimension", shape.dimensions), ("data space", names)):
        duplicates = [name for name in all_names if all_names.count(name) > 1]
        if duplicates:
            raise (location / "shape").error(f"{kind} {duplicates[0]} is given twice")
    keys = [
        *shape.dimensions,
        *(coefficient.name for coefficient in shape.coefficients),
        "densities",
        "commonDensity",
    ]
    if all(not data_space.read_write for data_space in shape.data_spaces):
        raise (location / "shape" / "data_spaces").error(
            "no data space is written; one needs read_write: true"
        )
    return [key for key in instance if key not in keys]


def _bound(schema: ProblemSchema, location: Location, dimension: str) -> int:
    if dimension not in schema.instance:
        raise (location / "instance").error(f"instance has no bound of dimension {dimension}")
    return _parse_positive_integer(schema.instance, dimension, 1, location)


def _parse_positive_integer(instance: Mapping[str, Any], name: str, default: int, location: Location) -> int:
    number = instance.get(name, default)
    value_location = location / "instance" / name
    try:
        value = parse_number(number)
    except ValueError as fault:
        raise value_location.error(f"{name} is {_describe(number)}; {fault}") from None
    if not isinstance(value, int) or not 1 <= value < 1 << 53:
        raise value_location.error(f"{name} is {_describe(number)}; it should be a whole number from 1 on")
    return value


def _describe(value: object) -> str:
    return "a section" if isinstance(value, Mapping) else "a list" if isinstance(value, list) else str(value)


def _read_tensor(
    schema: DataSpaceSchema, location: Location, dimensions: list[str], coefficients: Mapping[str, int]
) -> Tensor:
    ranks = []
    for number, rank in enumerate(schema.projection):
        rank_location = location / "projection" / number
        ranks.append(Rank(tuple(_parse_term(term, rank_location, dimensions, coefficients) for term in rank)))
    return Tensor(schema.name, tuple(ranks), schema.read_write)


def _parse_term(
    term: list[str], location: Location, dimensions: list[str], coefficients: Mapping[str, int]
) -> tuple[int, int]:
    """Return the coefficient and the index of a dimension; the two names have either order."""
    dimension_names = [name for name in term if name in dimensions]
    factors = [name for name in term if name in coefficients]
    unknown = [name for name in term if name not in dimensions and name not in coefficients]
    if unknown:
        raise location.error(
            f"{unknown[0]} is no dimension; {suggest(unknown[0], [*dimensions, *coefficients])}"
        )
    if len(dimension_names) != 1 or len(factors) > 1:
        raise location.error(f"a term is a dimension, or a dimension and a coefficient, not {term}")
    return coefficients[factors[0]] if factors else 1, dimensions.index(dimension_names[0])


def _read_densities(
    schema: ProblemSchema, location: Location, problem: Problem, folder: Path
) -> tuple[Density, ...]:
    """Return the density of each tensor: its own, else the common density for inputs and 1 for outputs."""
    entries = schema.instance.get("densities") or {}
    section = location / "instance" / "densities"
    names = [tensor.name for tensor in problem.tensors]
    if not isinstance(entries, Mapping):
        raise section.error("densities should have the density of each data space under its name")
    for name in entries:
        if name not in names:
            raise (section / name).error(f"there is no data space {name}; {suggest(name, names)}", key=True)
    common = schema.instance.get("commonDensity", 1.0)
    densities: list[Density] = []
    for number, tensor in enumerate(problem.tensors):
        default = 1.0 if tensor.output else common
        shape = problem.shape(number)
        if tensor.name not in entries and default == 1.0:
            densities.append(FixedStructured(shape, 1.0))
            continue
        entry_location = (
            section / tensor.name if tensor.name in entries else location / "instance" / "commonDensity"
        )
        try:
            entry = _check_entry(entries.get(tensor.name, default), entry_location, shape)
            densities.append(build_density(entry, shape, folder=folder))
        except InputError as fault:
            raise entry_location.error(str(fault).removeprefix("density: ")) from None
    return tuple(densities)


_KEYS = ("distribution", "density", "band_width", "data", "workload_tensor_size")


def _check_entry(entry: object, location: Location, shape: tuple[int, ...]) -> Any:  # noqa: ANN401
    """Return an entry of densities with numbers parsed, after a check of its keys and its tensor's size."""
    if isinstance(entry, Mapping):
        for key in entry:
            if key not in _KEYS:
                raise (location / str(key)).error(f"there is no {key}; {suggest(str(key), _KEYS)}", key=True)
        size = entry.get("workload_tensor_size", 0)
        if size not in (0, prod(shape)):  # the front end writes 0 for none
            message = (
                f"workload_tensor_size is {size}, and the tensor has {prod(shape)} elements; leave it out"
            )
            raise (location / "workload_tensor_size").error(message)
        return {
            key: _number(value, location / str(key)) if key in ("density", "band_width") else value
            for key, value in entry.items()
            if key != "workload_tensor_size"
        }
    return _number(entry, location)


def _number(value: object, location: Location) -> object:
    try:
        return parse_number(value)
    except ValueError:
        message = f"a density is a number or a section with a distribution, not {_describe(value)}"
        raise location.error(message) from None
