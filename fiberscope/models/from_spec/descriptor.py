"""Descriptor of a machine from its specification: ``machine_of("spec:gamma")``, ``machine_of("my.yaml")``.

The descriptor is needed before a run, when the values of symbols are unknown. It is derived from an
*outline*: the specification with the placeholder ``UNBOUNDED`` for each symbol without a value, and with one
round. Lowering the outline on tensors of one element gives the stages and the components of the machine.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import create_model
from yaml import MappingNode
from yaml import Node as YamlNode

from fiberscope.accelerators.composition import PartFactory
from fiberscope.accelerators.configuration import Configuration, Hertz, leaf_keys
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.accelerators.yaml_layer import Entry, construct
from fiberscope.hw.value_type import ValueName
from fiberscope.models.from_spec import PREFIX
from fiberscope.models.from_spec.build import build_graphs
from fiberscope.models.from_spec.cascade import Cascade
from fiberscope.models.from_spec.instances import check_instances, describe_instances
from fiberscope.models.from_spec.machine import MappedMachine
from fiberscope.models.from_spec.plain_einsums import plain_einsums
from fiberscope.models.from_spec.rounds import unrolled
from fiberscope.models.from_spec.sampling import build_sampler
from fiberscope.models.from_spec.settings import DEFAULTS, MappedParameters, Timing, is_own
from fiberscope.models.from_spec.stage_graph import StageGraph
from fiberscope.models.from_spec.stages import Stage
from fiberscope.models.from_spec.units import load_user_part, map_units_to_parts
from fiberscope.models.graphs.primitives.tasks import FIBER_PAIRS
from fiberscope.models.trace.area import price_chip_parts
from fiberscope.models.trace.load import Draft, draft
from fiberscope.models.trace.memory_entries import DRAM_ONLY
from fiberscope.models.trace.source import find_shipped_file, format_position
from fiberscope.models.trace.specification import Specification
from fiberscope.sim import Kernel
from fiberscope.sim.names import family_name
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.fibertree import FiberTree

UNBOUNDED = 2**40  # value of a symbol, such as a tile size, that is unknown before a run
ONE_GIGAHERTZ = 10**9  # clock of a specification without an architecture, in Hz
SAMPLE_SIZE = 8  # coordinates of each rank of a sample operand
PART_KEY = "part"  # key that names a component of the user's own; all other keys are parameters
# Types of nodes that do the main work of an instance, the most important first.
WORKER_TYPES = ("swap", FIBER_PAIRS, "mul", "add", "take", "reduce", "runsum")


def machine_of(name: str) -> Accelerator[Any]:
    """Return the machine of a specification that is part of the package, or of one in a YAML file.

    Args:
        name: ``spec:`` and the name of a specification, or the path of a file with or without ``spec:``.

    Raises:
        ConfigurationError: the specification cannot be read, or no machine can be built from it.
    """
    file = name.removeprefix(PREFIX)
    shipped = find_shipped_file(file)
    return _describe_shipped(file, shipped, shipped.stat().st_mtime_ns) if shipped else _describe(file)


# The path and its time of change are parts of the key, so that a changed file is read again
@lru_cache(maxsize=64)  # a fifth of a short run's time
def _describe_shipped(file: str, _path: Path, _modified: int) -> Accelerator[Any]:
    return _describe(file)


def _describe(file: str) -> Accelerator[Any]:
    """Return the machine of a specification by its name or file; see ``machine_of``."""
    drafted = draft(file)
    outline = unrolled(plain_einsums(drafted.complete(dict.fromkeys(drafted.missing, UNBOUNDED))), 1)
    machine = drafted.machine[0] if drafted.machine else None
    stem = Path(file).stem
    preset = _read_preset(drafted, outline)
    graphs = _outline_graphs(outline, preset)
    units = map_units_to_parts(outline, graphs)
    attributes: dict[str, Any] = {
        "specification": file,
        "title": "; ".join(einsum.equation.text for einsum in outline.einsums),
        "tensors": outline.inputs,
        "ranks": {name: outline.tensors[name].ranks for name in outline.inputs},
        "samples": {name: _describe_sample(outline.tensors[name].ranks) for name in outline.inputs},
    }
    problem_class = next(iter(machine.solves), None) if machine else None
    # With the same inputs, the problem has the parameters of the problem of the machine that the file names
    if problem_class is not None and set(problem_class.inputs) == set(outline.inputs):
        attributes["Parameters"] = problem_class.Parameters
    build = partial(_build_machine, stem, frozenset(drafted.entries))
    return Accelerator(
        name=f"{PREFIX}{stem}",
        summary=f"the machine of the specification {file}",
        configuration=_configuration_class(drafted, outline),
        folder=machine.folder if machine else DEFAULTS.parent,
        defaults=(DEFAULTS,) if machine else (),
        preset=preset,
        channels="memory.channel",
        models={EVENT: build},
        sampler=partial(build_sampler, build),
        parts={**MappedMachine.PARTS, **{unit: MappedMachine.PARTS[name] for unit, name in units.items()}},
        own=_user_parts(drafted, outline, units),
        costs=DEFAULTS.with_name("costs.yaml"),
        chip_parts=lambda model: price_chip_parts(model.specification),
        chosen=lambda model: describe_instances(model.cascade_stages),
        unmoved=MappedMachine.unmoved,
        stage_begins=MappedMachine.stage_begins,
        workers=_find_workers(graphs)[-1],
        stages=_find_workers(graphs),
        solves=(type("Cascade", (Cascade,), attributes),),
    )


def _outline_graphs(outline: Specification, preset: Mapping[str, Entry]) -> list[tuple[Stage, StageGraph]]:
    """Return the stages of a specification on tensors of one element, with the lanes that the file gives."""
    # The settings are checked later: a value of another type counts as 0 here
    lanes = preset["timing.lanes"].value if "timing.lanes" in preset else 0
    trees = {name: _unit_tree(outline, name) for name in outline.tensors}
    return build_graphs(outline, trees, lanes=lanes if isinstance(lanes, int) else 0)


def _describe_sample(ranks: Sequence[str]) -> str:
    """Return the description of a small tensor with these ranks; without ranks, of a vector of size 1."""
    # A vector is full; in a tensor of more ranks, one element in SAMPLE_SIZE is a nonzero
    shape = "x".join([str(SAMPLE_SIZE)] * len(ranks)) or "1"
    return f"tensor:shape={shape},nonzeros={SAMPLE_SIZE ** max(len(ranks) - 1, min(1, len(ranks)))}"


def _read_preset(drafted: Draft, outline: Specification) -> dict[str, Entry]:
    """Return the parameters that the section ``timing`` of the file gives, by dotted key.

    Raises:
        ConfigurationError: for the reason of ``_timing_entries``.
    """
    return {
        f"timing.{key}": Entry(construct(node), format_position(drafted.source.file, node))
        for _scope, key, node in _timing_entries(drafted, outline)
        if key != PART_KEY
    }


def _user_parts(drafted: Draft, outline: Specification, units: Mapping[str, str]) -> dict[str, PartFactory]:
    """Return the user's parts that the section ``timing`` names, by the component that each replaces.

    Raises:
        ConfigurationError: no block alone stands for the component, or the part cannot be loaded.
    """
    components = [
        component
        for configuration in outline.configurations.values()
        for component in configuration.components.values()
    ]
    factories = {}
    for scope, key, node in _timing_entries(drafted, outline):
        if key != PART_KEY:
            continue
        location = format_position(drafted.source.file, node)
        replaced = {
            component.name for component in components if scope in (component.name, component.kind)
        } & units.keys()
        if not replaced:
            advice = suggest(scope, units) if units else "it has none"
            raise ConfigurationError(
                f"{location}: a part takes a block's place, and {scope or 'this'} is none; {advice}"
            )
        for name in sorted(replaced):
            factories[name] = load_user_part(
                node, location, drafted.source.path.parent, units[name], drafted.source.name
            )
    return factories


def _timing_entries(drafted: Draft, outline: Specification) -> Iterator[tuple[str, str, YamlNode]]:
    """Yield the entries of the section ``timing``: component, class or level (or empty), key and value.

    Raises:
        ConfigurationError: the architecture has no component, class or level of the name.
    """
    units = [
        component
        for configuration in outline.configurations.values()
        for component in configuration.components.values()
    ]
    names = {name for unit in units for name in (*unit.path, unit.kind)}
    for key, node in drafted.source.entries("timing"):
        if not isinstance(node, MappingNode):
            yield "", key.value, node
        elif key.value not in names:
            location = format_position(drafted.source.file, key)
            raise ConfigurationError(
                f"{location}: there is no component {key.value}; {suggest(key.value, names)}"
            )
        else:
            for name, value in node.value:
                yield key.value, str(name.value), value


def _find_workers(graphs: Sequence[tuple[Stage, StageGraph]]) -> tuple[str, ...]:
    """Return, for each stage, the family of the components that do its main work."""
    return tuple(
        _stage_worker(stage, graph, f"{graph.name}." if len(graphs) > 1 else "") for stage, graph in graphs
    )


def _stage_worker(stage: Stage, graph: StageGraph, prefix: str) -> str:
    if stage.lanes:
        return family_name(f"{MappedMachine.__name__}.{prefix}{stage.level}.lanes")
    nodes = [graph.graph.nodes[name] for name in graph.leaf]
    kinds = {node.type: node for node in nodes}  # of several nodes of a type, the last
    main = next((kinds[kind] for kind in WORKER_TYPES if kind in kinds), None)
    if main is None:
        main = next((node for node in nodes if node.writes_values), None) or kinds["arrayvals"]
    merges = ".merger" if main.type == "swap" else ""
    return family_name(f"{MappedMachine.__name__}.{prefix}{stage.level}.{graph.names[main.name]}{merges}")


def _unit_tree(outline: Specification, name: str) -> FiberTree:
    """Return a tensor with one element, whose ranks have the size 1."""
    ranks = outline.tensors[name].ranks
    if not ranks:
        return FiberTree((), (), (), np.ones(1))
    return FiberTree.from_coo(dict.fromkeys(ranks, 1), [[0] for _ in ranks], [1.0])


def _configuration_class(drafted: Draft, outline: Specification) -> type[Configuration]:
    """Return the class of the machine's settings.

    It has the settings of the machine that the specification refers to, symbols, and the section ``timing``.
    """
    symbols: dict[str, Any] = dict.fromkeys(drafted.entries, (float | None, None))
    if drafted.machine is not None:
        base = drafted.machine[0].configuration
        value: Any = base.model_fields["value"].annotation if "value" in base.model_fields else ValueName
        return create_model("Mapped", __base__=base, timing=(Timing, ...), value=(value, ...), **symbols)
    clocks = [configuration.clock_frequency for configuration in outline.configurations.values()]
    clock: Any = (Hertz, int(clocks[0]) if clocks else ONE_GIGAHERTZ)
    return create_model("Mapped", __base__=MappedParameters, clock=clock, **symbols)


def _build_machine(
    stem: str,
    symbols: frozenset[str],
    parameters: Any,  # noqa: ANN401  (a class of its own for each specification)
    problem: Cascade,
    parts: Mapping[str, PartFactory] | None = None,
    kernel: Kernel | None = None,
) -> MappedMachine:
    """Build the machine of a specification for a problem; warn of tensors that do not move."""
    prepared = problem.prepared(_select_specification_settings(parameters, symbols))
    specification = problem.unrolled
    timing = parameters.timing
    check_instances(specification, timing.most, timing.lanes)
    graphs = build_graphs(
        specification,
        prepared.trees,
        lambda: problem.written,
        timing.places,
        timing.lanes,
        banked=timing.dispatch == "coordinate",
    )
    machine = MappedMachine(
        parameters, specification, graphs, prepared.trees, stem, parts=parts, kernel=kernel
    )
    _warn_of_unmoved(machine)
    return machine


def _warn_of_unmoved(machine: MappedMachine) -> None:
    """Warn of tensors that are bound to DRAM alone, whose traffic a user expects to be counted."""
    names = [name for name, reason in machine.unmoved().items() if reason == DRAM_ONLY]
    if names:
        bound = "is" if len(names) == 1 else "are"
        warnings.warn(
            f"{', '.join(names)} {bound} {DRAM_ONLY}, which costs no time and no traffic; "
            "bind a cache or a buffer to the same data, and it is moved",
            stacklevel=2,
        )


def _select_specification_settings(parameters: Any, symbols: frozenset[str]) -> dict[str, object]:  # noqa: ANN401
    """Return the settings with which the specification is read: all without ``is_own``.

    Symbols without a value are left out.
    """
    dumped, settings = parameters.model_dump(mode="json"), {}
    for key in leaf_keys(type(parameters)):
        value: Any = reduce(lambda section, name: section[name], key.split("."), dumped)
        if not is_own(key, type(parameters)) and not (key in symbols and value is None):
            settings[key] = value
    return settings
