"""Designs and mappings from files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Map
from dataclasses import dataclass
from pathlib import Path

from fiberscope.accelerators.configuration import validate
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.base.errors import InputError
from fiberscope.models.analytic.architecture import Architecture
from fiberscope.models.analytic.energies import Energies
from fiberscope.models.analytic.evaluate import Design
from fiberscope.models.analytic.mapping import Mapping
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.problem import Problem
from fiberscope.models.analytic.read_architecture import (
    Demand,
    Machine,
    NodeOptimizations,
    constrained,
    read_architecture,
)
from fiberscope.models.analytic.read_features import read_features
from fiberscope.models.analytic.read_mapping import DATA, Names, read_mapping
from fiberscope.models.analytic.read_problem import read_problem
from fiberscope.models.analytic.schema import OptimizationsSchema
from fiberscope.models.analytic.source import CONSTRAINTS, Inputs, Place, read_files
from fiberscope.results.costs.energies import EnergyTable, default_table
from fiberscope.workloads.errors import nearest

__all__ = ["Case", "case_of", "designs", "file_called", "read_case", "read_options"]

_DESIGNS = Path(__file__).parent / "designs"


@dataclass(frozen=True)
class Case:
    """Contents of input files: a design, the mapping if they have one, and notes about them."""

    name: str
    design: Design
    mapping: Mapping | None
    notes: tuple[str, ...]
    constraints: tuple[Demand, ...] = ()  # what is demanded of mappings, and where

    @property
    def loops(self) -> Mapping:
        """The mapping.

        Raises:
            InputError: there is none.
        """
        if self.mapping is None:
            raise InputError(
                f"{self.name}: there is no section mapping; add one, or search: fiberscope map FILE..."
            )
        return self.mapping


def read_case(
    paths: Sequence[str | Path], settings: Map[str, object] | None = None, *, mapped: bool = True
) -> Case:
    """A case from files, each with some of the sections.

    Args:
        paths: the paths of YAML (or JSON, which is YAML).
        settings: options of the model by name, as ``{"mode": "timeloop"}``.
        mapped: whether a mapping is read, if there is one.

    Raises:
        ConfigurationError, InputError: one line that says what is wrong, and where.
    """
    if not paths:
        raise InputError("no input is given; name the files of architecture, problem and mapping")
    options = read_options(settings or {})
    inputs = read_files([file_called(str(path)) for path in paths])
    return case_of(Path(paths[0]).stem, inputs, options, mapped=mapped)


def case_of(name: str, inputs: Inputs, options: Options, *, mapped: bool = True) -> Case:
    """A case from sections that were read.

    Args:
        name: the name of the case.
        inputs: its sections.
        options: the options of the model.
        mapped: whether a mapping is read, if there is one.

    Raises:
        ConfigurationError, InputError: as ``read_case``.
    """
    problem = read_problem(*inputs.need("problem"), inputs.folder, inputs.notes)
    written = list(_entries(inputs, "mapping"))
    demanded = [demand for section in CONSTRAINTS for demand in _entries(inputs, section)]
    named = {entry.target.partition("[")[0] for entry, _at in (written if mapped and written else demanded)}
    directives, place = inputs.need("architecture")
    if not (mapped and written):
        named |= set(constrained(directives))
    machine = read_architecture(directives, place, named)
    architecture = machine.architecture
    features = read_features([*machine.optimizations, *_by_target(inputs)], architecture, problem)
    energies = Energies.from_table(architecture, _table(inputs), default_table(), options.timeloop)
    demanded = [*_whole_branches(machine, problem), *demanded]
    mapping = None
    if mapped:
        mapping = _mapping(inputs, written, demanded, architecture, problem)
    if features.compute_skipping:
        inputs.notes.append("compute skipping: operands not aligned: the unit jumps to the next pair")
    design = Design(architecture, problem, features, energies, options)
    return Case(name, design, mapping, tuple(dict.fromkeys(inputs.notes)), tuple(demanded))


def _mapping(
    inputs: Inputs,
    written: Sequence[Demand],
    demanded: Sequence[Demand],
    architecture: Architecture,
    problem: Problem,
) -> Mapping | None:
    """The mapping that is written, else the only one that constraints leave; None where they leave several.

    What a written mapping does not say of a level's data, constraints say.
    """
    if written:
        names = Names(architecture, problem)
        mapped_levels = {names.level(entry, at) for entry, at in written if entry.type in DATA}
        entries = [(entry, at) for entry, at in demanded if entry.type in DATA]
        also = [(entry, at) for entry, at in entries if names.level(entry, at) not in mapped_levels]
        return read_mapping([*also, *written], inputs.places["mapping"], architecture, problem, inputs.notes)
    exact = [(entry, at) for entry, at in demanded if entry.type != "utilization"]
    try:
        mapping = read_mapping(exact, inputs.places["architecture"], architecture, problem, [])
    except ConfigurationError:
        return None
    inputs.notes.append("there is no mapping; its loops are those that the constraints leave")
    return mapping


def _whole_branches(machine: Machine, problem: Problem) -> Iterator[Demand]:
    """The constraints of nodes; of levels side by side, each bypasses what it is not said to keep."""
    tensors = {tensor.name for tensor in problem.tensors}
    for entry, place in machine.constraints:
        if entry.type in DATA and entry.target in machine.branches:
            bypass = sorted(tensors - set(entry.keep))
            yield entry.model_copy(update={"bypass": bypass}), place
        else:
            yield entry, place


def _table(inputs: Inputs) -> EnergyTable | None:
    """The energies that the inputs have, if they have any."""
    if "ERT" not in inputs.sections:
        return None
    tables, place = inputs.need("ERT")
    return EnergyTable.from_tables(tables.tables, place.document.name)


def designs() -> list[str]:
    """The names of the designs that ship."""
    return sorted(path.stem for path in _DESIGNS.glob("*.yaml"))


def file_called(name: str) -> Path:
    """The file of this name, or that of the design that ships under it.

    Raises:
        InputError: there is neither.
    """
    path = Path(name)
    if path.suffix or path.exists():
        return path
    if name not in designs():
        raise InputError(
            f"{name}: there is no such file, and no design of this name; {nearest(name, designs())}"
        )
    return _DESIGNS / f"{name}.yaml"


def _entries(inputs: Inputs, section: str) -> Iterator[Demand]:
    """The entries of a mapping or of constraints, each with its place."""
    if section in inputs.sections:
        section_value, place = inputs.need(section)
        listed = isinstance(section_value, list)
        for number, entry in enumerate(section_value if listed else section_value.targets):
            yield entry, (place if listed else place / "targets") / number


def _by_target(inputs: Inputs) -> list[NodeOptimizations]:
    """The sparse optimizations that stand by themselves."""
    if "sparse_optimizations" not in inputs.sections:
        return []
    section, place = inputs.need("sparse_optimizations")
    return [_targeted(target, place / "targets" / number) for number, target in enumerate(section.targets)]


def _targeted(target: OptimizationsSchema, place: Place) -> NodeOptimizations:
    name = target.name or target.target
    if name is None:
        raise place.error("a target needs a name: the level that it is about")
    return name, target, place


def read_options(settings: Map[str, object]) -> Options:
    """The options that settings make; ``format.mode`` is the option ``format_mode``.

    Raises:
        ConfigurationError: there is no such option, or it has no such value.
    """
    values = {key.replace(".", "_"): Entry.wrap(value, "--set") for key, value in settings.items()}
    return validate(Options, values, "the model")
