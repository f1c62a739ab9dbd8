"""Designs and mappings from files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Map
from dataclasses import dataclass
from pathlib import Path

from fiberscope.accelerators.configuration import validated
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.base.errors import InputError
from fiberscope.models.analytic.energies import Energies
from fiberscope.models.analytic.evaluate import Design
from fiberscope.models.analytic.mapping import Mapping
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.read_architecture import Given, read_architecture, read_features
from fiberscope.models.analytic.read_mapping import read_mapping
from fiberscope.models.analytic.read_problem import read_problem
from fiberscope.models.analytic.schema import DirectiveSchema, OptimizationsSchema
from fiberscope.models.analytic.source import CONSTRAINTS, Inputs, Place, read_files
from fiberscope.results.costs.energies import EnergyTable, default_table
from fiberscope.workloads.errors import nearest

__all__ = ["Case", "case_of", "designs", "file_called", "read_case", "read_options"]

_DESIGNS = Path(__file__).parent / "designs"


@dataclass(frozen=True)
class Case:
    """What files describe: a design, the mapping if they have one, and what is to be told about them."""

    name: str
    design: Design
    mapping: Mapping | None
    notes: tuple[str, ...]
    constraints: tuple[tuple[DirectiveSchema, Place], ...] = ()  # what is demanded of mappings, and where

    @property
    def loops(self) -> Mapping:
        """The mapping.

        Raises:
            InputError: there is none.
        """
        if self.mapping is None:
            raise InputError(f"{self.name}: there is no section mapping; add one, or search: fiberscope map")
        return self.mapping


def read_case(
    paths: Sequence[str | Path], settings: Map[str, object] | None = None, *, mapped: bool = True
) -> Case:
    """A case from files, each with some of the sections.

    Args:
        paths: of YAML (or JSON, which is YAML).
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
        name: of the case.
        inputs: its sections.
        options: of the model.
        mapped: whether a mapping is read, if there is one.

    Raises:
        ConfigurationError, InputError: as ``read_case``.
    """
    problem = read_problem(*inputs.need("problem"), inputs.folder)
    machine = read_architecture(*inputs.need("architecture"))
    features = read_features([*machine.optimizations, *_by_target(inputs)], machine.architecture, problem)
    energies = Energies.of(machine.architecture, _table(inputs), default_table(), options.timeloop)
    mapping = None
    if mapped and "mapping" in inputs.sections:
        given, place = inputs.need("mapping")
        mapping = read_mapping(given, place, machine.architecture, problem, inputs.notes)
    if features.compute_skipping:
        inputs.notes.append("compute skipping: operands not aligned: the unit jumps to the next pair")
    design = Design(machine.architecture, problem, features, energies, options)
    return Case(name, design, mapping, tuple(inputs.notes), tuple(_demanded(inputs)))


def _table(inputs: Inputs) -> EnergyTable | None:
    """The energies that the inputs have, if they have any."""
    if "ERT" not in inputs.sections:
        return None
    given, place = inputs.need("ERT")
    return EnergyTable.of(given.tables, place.document.name)


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


def _demanded(inputs: Inputs) -> Iterator[tuple[DirectiveSchema, Place]]:
    """What the sections of constraints say, each with its place."""
    for section in CONSTRAINTS:
        if section in inputs.sections:
            given, place = inputs.need(section)
            listed = isinstance(given, list)
            for number, one in enumerate(given if listed else given.targets):
                yield one, (place if listed else place / "targets") / number


def _by_target(inputs: Inputs) -> list[Given]:
    """The sparse optimizations that stand by themselves."""
    if "sparse_optimizations" not in inputs.sections:
        return []
    given, place = inputs.need("sparse_optimizations")
    return [_targeted(one, place / "targets" / number) for number, one in enumerate(given.targets)]


def _targeted(given: OptimizationsSchema, place: Place) -> Given:
    if given.name is None:
        raise place.error("a target needs a name: the level that it is about")
    return given.name, given, place


def read_options(settings: Map[str, object]) -> Options:
    """The options that settings make; ``format.mode`` is the option ``format_mode``.

    Raises:
        ConfigurationError: there is no such option, or it has no such value.
    """
    given = {
        key.replace(".", "_"): value if isinstance(value, Entry) else Entry(value, "--set")
        for key, value in settings.items()
    }
    return validated(Options, given, "the model")
