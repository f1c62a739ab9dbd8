"""Operands of a graph: files, folders, names, generators, numbers, or arrays in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.models.graphs import experiment_tensors
from fiberscope.models.graphs.cut_tensors import split_tensor
from fiberscope.models.graphs.expression import Assignment, list_accesses, list_expressions
from fiberscope.models.graphs.faults import Unreadable
from fiberscope.models.graphs.folder import read_folder
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.splits import count_parts, name_parts
from fiberscope.models.graphs.storage import StoredTensor, scalar, store
from fiberscope.workloads.expressions.expression import Split
from fiberscope.workloads.named_tensor import NamedTensor, generate_tensor
from fiberscope.workloads.opening import open_tensor
from fiberscope.workloads.tensor import SparseTensor

ONES = "ones"
SPARSE = 0.1  # share of nonzero values below which a densely stored tensor gets a note
Readings: TypeAlias = Mapping[str, Sequence[tuple[str, ...]]]  # index variables of each access, by tensor


@dataclass(frozen=True)
class Operand:
    """A stored tensor and its origin.

    Args:
        name, source, origin, notice: as in ``fiberscope.workloads.Workload``.
        stored: the tensor in the layout of the graph.
        nonzeros: number of entries before storage; dense levels add explicit zeros. For a folder, all of its
            values count; a number counts as one entry.
        has_shape: whether the shape is explicit, and not just the largest coordinates.
        undivided: the undivided tensor if ``stored`` is divided into chunks; else None.
    """

    name: str
    source: Literal["real", "surrogate", "generated", "memory"]
    origin: str
    notice: str | None
    stored: StoredTensor
    nonzeros: int
    has_shape: bool = True
    undivided: SparseTensor | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the sizes of the undivided dimensions."""
        return self.stored.shape if self.undivided is None else self.undivided.shape

    def entries(self) -> SparseTensor:
        """Return the coordinates of all entries by dimension, and their values."""
        return self.stored.entries() if self.undivided is None else self.undivided

    @property
    def digest(self) -> str:
        """Return the sha256 of shape, coordinates and values."""
        return self.entries().digest


def load_operands(
    graph: Graph,
    operands: Mapping[str, object],
    *,
    exact: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Operand]:
    """Load the operands of a graph, by name, in the layout of the graph.

    Args:
        graph: a checked graph.
        operands: by tensor: a path, a folder, a name or generator, ``ones``, a number, or an array of numpy
            or scipy. Each name is an operand of the graph, see ``check``.
        exact: refuse a surrogate of a matrix that cannot be downloaded.
        progress: called during a download with the bytes read so far and the bytes in total.

    Raises:
        InputError, WorkloadError: an operand cannot be loaded, or the shapes of two operands disagree.
    """
    loaded: dict[str, NamedTensor | Operand] = {}
    for name, format in formats_of_operands(graph, operands).items():
        if not _is_ones(operands[name]):
            loaded[name] = _open_operand(name, operands[name], format, exact, progress)
    variables = _list_variables(graph)
    loaded = {
        name: _transpose_if_needed(name, operand, loaded, variables) for name, operand in loaded.items()
    }
    sizes = _determine_common_sizes(loaded, variables)
    # ``ones`` takes its shape from the other operands, so it comes after their sizes
    for name, operand in operands.items():
        if _is_ones(operand):
            shape = _shape_of_ones(name, variables, sizes)
            loaded[name] = generate_tensor(ONES, experiment_tensors.ones(shape))
    stored = {name: _store(graph, name, loaded[name], variables, sizes) for name in operands}
    return {name: _add_dense_note(name, operand) for name, operand in stored.items()}


def _add_dense_note(name: str, operand: Operand) -> Operand:
    """Return the operand, with a note if less than a tenth of its densely stored values is nonzero."""
    tensor = operand.stored
    nonzeros, values = int(np.count_nonzero(tensor.values)), len(tensor.values)
    if not any(level.has_all_coordinates for level in tensor.format.levels) or nonzeros >= SPARSE * values:
        return operand
    compressed = replace(tensor.format, letters="s" * len(tensor.levels))
    note = (
        f"NOTE: {name} is stored dense ({name}:{tensor.format.text}), and {nonzeros:,} of its {values:,} "
        f"values are nonzero ({nonzeros / values:.2%}); {name}:{compressed.text} stores nonzeros only"
    )
    return replace(operand, notice="; ".join(filter(None, (operand.notice, note))))


def determine_sizes(graph: Graph, operands: Mapping[str, Operand]) -> dict[str, int]:
    """Return the size of each index variable.

    Raises:
        InputError: two tensors disagree on a size, or an index variable is split and no expression of the
            graph can be derived.
    """
    sizes = _determine_common_sizes(operands, _list_variables(graph))
    for assignment in _list_assignments(graph):
        if isinstance(assignment.expression, Split):
            outer, inner = assignment.result.variables
            undivided_size = sizes[assignment.expression.operand.variables[0]]
            # rounded up, since the last chunk may be incomplete
            sizes[outer] = -(-undivided_size // assignment.expression.factor)
            sizes[inner] = assignment.expression.factor
    for variable, chunk in graph.splits.items():
        sizes |= dict(zip(name_parts(variable), count_parts(sizes[variable], chunk), strict=True))
    return sizes


def _list_assignments(graph: Graph) -> list[Assignment]:
    """Return the assignments of the graph; empty if they cannot be derived.

    Raises:
        InputError: the graph splits index variables, and the assignments cannot be derived.
    """
    try:
        return list_expressions(graph)
    except Unreadable as error:
        if graph.splits:
            raise InputError(f"no tensor can be cut for split={','.join(graph.splits)}: {error}") from None
        return []


def format_of_operand(graph: Graph, name: str) -> Format:
    """Return the format in which a graph stores a tensor that it reads, with split dimensions.

    Args:
        graph: a checked graph.
        name: name of the tensor.
    """
    scanners = (node for node in graph.nodes.values() if node.primitive.scans and node["tensor"] == name)
    return graph.format_of(name, scanners)


def formats_of_operands(graph: Graph, names: Iterable[str]) -> dict[str, Format]:
    """Return the format of each tensor in files: that of the graph, or compressed for a split tensor.

    Args:
        graph: a checked graph.
        names: names of operands of the graph.
    """
    variables, formats = _list_variables(graph), {}
    for name in names:
        tensor_variables = variables.get(name, ((),))[0]
        is_split = bool(graph.splits.keys() & set(tensor_variables))
        # files have the undivided tensor, whose dimensions are fewer than the levels in the graph
        compressed = Format("s" * len(tensor_variables), tuple(range(len(tensor_variables))))
        formats[name] = compressed if is_split else format_of_operand(graph, name)
    return formats


def _list_variables(graph: Graph) -> Readings:
    """Return the index variables of each access by tensor, in the order of dimensions.

    Without assignments, the scanners of a tensor that is read once determine the variables.
    """
    readings: dict[str, list[tuple[str, ...]]] = {}
    assignments = _list_assignments(graph)
    for access in list_accesses(assignments):
        readings.setdefault(access.tensor, []).append(access.variables)
    if assignments:
        return readings
    scanners: dict[str, list[Node]] = {}
    for node in graph.nodes.values():
        if node.primitive.scans and node["index"]:
            scanners.setdefault(node["tensor"], []).append(node)
    for tensor, nodes in scanners.items():
        by_mode = {int(node["mode"]): node["index"] for node in nodes}
        if sorted(int(node["mode"]) for node in nodes) == list(range(len(nodes))):
            readings[tensor] = [tuple(by_mode[mode] for mode in range(len(nodes)))]
    return readings


def _open_operand(
    name: str, operand: object, format: Format, exact: bool, progress: Callable[[int, int], None] | None
) -> NamedTensor | Operand:
    """Open an operand; only a number or a folder is stored already, other tensors await the common sizes."""
    # a path is never a number
    if isinstance(operand, str) and (number := _number(name, operand)) is not None:
        if format.order:
            raise InputError(
                f"{name}={operand}: {name} has {_format_dimensions(len(format.order))}, "
                f"and {operand} is a number; name a tensor, or write {name}=ones"
            )
        return Operand(operand, "memory", operand, None, scalar(number), 1)
    graph_operand = _open_graph_operand(str(operand), format) if isinstance(operand, str | Path) else None
    if isinstance(graph_operand, Operand):
        return graph_operand
    tensor = graph_operand or open_tensor(operand, name, exact=exact, progress=progress)
    return tensor.of_order(len(format.order), name)


def _open_graph_operand(text: str, format: Format) -> NamedTensor | Operand | None:
    """Open an operand that only graphs accept: a tensor of the SAM paper or a folder; else None."""
    if experiment_tensors.is_published(text):
        tensor, description = experiment_tensors.generate(text)
        return generate_tensor(description, tensor)
    if Path(text).is_dir():
        stored, sized = read_folder(Path(text), format)
        return Operand(Path(text).name, "real", Path(text).name, None, stored, len(stored.values), sized)
    return None


def _format_dimensions(count: int) -> str:
    return f"{count} dimension{'' if count == 1 else 's'}"


def _is_ones(operand: object) -> bool:
    return isinstance(operand, str) and operand == ONES


def _number(name: str, text: str) -> float | None:
    """Return the number in the text of an operand; a file whose name is a number needs a folder, as in ./5.

    Raises:
        InputError: the number is not finite.
    """
    if "_" in text or not text.isascii():  # Python's numbers have underscores and other digits
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    if not isfinite(number):
        raise InputError(f"{name}={text}: a number has to be finite; a file of this name is ./{text}")
    return number


def _shape(operand: NamedTensor | Operand) -> tuple[int, ...]:
    return operand.shape if isinstance(operand, Operand) else operand.tensor.shape


def _transpose_if_needed(
    name: str,
    operand: NamedTensor | Operand,
    loaded: Mapping[str, NamedTensor | Operand],
    variables: Readings,
) -> NamedTensor | Operand:
    """Transpose a matrix whose shape fits the other operands only when transposed, and add a notice."""
    other_operands = {key: value for key, value in loaded.items() if key != name and value.has_shape}
    readings = variables.get(name, ())
    if (
        isinstance(operand, Operand)
        or len(_shape(operand)) != 2
        or len(readings) != 1
        or not operand.has_shape
    ):
        return operand
    # conflicts of the others are reported later, after every operand has been transposed if needed
    sizes = _determine_common_sizes(other_operands, variables, ignore_conflicts=True)
    expected_sizes = [sizes.get(variable) for variable in readings[0]]
    shape = _shape(operand)
    fits, fits_transposed = (
        _has_expected_shape(expected_sizes, shape),
        _has_expected_shape(expected_sizes, shape[::-1]),
    )
    # an unknown size fits any shape, and would not justify a transposition
    if fits or not fits_transposed or None in expected_sizes:
        return operand
    size = f"{shape[0]} x {shape[1]}"
    notice = f"NOTE: {name} ({operand.name}) is {size} and fits only transposed; its transpose is used"
    return replace(operand, tensor=operand.tensor.transposed((1, 0)), notice=notice)


def _has_expected_shape(expected_sizes: list[int | None], shape: tuple[int, ...]) -> bool:
    return all(expected in (None, size) for expected, size in zip(expected_sizes, shape, strict=True))


def _determine_common_sizes(
    loaded: Mapping[str, NamedTensor | Operand], variables: Readings, *, ignore_conflicts: bool = False
) -> dict[str, int]:
    """Return the size of each index variable; a shape that is not explicit gives only a lower bound."""
    sizes: dict[str, tuple[int, str]] = {}  # by variable: the size, and the operand that determined it
    for sized in (True, False):  # explicit shapes first: they must agree, the others may only enlarge a size
        for name, operand in loaded.items():
            readings = variables.get(name, ())
            for variable, size in (
                pair for reading in readings for pair in zip(reading, _shape(operand), strict=False)
            ):
                known_size, first_name = sizes.setdefault(variable, (size, name))
                if operand.has_shape is not sized:
                    continue
                if size != known_size and sized and loaded[first_name].has_shape and not ignore_conflicts:
                    raise InputError(
                        f"{variable} has {known_size} coordinates in {first_name} and {size} in {name}; "
                        "the two must be equal"
                    )
                if size > known_size:
                    sizes[variable] = (size, name)
    return {variable: size for variable, (size, _name) in sizes.items()}


def _shape_of_ones(name: str, variables: Readings, sizes: Mapping[str, int]) -> tuple[int, ...]:
    # ``?`` is never among the sizes: a tensor without a known access has no shape
    reading = variables.get(name, [("?",)])[0]
    missing = [variable for variable in reading if variable not in sizes]
    if missing:
        message = f"{name}=ones: no other tensor says how large {', '.join(missing)} is"
        raise InputError(f"{message}; write {name}=ones:shape=4x5")
    return tuple(sizes[variable] for variable in reading)


def _store(
    graph: Graph, name: str, operand: NamedTensor | Operand, variables: Readings, sizes: Mapping[str, int]
) -> Operand:
    """Store a tensor in the format of the graph; a shape that is not explicit grows to the sizes."""
    reading = next(iter(variables.get(name, ())), ())
    is_split = bool(graph.splits.keys() & set(reading))
    if isinstance(operand, Operand) and not is_split:
        return operand
    tensor = operand.entries() if isinstance(operand, Operand) else operand.tensor
    if not operand.has_shape:
        dimensions = [sizes.get(variable, 0) for variable in reading]
        tensor = tensor.at_least(dimensions) if len(dimensions) == tensor.order else tensor
    format = format_of_operand(graph, name)
    try:
        stored = store(split_tensor(tensor, reading, graph.splits) if is_split else tensor, format)
    except InputError as error:
        raise InputError(f"{name}={format}: {error}") from error
    undivided = tensor if is_split else None
    nonzeros = operand.nonzeros if isinstance(operand, Operand) else tensor.nonzeros
    return Operand(
        operand.name,
        operand.source,
        operand.origin,
        operand.notice,
        stored,
        nonzeros,
        operand.has_shape,
        undivided,
    )
