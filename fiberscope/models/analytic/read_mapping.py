"""Reader of the section ``mapping``: loops and kept tensors of each level."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Map
from typing import Final

import numpy as np

from fiberscope.base.whole_numbers import read_whole_number
from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.mapping import Mapping
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.read_architecture import Directive, format_fan_out_name
from fiberscope.models.analytic.schema import DirectiveSchema
from fiberscope.models.analytic.source import Location
from fiberscope.workloads.errors import suggest

DATA: Final = ("dataspace", "datatype", "bypass")  # types of entries with kept tensors

_FACTOR = re.compile(r"(\w+)\s*(<=|>=|=|==)?\s*(-?\d+)")


class Names:
    """Lookup of levels, dimensions and tensors by name, with errors at the location of the name.

    Args:
        architecture: names the levels.
        problem: names the dimensions and the tensors.
        notes: list to which notes for the user are appended; None discards them.
    """

    def __init__(self, architecture: Architecture, problem: Problem, notes: list[str] | None = None) -> None:
        self.architecture, self.problem = architecture, problem
        self.levels = [level.name for level in architecture.levels]
        self.tensors = [tensor.name for tensor in problem.tensors]
        self.notes = [] if notes is None else notes

    def level(self, directive: DirectiveSchema, location: Location) -> int:
        """Return the level of an entry; the mesh of a container also by its name in processed files.

        Raises:
            ConfigurationError: there is no such level, or the entry has no target.
        """
        name = directive.target.partition("[")[0]
        container = name.removeprefix("inter_").removesuffix("_spatial")
        for candidate in (name, format_fan_out_name(name), container):
            if candidate in self.levels:
                return self.levels.index(candidate)
        if not directive.target:
            raise location.error("an entry needs a target: the level that it is about")
        message = f"there is no level {directive.target}; {suggest(directive.target, self.levels)}"
        raise (location / "target").error(message)

    def outputs_read_first(self, directive: DirectiveSchema, location: Location) -> list[int]:
        """Return the outputs of ``rmw_first_update``; a note names each tensor that is never updated."""
        outputs = []
        for index, name in enumerate(directive.rmw_first_update):
            tensor = self.tensor(name, location / "rmw_first_update" / index)
            if self.problem.tensors[tensor].output:
                outputs.append(tensor)
            else:
                self.notes.append(f"rmw_first_update of {name} has no effect: it is never updated")
        return outputs

    def dimension(self, name: str, location: Location) -> int:
        """Return the index of a dimension of the problem."""
        return location.index_of(name, self.problem.dimensions, "dimension")

    def dimensions(self, names: Sequence[str], location: Location) -> list[int]:
        """Return the indices of several dimensions without duplicates."""
        dimensions = [self.dimension(name, location) for name in names]
        if len(set(dimensions)) < len(dimensions):
            raise location.error(f"{' '.join(names)} has a dimension twice")
        return dimensions

    def tensor(self, name: str, location: Location) -> int:
        """Return the index of a data space of the problem."""
        return location.index_of(name, self.tensors, "data space")

    def factors(self, directive: DirectiveSchema, location: Location) -> Iterator[tuple[str, int, str, int]]:
        """Yield the factors of an entry: text, dimension, relation (=, <= or >=) and bound.

        Raises:
            ConfigurationError: a factor is malformed, or its dimension does not exist.
        """
        location, entries = location / "factors", directive.factors or []
        texts = re.split(r"[\s,]+", entries.strip()) if isinstance(entries, str) else entries
        for text in (entry.strip() for entry in texts):
            if not text:
                continue
            match = _FACTOR.fullmatch(text)
            if match is None:
                raise location.error(f"{self.example}, not {text}")
            # without a relation, as in K16, the greedy name is K1 and the number 6
            name = match[1] if match[2] else match[1].rstrip("0123456789")
            number = read_whole_number(match[3] if match[2] else (match[1] + match[3])[len(name) :])
            if number is None or number >= 1 << 53:
                raise location.error(f"{text}: a bound is a whole number, and 0 for the whole dimension")
            yield text, self.dimension(name, location), (match[2] or "=").replace("==", "="), number

    example = "a factor of a mapping is a dimension and its bound, as K=8"

    def permutation(self, order: str | list[str], location: Location) -> list[int]:
        """Return the dimensions of an order, innermost first; dimensions that it does not list are missing.

        Args:
            order: a list of names, or a text with names between spaces or commas, or with single letters.
            location: its location, for messages.

        Raises:
            ConfigurationError: a name does not exist or occurs twice, or the text is ambiguous.
        """
        names = self._split_letters(order, location) if isinstance(order, str) else order
        return self.dimensions(names, location)

    def _split_letters(self, text: str, location: Location) -> list[str]:
        """Split the text of an order at spaces or commas, else into letters if dimensions are letters."""
        if re.search(r"[\s,]", text.strip()):
            return [name for name in re.split(r"[\s,]+", text.strip()) if name]
        if all(len(name) == 1 for name in self.problem.dimensions):
            if len(text) > 1 and not any("read as single letters" in note for note in self.notes):
                self.notes.append(f"permutations such as {text} are read as single letters, inner to outer")
            return list(text)
        if text in self.problem.dimensions:
            return [text]
        raise location.error(
            f"{text} may mean several dimensions; write a list, as [{', '.join(self.problem.dimensions)}]"
        )


def read_mapping(
    directives: Sequence[Directive],
    location: Location,
    architecture: Architecture,
    problem: Problem,
    notes: list[str],
) -> Mapping:
    """Read a mapping of a problem on a machine.

    Missing loops have one iteration. Missing tensors are kept by every level that stores. A loop with the
    factor 0 takes the iterations that the other loops over the dimension leave; the first of several all.

    Args:
        directives: entries of the section, each with its location; the last entry of the same loops or data
            counts.
        location: location of the section in its document, for messages.
        architecture, problem: machine and problem of the mapping.
        notes: list to which notes for the user are appended.

    Raises:
        ConfigurationError: a name does not exist, an entry is malformed or does not fit its level, or the
            loops do not multiply to the problem's bounds.
    """
    reader = _Reader(architecture, problem, notes)
    for entry, entry_location in directives:
        reader.read(entry, entry_location)
    reader.fill_in(location)
    return Mapping(
        reader.temporal,
        reader.spatial,
        reader.order,
        reader.spatial_order,
        reader.on_y,
        reader.keep,
        reader.reads_first if reader.reads_first.any() else None,
    )


class _Reader(Names):
    """Reader of the directives of a mapping into arrays by level and dimension or tensor."""

    def __init__(self, architecture: Architecture, problem: Problem, notes: list[str]) -> None:
        super().__init__(architecture, problem, notes)
        shape = len(self.levels), len(problem.dimensions)
        self.temporal, self.spatial = np.ones(shape, np.int64), np.ones(shape, np.int64)
        default_order = np.tile(np.arange(shape[1]), (shape[0], 1))
        self.order, self.spatial_order = default_order.copy(), default_order.copy()
        self.on_y = np.zeros(shape, np.bool_)
        stores = [[level.stores] * len(problem.tensors) for level in architecture.levels]
        self.keep = np.array(stores, np.bool_)
        self.reads_first = np.zeros_like(self.keep)
        self.open_bounds: list[tuple[np.ndarray, int, int]] = []  # bounds of 0, to be filled in

    def read(self, directive: DirectiveSchema, location: Location) -> None:
        level = self.level(directive, location)
        if directive.remainders is not None:
            raise (location / "remainders").error(
                "loops with a remainder are not modelled; leave remainders out"
            )
        if directive.type in ("temporal", "spatial"):
            self.loops(level, directive, location)
        elif directive.type in DATA:
            self.data(level, directive, location)

    def loops(self, level: int, directive: DirectiveSchema, location: Location) -> None:
        """Read the bounds, the order and the axes of the temporal or spatial loops of a level."""
        spatial = directive.type == "spatial"
        bounds, orders = (self.spatial, self.spatial_order) if spatial else (self.temporal, self.order)
        for dimension, factor in self.bounds(directive, location).items():
            if factor != 1 and not spatial and not self.architecture.levels[level].stores:
                message = f"{self.levels[level]} stores nothing, so its loops are spatial"
                raise (location / "factors").error(message)
            if factor == 0:
                self.open_bounds.append((bounds, level, dimension))
            bounds[level, dimension] = max(factor, 1)
        if directive.permutation is not None:
            order = self.permutation(directive.permutation, location / "permutation")
            others = [index for index in range(len(self.problem.dimensions)) if index not in order]
            orders[level] = [*order, *others]  # other dimensions are outermost
        if spatial:  # without a split, all loops of the level share one axis
            self.on_y[level] = directive.split is None and self.fans_out_along_y(level)
        if spatial and directive.split is not None:
            self.on_y[level, orders[level][directive.split :]] = True

    def fans_out_along_y(self, level: int) -> bool:
        """Return whether the mesh inside a level is larger along Y alone."""
        machine = self.architecture
        inner = machine.levels[level + 1].mesh if level + 1 < len(self.levels) else machine.compute.mesh
        outer = machine.levels[level].mesh
        return outer[0] == inner[0] and outer[1] < inner[1]

    def bounds(self, directive: DirectiveSchema, location: Location) -> Map[int, int]:
        """Return the factors of an entry by dimension; 0 stands for the remaining iterations."""
        bounds: dict[int, int] = {}
        for text, dimension, relation, number in self.factors(directive, location):
            if relation != "=":
                raise (location / "factors").error(f"{self.example}, not {text}")
            if dimension in bounds:
                name = self.problem.dimensions[dimension]
                raise (location / "factors").error(f"{name} has two factors; leave one out")
            bounds[dimension] = number
        return bounds

    def data(self, level: int, directive: DirectiveSchema, location: Location) -> None:
        """Read which tensors a level keeps, and which outputs it reads before their first update."""
        for key, is_kept in (("keep", True), ("bypass", False)):
            for index, name in enumerate(getattr(directive, key)):
                if is_kept and not self.architecture.levels[level].stores:
                    raise (location / key / index).error(
                        f"{self.levels[level]} stores nothing; leave keep out"
                    )
                self.keep[level, self.tensor(name, location / key / index)] = is_kept
        self.reads_first[level, self.outputs_read_first(directive, location)] = True
        for key in ("no_coalesce", "no_reuse", "no_link_transfer"):
            if getattr(directive, key):
                self.notes.append(f"{key} is not modelled: every tile is reused as its loops allow")
        if not self.keep[0].all():
            raise (location / "bypass").error(
                f"{self.levels[0]} is the outermost level and has to keep everything"
            )

    def fill_in(self, location: Location) -> None:
        """Replace bounds of 0 by the remaining factors, and check the products of all loops."""
        for bounds, level, dimension in self.open_bounds:
            # open bounds are 1 so far: of several, the first takes all that remains and the others stay 1
            product = int((self.temporal[:, dimension] * self.spatial[:, dimension]).prod())
            bounds[level, dimension] = max(self.problem.bounds[dimension] // max(product, 1), 1)
        for dimension, name in enumerate(self.problem.dimensions):
            factors = [int(factor) for factor in (self.temporal * self.spatial)[:, dimension]]
            # Python's integers: a product of wrong factors may exceed 64 bits
            product, bound = int(np.prod(factors, dtype=object)), self.problem.bounds[dimension]
            if product != bound:
                message = f"the loops over {name} make {product:,} iterations, and the problem has {bound:,}"
                raise location.error(message)
