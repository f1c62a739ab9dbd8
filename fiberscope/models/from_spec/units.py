"""The components of an architecture that blocks implement, and user-defined parts that replace blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from yaml import Node as YamlNode
from yaml import ScalarNode

from fiberscope.accelerators.composition import PartFactory
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.user_machines import run_file
from fiberscope.hw.streams.operations import BINARY
from fiberscope.models.from_spec.stage_graph import StageGraph
from fiberscope.models.from_spec.stages import Stage, build_stages
from fiberscope.models.graphs.netlist import Node
from fiberscope.models.trace.reference import has_reduction
from fiberscope.models.trace.specification import Specification
from fiberscope.sim import Component, SimulationError
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.expressions.expression import iterate_operators

# By type of node, the part of the machine whose block implements one component.
PART_OF: Mapping[str, str] = {
    **dict.fromkeys(BINARY, "alu"),
    "intersect": "intersect",
    "runsum": "runsum",
    "swap": "merger",
}
VERILOG = (".v", ".sv")
ADDS = "add"  # operation to which the component that sums runs must be bound


def find_unit(stage: Stage, node: Node) -> str:
    """Return the name of the component that a node's block implements; empty if none is bound.

    Args:
        stage: the stage of the node.
        node: a node whose type is a key of ``PART_OF``.
    """
    if node.type == "swap":
        assert stage.merger is not None  # else there is no such block
        return stage.merger.name
    all_bindings = [einsum.bindings for einsum in stage.einsums]
    if node.type == "intersect":
        components = (
            intersector.component
            for bindings in all_bindings
            for intersector in bindings.intersectors
            if intersector.rank == node["index"]
        )
    else:
        # A subtraction is an ``add`` block with the attribute ``sub``
        operation = ADDS if node.type == "runsum" else "sub" if node["sub"] == "1" else node.type
        components = (
            binding.component
            for bindings in all_bindings
            for binding in bindings.compute
            if binding.operation == operation
        )
    return next(components, "")  # of several bindings, the first


def shared_units(specification: Specification) -> set[str]:
    """Return the components to which several operations of an Einsum are bound, each with its own block."""
    counts: Counter[tuple[str, str]] = Counter()
    for einsum in specification.einsums:
        operations = Counter(
            einsum.operators.get(operator, operator)
            for operator in iterate_operators(einsum.computed.expression)
        )
        operations[ADDS] += has_reduction(einsum)
        for binding in einsum.bindings.compute:
            counts[einsum.name, binding.component] += operations[binding.operation]
    return {component for (_einsum, component), count in counts.items() if count > 1}


def list_units_on_lanes(specification: Specification, lanes: int) -> set[str]:
    """Return compute units and intersectors of Einsums on lanes; the trace executes their operations in turn.

    Args:
        specification, lanes: arguments of ``build_stages``.
    """
    all_bindings = [stage.einsums[0].bindings for stage in build_stages(specification, lanes) if stage.lanes]
    computing = {binding.component for bindings in all_bindings for binding in bindings.compute}
    return computing | {binding.component for bindings in all_bindings for binding in bindings.intersectors}


def map_units_to_parts(
    specification: Specification, stages: Sequence[tuple[Stage, StageGraph]]
) -> dict[str, str]:
    """Return, for each component that a user-defined part can replace, the name of the machine's part.

    Args:
        specification: the specification of the stages.
        stages: the stages with their graphs.
    """
    parts: dict[str, str] = {}
    for stage, graph in stages:
        for node in graph.graph.nodes.values():
            unit = find_unit(stage, node) if node.type in PART_OF else ""
            parts |= {unit: PART_OF[node.type]} if unit else {}
        for einsum in stage.einsums:
            bindings = einsum.bindings
            components = specification.configurations[bindings.config].components if bindings.config else {}
            # Of the bound storage, only caches consist of banks that a part can replace
            caches = [binding.component for binding in bindings.storage]
            parts |= {name: "bank" for name in caches if components[name].kind == "Cache"}
    return parts


@dataclass(frozen=True)
class VerilogPart:
    """A user-defined part in Verilog, which runs in RTL simulation next to the part that it replaces.

    Args:
        path: path of the Verilog file.
        location: place in the specification that names the file, for messages.
        part: name of the machine's part that the Verilog replaces.
        specification: name of the specification on the command line.
    """

    path: Path
    location: str
    part: str
    specification: str

    def __call__(self, *_arguments: object, **_options: object) -> Component:
        """Refuse to create a component.

        Raises:
            SimulationError: always, with the command that runs the Verilog.
        """
        command = f"fiberscope rtl loop {self.part} {self.specification}"
        raise SimulationError(f"{self.location}: {self.path} is Verilog, which runs by {command}")


def load_user_part(node: YamlNode, location: str, folder: Path, part: str, specification: str) -> PartFactory:
    """Return the part that replaces a component: any callable of a Python file, or a ``VerilogPart``.

    Args:
        node: value in the specification: ``FILE.py:CLASS``, or the name of a Verilog file.
        location: place of the value, for messages.
        folder: folder to which file names are relative.
        part: name of the machine's part that is replaced.
        specification: name of the specification on the command line.

    Raises:
        ConfigurationError: the value names no such file, the file does not exist, or it has no such class.
    """

    text = node.value if isinstance(node, ScalarNode) else ""
    file, _colon, name = text.partition(":")
    path = folder / file
    # With a class, the file is Python; without, Verilog
    if path.suffix not in ((".py",) if name else VERILOG):
        raise ConfigurationError(
            f"{location}: {text or 'this'} is no part; write my_parts.py:MyMerger, or mine.v"
        )
    if not path.is_file():
        raise ConfigurationError(f"{location}: there is no file {path}; it is looked for beside this one")
    if not name:
        return VerilogPart(path, location, part, specification)
    module = run_file(path)
    factory: PartFactory | None = getattr(module, name, None)
    if callable(factory):
        return factory
    classes = [class_name for class_name, value in vars(module).items() if isinstance(value, type)]
    advice = suggest(name, classes) if classes else "it has none"
    raise ConfigurationError(f"{location}: {path} has no class {name}; {advice}")
