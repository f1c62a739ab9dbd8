"""Translation of machine specifications to the analytical model, with operands of known nonzeros.

An Einsum that multiplies two matrices, with partitions by shape, is a loop nest. Its buffets are levels if
their data changes with loops outside of them. Other features of specifications are refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path

import numpy as np

from fiberscope.base.errors import InputError
from fiberscope.models.analytic.architecture import Architecture, Compute, Level
from fiberscope.models.analytic.arrays import Integers
from fiberscope.models.analytic.counted_densities import Actual
from fiberscope.models.analytic.density import Density
from fiberscope.models.analytic.energies import Energies
from fiberscope.models.analytic.evaluate import Design
from fiberscope.models.analytic.inputs import Case, list_designs, read_options
from fiberscope.models.analytic.mapping import Mapping as NamedMapping
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem, Rank, Tensor
from fiberscope.models.analytic.safs import Condition, Format, RankFormat, ReadOmission, SparseFeatures
from fiberscope.models.analytic.specified_nest import SpecifiedNest, read_nest
from fiberscope.models.analytic.uniform import Uniform
from fiberscope.models.trace.api import LARGEST_SIZE, load_outline, prepare
from fiberscope.models.trace.source import list_names
from fiberscope.models.trace.specification import Component, Configuration, Specification
from fiberscope.models.trace.storage_format import RankFormat as StoredRank
from fiberscope.results.costs.energies import load_default_table
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.sparse import sparse

_UNBOUNDED: Mapping[str, int] = defaultdict(lambda: LARGEST_SIZE)  # shapes of unknown operands
_WORD_BITS = 64  # bits of a value in every specification that ships


def check_machine(
    name: str, settings: Mapping[str, object] | None = None
) -> tuple[Options, dict[str, object]]:
    """Check a machine and settings without operands; return the options of the model, and the other settings.

    Settings with the name of an option go to the model, all others to the machine.

    Raises:
        ConfigurationError, InputError: as ``build_machine_case``.
    """
    entries = {"joint": "exact", **(settings or {})}  # operands are known, so joint statistics are, too
    options = {key: value for key, value in entries.items() if key.replace(".", "_") in Options.model_fields}
    machine_settings = {key: entries[key] for key in entries.keys() - options.keys()}
    _check_nest(load_outline(name, machine_settings))
    return read_options(options), machine_settings


def build_machine_case(
    name: str, operands: Sequence[str], settings: Mapping[str, object] | None = None, exact: bool = False
) -> Case:
    """Return a case of a machine's specification on matrices.

    Args:
        name: of the machine or a variant of its specification, as ``extensor-energy``.
        operands: A and B; A alone stands for both.
        settings: options of the model, and parameters of the machine. The default of ``joint`` is ``exact``.
        exact: refuse a surrogate.

    Raises:
        ConfigurationError, WorkloadError, InputError: as ``fiberscope.model``; or the specification is not a
            loop nest with levels.
    """
    options, machine_settings = check_machine(name, settings)
    ready = prepare(name, *operands, settings=machine_settings, exact=exact)
    trees = ready.trees
    shapes = {rank.name: rank.shape for tree in trees.values() for rank in tree.ranks}
    nest = read_nest(ready.specification, shapes)
    translation = _Translation(ready.specification, nest, trees, options)
    notes = (
        *ready.choices,
        f"bounds are whole tiles, where the operands end earlier: {nest.describe_bounds()}",
        f"{nest.output} is uniform, and as full as the partial sums that memory is given are in the mean",
    )
    return Case(name, translation.design, translation.mapping, notes)


def is_machine(paths: Sequence[str | Path]) -> bool:
    """Return whether arguments are a machine and its operands, not files of a case or a design that ships."""
    files = any(str(path).endswith((".yaml", ".yml", ".json")) for path in paths[1:])
    # a name of both a machine and a design is the design, unless operands follow
    is_design = len(paths) == 1 and str(paths[0]) in list_designs()
    return bool(paths) and str(paths[0]) in list_names() and not files and not is_design


def _check_nest(specification: Specification) -> None:
    """Refuse a specification that is not a loop nest; the message lists machines with loop nests."""
    try:
        read_nest(specification, _UNBOUNDED)
    except InputError as fault:
        nests = ", ".join(name for name in list_names() if _is_nest(load_outline(name, {})))
        raise InputError(
            f"{fault}; of these machines nests are: {nests}; `fiberscope model {specification.name} A B` "
            "counts any of them from its operands"
        ) from None


def _is_nest(specification: Specification) -> bool:
    try:
        read_nest(specification, _UNBOUNDED)
    except InputError:
        return False
    return True


@dataclass(frozen=True)
class _Translation:
    """A specification as inputs of the analytical model."""

    specification: Specification
    nest: SpecifiedNest
    trees: Mapping[str, FiberTree]
    options: Options

    @property
    def design(self) -> Design:
        """Return the machine, the problem and its sparse optimizations."""
        energies = Energies.from_table(self._architecture, None, load_default_table(), self.options.timeloop)
        return Design(self._architecture, self._problem, self._features, energies, self.options)

    @cached_property
    def _configuration(self) -> Configuration:
        return self.specification.configurations[self.nest.einsum.bindings.config]

    @cached_property
    def _architecture(self) -> Architecture:
        clock, components = self._configuration.clock_frequency, self._configuration.components
        levels = tuple(_level(components[name], clock) for name in self.nest.levels)
        unit = next(component for component in components.values() if "mul" in component.operations)
        mesh = unit.all_instances, 1
        return Architecture(levels, Compute(unit.name, ".".join(unit.path), "compute", mesh, _WORD_BITS))

    @cached_property
    def _problem(self) -> Problem:
        nest = self.nest
        tensors = tuple(
            Tensor(
                name, tuple(Rank(((1, nest.dimensions.index(rank)),)) for rank in ranks), name == nest.output
            )
            for name, ranks in nest.tensors.items()
        )
        densities = tuple(self._build_density(name) for name in nest.tensors)
        bounds = tuple(nest.dimension_bound(dimension) for dimension in nest.dimensions)
        return Problem(nest.einsum.name, nest.dimensions, bounds, tensors, densities)

    def _build_density(self, name: str) -> Density:
        """Return the density of an operand from its nonzeros, of the output from its mean partial sums."""
        shape = [self.nest.dimension_bound(rank) for rank in self.nest.tensors[name]]
        if name in self.nest.operands:
            return Actual(shape, np.stack(list(self._find_nonzero_coordinates(name).values()), axis=1))
        a, b = (self._find_pattern(operand) for operand in self.nest.operands)
        reduced_rank = self.nest.reduced_rank
        # memory gets a partial sum of the output for each pass of level 1 over this part of the reduced rank
        length = prod(loop.bound for loop in self.nest.loops_inside(1) if loop.dimension == reduced_rank)
        starts = range(0, self.nest.dimension_bound(reduced_rank), length)
        # patterns of ones do not cancel, so the nonzeros of a product are the coordinates of partial sums
        nonzeros = sum((a[start : start + length].T @ b[start : start + length]).nnz for start in starts)
        return Uniform(shape, nonzeros / len(starts) / prod(shape))

    def _find_nonzero_coordinates(self, name: str) -> dict[str, Integers]:
        """Return the coordinates of an operand's nonzeros by declared rank."""
        coordinates, _values = self.trees[name].to_coo()
        return {rank: np.asarray(coordinates[rank], np.int64) for rank in self.nest.tensors[name]}

    def _find_pattern(self, name: str) -> sparse.csr_array:
        """Return the nonzeros of an operand as a matrix whose rows are the reduced rank."""
        coordinates = self._find_nonzero_coordinates(name)
        ranks = self.nest.reduced_rank, self.nest.free_rank(name)
        rows, columns = (coordinates[rank] for rank in ranks)
        shape = self.nest.dimension_bound(ranks[0]), self.nest.dimension_bound(ranks[1])
        return sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)

    @cached_property
    def _features(self) -> SparseFeatures:
        """Return the formats of the tensors at each level, and the skipping of its intersectors."""
        numbers = {name: number for number, name in enumerate(self.nest.tensors)}
        formats = {
            (level, number): self._format(level, name)
            for level in range(len(self.nest.levels))
            for name, number in numbers.items()
            if name in self.nest.level_tensors[level]
        }
        features = {
            level: tuple(self._list_skipping_features(level, numbers))
            for level in range(len(self.nest.levels))
        }
        return SparseFeatures(formats, features, compute_skipping=True)

    def _format(self, level: int, name: str) -> Format:
        """Return the ranks below a level that have loops, as they are stored in memory."""
        ranks, nest = self.nest.format(name).ranks, self.nest
        loops = [loop for loop in nest.loops_inside(level) if loop.dimension in nest.tensors[name]]
        rank_formats = tuple(
            _rank_format(ranks.get(loop.name), nest.dimension_index(loop))
            for loop in reversed(loops)  # innermost first, as the ranks of a format
            if loop.bound > 1
        )
        return Format(rank_formats, inner_to_outer=True)

    def _list_skipping_features(self, level: int, numbers: Mapping[str, int]) -> Iterator[ReadOmission]:
        """Yield the skipping of operands at the intersectors of a level."""
        for leader in self.nest.leaders(level, self._configuration):
            follower = next(name for name in self.nest.operands if name != leader)
            yield ReadOmission(True, (Condition(numbers[follower], (numbers[leader],)),))
        if level == len(self.nest.levels) - 1:
            # compute units access the output only for a product, which needs both operands
            operand_numbers = tuple(numbers[name] for name in self.nest.operands)
            yield ReadOmission(True, (Condition(numbers[self.nest.output], operand_numbers),))

    @property
    def mapping(self) -> NamedMapping:
        """Return the loops, level by level."""
        nest, count = self.nest, len(self.nest.dimensions)
        shape = len(nest.levels), count
        temporal, spatial = np.ones(shape, np.int64), np.ones(shape, np.int64)
        order, across = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for level in range(len(nest.levels)):
            loops = nest.loops_of(level)
            for loop in loops:
                (spatial if loop.is_spatial else temporal)[level, nest.dimension_index(loop)] = loop.bound
            for orders, in_space in ((order, False), (across, True)):
                dimensions = [nest.dimension_index(loop) for loop in loops if loop.is_spatial is in_space]
                orders[level] = _reverse_dimensions(dimensions, count)
        keep = np.array([[name in tensors for name in nest.tensors] for tensors in nest.level_tensors])
        return NamedMapping(temporal, spatial, order, across, np.zeros(shape, np.bool_), keep)


def _reverse_dimensions(numbers: list[int], count: int) -> list[int]:
    """Reverse the dimensions of loops to innermost first; other dimensions follow."""
    return [*reversed(numbers), *(number for number in range(count) if number not in numbers)]


def _level(component: Component, clock: float) -> Level:
    """Return the level of a component without a capacity: machines choose tiles that fit."""
    # words a cycle, from bits a second and cycles a second
    words_per_cycle = None if component.bandwidth is None else component.bandwidth / clock / _WORD_BITS
    return Level(
        component.name,
        ".".join(component.path),
        "DRAM" if component.kind == "DRAM" else "storage",
        (component.all_instances, 1),
        word_bits=_WORD_BITS,
        metadata_bits=0,
        metadata_width=_WORD_BITS,
        shared_bandwidth=words_per_cycle,
    )


def _rank_format(stored_rank: StoredRank | None, dimension: int) -> RankFormat:
    """Return the format of a rank; a rank without a format is compressed and has no bits."""
    rank = stored_rank or StoredRank()
    kinds = {"C": "CP", "U": "UOP", "B": "B"}
    return RankFormat(kinds[rank.kind], rank.cbits, rank.pbits, ((dimension,),))  # type: ignore[arg-type]
