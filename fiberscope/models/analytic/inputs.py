"""Reader of designs and mappings from input files."""

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
    Directive,
    Machine,
    NodeOptimizations,
    find_constrained_nodes,
    read_architecture,
)
from fiberscope.models.analytic.read_features import read_features
from fiberscope.models.analytic.read_mapping import DATA, Names, read_mapping
from fiberscope.models.analytic.read_problem import read_problem
from fiberscope.models.analytic.schema import OptimizationsSchema
from fiberscope.models.analytic.source import CONSTRAINTS, Inputs, Location, read_files
from fiberscope.results.costs.energies import EnergyTable, load_default_table
from fiberscope.workloads.errors import suggest

_DESIGNS = Path(__file__).parent / "designs"


@dataclass(frozen=True)
class Case:
    """Contents of input files.

    Args:
        name: the first file without its suffix, the machine, or the phase; for messages and the report.
        design: machine, problem, sparse optimizations, energies and options.
        mapping: the mapping; None without one.
        notes: remarks on the inputs, for the report.
        constraints: constraints on mappings, each with its location.
    """

    name: str
    design: Design
    mapping: Mapping | None
    notes: tuple[str, ...]
    constraints: tuple[Directive, ...] = ()

    @property
    def loops(self) -> Mapping:
        """Return the mapping.

        Raises:
            InputError: the case has no mapping.
        """
        if self.mapping is None:
            raise InputError(
                f"{self.name}: there is no section mapping; add one, or search: fiberscope map FILE..."
            )
        return self.mapping


def read_case(
    paths: Sequence[str | Path], settings: Map[str, object] | None = None, *, with_mapping: bool = True
) -> Case:
    """Read a case from files, each with some of the sections.

    The case gets the name of the first file, without its suffix.

    Args:
        paths: paths of YAML files (JSON is YAML), or names of designs that ship.
        settings: options of the model by name, as ``{"mode": "timeloop"}``.
        with_mapping: whether to read a mapping.

    Raises:
        ConfigurationError, InputError: an input is missing or invalid; the message is one line with the
            location.
    """
    if not paths:
        raise InputError("no input is given; name the files of architecture, problem and mapping")
    options = read_options(settings or {})
    inputs = read_files([find_input_file(str(path)) for path in paths])
    return build_case(Path(paths[0]).stem, inputs, options, with_mapping=with_mapping)


def build_case(name: str, inputs: Inputs, options: Options, *, with_mapping: bool = True) -> Case:
    """Return a case from the sections of its files; notes for the user are appended to ``inputs.notes``.

    Args:
        name: the name of the case.
        inputs: its sections.
        options: the options of the model.
        with_mapping: whether to read a mapping.

    Raises:
        ConfigurationError, InputError: as ``read_case``.
    """
    problem = read_problem(*inputs.need("problem"), inputs.folder, inputs.notes)
    entries = list(_find_entries(inputs, "mapping"))
    constraints = [demand for section in CONSTRAINTS for demand in _find_entries(inputs, section)]
    # a container is a level only if a directive names it: its spatial loops then have a place
    target_names = {
        entry.target.partition("[")[0]  # without the range of instances, as in PE[0..15]
        for entry, _location in (entries if with_mapping and entries else constraints)
    }
    directives, location = inputs.need("architecture")
    if not (with_mapping and entries):  # constraints of nodes may then fix the loops
        target_names |= set(find_constrained_nodes(directives))
    machine = read_architecture(directives, location, target_names)
    architecture = machine.architecture
    features = read_features(
        [*machine.optimizations, *_read_section_optimizations(inputs)], architecture, problem
    )
    energies = Energies.from_table(architecture, _find_table(inputs), load_default_table(), options.timeloop)
    # ``read_mapping`` uses the last directive for the same loops, so a section overrides the nodes
    constraints = [*_constrain_whole_branches(machine, problem), *constraints]
    mapping = None
    if with_mapping:
        mapping = _find_mapping(inputs, entries, constraints, architecture, problem)
    if features.compute_skipping:
        inputs.notes.append("compute skipping: operands not aligned: the unit jumps to the next pair")
    design = Design(architecture, problem, features, energies, options)
    return Case(name, design, mapping, tuple(dict.fromkeys(inputs.notes)), tuple(constraints))


def _find_mapping(
    inputs: Inputs,
    mapping_entries: Sequence[Directive],
    constraints: Sequence[Directive],
    architecture: Architecture,
    problem: Problem,
) -> Mapping | None:
    """Return the mapping section; without one, the mapping whose loop bounds the constraints fix.

    Constraints complete the data directives of a mapping section, at levels for which the section has none.
    Loops whose order no constraint fixes get the default order. The result is None if the constraints leave
    bounds open, or are no mapping.
    """
    if mapping_entries:
        names = Names(architecture, problem)
        mapped_levels = {names.level(*entry) for entry in mapping_entries if entry[0].type in DATA}
        data_entries = [entry for entry in constraints if entry[0].type in DATA]
        completions = [entry for entry in data_entries if names.level(*entry) not in mapped_levels]
        return read_mapping(
            [*completions, *mapping_entries], inputs.locations["mapping"], architecture, problem, inputs.notes
        )
    bounding = [entry for entry in constraints if entry[0].type != "utilization"]
    try:
        mapping = read_mapping(bounding, inputs.locations["architecture"], architecture, problem, [])
    except ConfigurationError:  # as a rule, a bound is open: the loops do not cover the problem
        return None
    inputs.notes.append("there is no mapping; its loops are those that the constraints leave")
    return mapping


def _constrain_whole_branches(machine: Machine, problem: Problem) -> Iterator[Directive]:
    """Yield the constraints of nodes; at parallel levels, data constraints bypass what they do not keep."""
    tensors = {tensor.name for tensor in problem.tensors}
    for entry, location in machine.constraints:
        if entry.type in DATA and entry.target in machine.branches:
            bypass = sorted(tensors - set(entry.keep))
            yield entry.model_copy(update={"bypass": bypass}), location
        else:
            yield entry, location


def _find_table(inputs: Inputs) -> EnergyTable | None:
    """Return the energy table of the inputs, or None."""
    if "ERT" not in inputs.sections:
        return None
    tables, location = inputs.need("ERT")
    return EnergyTable.from_components(tables.tables, location.document.name)


def list_designs() -> list[str]:
    """Return the names of the designs that ship."""
    return sorted(path.stem for path in _DESIGNS.glob("*.yaml"))


def find_input_file(name: str) -> Path:
    """Return the file of a name, or the file of the design that ships under the name.

    A name with a suffix is the path of a file, which need not exist. A file in the working directory has
    priority over a design.

    Raises:
        InputError: a name without a suffix is neither a file nor a design.
    """
    path = Path(name)
    if path.suffix or path.exists():
        return path
    if name not in list_designs():
        raise InputError(
            f"{name}: there is no such file, and no design of this name; {suggest(name, list_designs())}"
        )
    return _DESIGNS / f"{name}.yaml"


def _find_entries(inputs: Inputs, section: str) -> Iterator[Directive]:
    """Yield the entries of a mapping or of constraints, each with its location."""
    if section in inputs.sections:
        section_value, location = inputs.need(section)
        is_list = isinstance(section_value, list)  # else an object whose ``targets`` are the list
        for number, entry in enumerate(section_value if is_list else section_value.targets):
            yield entry, (location if is_list else location / "targets") / number


def _read_section_optimizations(inputs: Inputs) -> list[NodeOptimizations]:
    """Return the optimizations of the section ``sparse_optimizations``."""
    if "sparse_optimizations" not in inputs.sections:
        return []
    section, location = inputs.need("sparse_optimizations")
    return [
        _read_node_optimizations(target, location / "targets" / number)
        for number, target in enumerate(section.targets)
    ]


def _read_node_optimizations(target: OptimizationsSchema, location: Location) -> NodeOptimizations:
    name = target.name or target.target
    if name is None:
        raise location.error("a target needs a name: the level that it is about")
    return name, target, location


def read_options(settings: Map[str, object]) -> Options:
    """Return the options of settings; ``format.mode`` is the option ``format_mode``.

    Raises:
        ConfigurationError: an option does not exist, or has no such value.
    """
    # ``--set`` stands for the file in messages about a value
    values = {key.replace(".", "_"): Entry.wrap(value, "--set") for key, value in settings.items()}
    return validate(Options, values, "the model")
