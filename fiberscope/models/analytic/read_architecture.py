"""Reader of the section ``architecture``, with the sparse optimizations and constraints of its nodes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from collections.abc import Mapping as Map
from dataclasses import dataclass, replace
from math import prod

from fiberscope.models.analytic.architecture import Architecture, Compute, Level
from fiberscope.models.analytic.schema import (
    AttributesSchema,
    DirectiveSchema,
    NodeSchema,
    OptimizationsSchema,
)
from fiberscope.models.analytic.source import Location
from fiberscope.workloads.errors import suggest

_RANGE = re.compile(r"\[(\d+)\.\.(\d+)\]")
_COMPUTE = ("compute", "intmac", "fpmac", "mac", "intmultiplier", "intadder", "lmac")
_FAN_OUT = "dummy_storage"  # the class of a container's mesh in Timeloop's front end
_KILO = 1024
Directive = tuple[DirectiveSchema, Location]
# the node's name, its optimizations, and their location
NodeOptimizations = tuple[str, OptimizationsSchema, Location]


@dataclass(frozen=True)
class Machine:
    """An architecture with the optimizations and constraints of its nodes.

    Args:
        architecture: levels and compute units.
        optimizations: name (with its range, as ``PE[0..15]``), sparse optimizations and location of nodes.
        constraints: constraints of nodes on mappings.
        branches: names of the levels directly in a ``!Parallel`` node.
    """

    architecture: Architecture
    optimizations: tuple[tuple[str, OptimizationsSchema, Location], ...]
    constraints: tuple[Directive, ...]
    branches: frozenset[str]


@dataclass(frozen=True)
class _Unit:
    """A component, or a container that spatial loops name.

    Args:
        node, location: the node and its location.
        path: names of the enclosing nodes and of the node.
        mesh: instances along X and Y; of a container, instances of the enclosing container.
        attributes: its own attributes, and those of the enclosing nodes.
        is_branch: whether the node is directly in a ``!Parallel`` node.
    """

    node: NodeSchema
    location: Location
    path: str
    mesh: tuple[int, int]
    attributes: AttributesSchema
    is_branch: bool

    @property
    def name(self) -> str:
        return _RANGE.sub("", str(self.node.name))

    @property
    def stores(self) -> bool:
        return self.node.class_ not in (None, _FAN_OUT)


def format_fan_out_name(container: str) -> str:
    """Return the name of a container's mesh in Timeloop's front end."""
    return f"inter_{container}_spatial"


def read_architecture(root: NodeSchema, location: Location, targets: Collection[str] = ()) -> Machine:
    """Read the levels of a machine, outermost first, and its compute units.

    Nodes that are not ``enabled`` are left out, but not the nodes in a disabled container. If no component
    has a class that computes, the innermost of several components computes.

    Args:
        root: the section ``architecture``, checked against its schema.
        location: location of the section in its document, for messages.
        targets: names that mappings or constraints use. A container among them is a level without storage,
            for the spatial loops over its mesh.

    Raises:
        ConfigurationError: there is no level, there are several compute components or none, a component has
            no name or the name of another, a range ends before it begins, or an attribute or a constraint is
            invalid.
    """
    tree = _Tree(frozenset(targets))
    units = [unit for unit in tree.units(root, location, (), (1, 1), {}) if unit.node.enabled]
    computes = [unit for unit in units if _is_compute(unit.node)]
    if not computes and len(units) > 1:
        computes = units[-1:]
    storage = [unit for unit in units if unit not in computes]
    if not any(unit.stores for unit in storage):
        raise location.error("the architecture has no level of storage; add a component of class storage")
    if len(computes) != 1:
        raise location.error(f"the architecture needs one component that computes, and has {len(computes)}")
    names = [unit.name for unit in units]  # mappings and constraints find levels by name
    for unit in units:
        if names.count(unit.name) > 1:
            raise unit.location.error(f"{unit.name} is the name of two components")
    levels = tuple(_level(unit) for unit in storage)
    optimizations = tuple(
        (str(unit.node.name), unit.node.sparse_optimizations, unit.location / "sparse_optimizations")
        for unit in units
        if unit.node.sparse_optimizations is not None
    )
    return Machine(
        Architecture(levels, _compute(computes[0])),
        optimizations,
        tuple(directive for unit in units for directive in _read_node_constraints(unit)),
        frozenset(unit.name for unit in storage if unit.is_branch),
    )


def find_constrained_nodes(node: NodeSchema) -> Iterator[str]:
    """Yield the names of the nodes with constraints."""
    if node.constraints:
        yield _RANGE.sub("", str(node.name))
    for child in (*node.nodes, *node.local, *node.subtree):
        yield from find_constrained_nodes(child)


def _read_node_constraints(unit: _Unit) -> Iterator[Directive]:
    """Yield the ``constraints`` of a node, as entries of a mapping; ``_limit`` reads a plain number.

    Raises:
        ConfigurationError: a constraint is unknown.
    """
    for kind, directive in unit.node.constraints.items():
        location = unit.location / "constraints" / kind
        kinds = ("spatial", "temporal", "dataspace", "max_overbooked_proportion")
        if kind not in kinds:
            raise location.error(f"there is no constraint {kind}; {suggest(kind, kinds)}", key=True)
        if isinstance(directive, DirectiveSchema):
            yield directive.model_copy(update={"target": unit.name, "type": kind}), location


@dataclass(frozen=True)
class _Tree:
    """Walk over the nodes of an architecture; ``targets`` are the names that mappings use."""

    targets: frozenset[str]

    def units(
        self,
        node: NodeSchema,
        location: Location,
        path: tuple[str, ...],
        mesh: tuple[int, int],
        shared: Map[str, object],
    ) -> Iterator[_Unit]:
        """Yield the components of a tree and the containers among the targets, outermost first.

        Args:
            node: the root of the tree.
            location: its location in the file, for messages.
            path: names of the nodes above.
            mesh: instances of the node along X and Y.
            shared: attributes from the nodes above, and from each ``!Container`` before in their lists.
        """
        shared = {**shared, **_select_model_attributes(node.attributes)}  # the node's own take precedence
        # version 0.4 has ``nodes``, 0.3 the others; a container encloses the nodes after it in its own list
        for key in ("nodes", "local", "subtree"):
            outer_path, inner, attributes_above = path, mesh, shared
            for number, child in enumerate(getattr(node, key)):
                child_location = location / key / number
                if child.tag == "!Nothing":
                    continue
                name, count = _split_name(child, child_location)
                # the instances of a range, as in PE[0..15], lie along X
                mesh_size = (inner[0] * count * child.spatial.mesh_x, inner[1] * child.spatial.mesh_y)
                branch = node.tag == "!Parallel"
                child_path = (*outer_path, str(child.name)) if name else outer_path
                attributes = AttributesSchema.model_validate(
                    {**attributes_above, **_select_model_attributes(child.attributes)}
                )
                unit = _Unit(child, child_location, ".".join(child_path), inner, attributes, branch)
                if child.class_ is not None:  # a component is a leaf: nodes below it are not read
                    yield replace(unit, mesh=_arrange_mesh(child, mesh_size))
                    continue
                if name and not self.targets.isdisjoint((name, format_fan_out_name(name))):
                    yield unit
                yield from self.units(child, child_location, child_path, mesh_size, attributes_above)
                if child.tag == "!Container":  # the following nodes are inside
                    outer_path, inner, attributes_above = (
                        child_path,
                        mesh_size,
                        {**attributes_above, **_select_model_attributes(child.attributes)},
                    )


def _select_model_attributes(attributes: AttributesSchema) -> dict[str, object]:
    """Return the attributes of a node that the model knows."""
    fields = attributes.model_dump(by_alias=True, exclude_unset=True)
    return {key: value for key, value in fields.items() if key not in (attributes.model_extra or ())}


def _split_name(node: NodeSchema, location: Location) -> tuple[str, int]:
    """Return the name of a node without its range, and the number of instances: 16 for ``PE[0..15]``.

    A container without a name has an empty name and one instance.

    Raises:
        ConfigurationError: a component has no name, or a range ends before it begins.
    """
    if node.name is None:
        if node.class_ is not None:
            raise location.error("a component needs a name")
        return "", 1
    counts = [int(last) - int(first) + 1 for first, last in _RANGE.findall(node.name)]
    if any(count < 1 for count in counts):
        raise (location / "name").error(f"{node.name} has a range that ends before it begins")
    return _RANGE.sub("", node.name), prod(counts)


def _arrange_mesh(node: NodeSchema, mesh: tuple[int, int]) -> tuple[int, int]:
    """Return the mesh with ``meshX`` columns, an attribute of version 0.3.

    A ``meshX`` that does not divide the number of instances is ignored.
    """
    count, columns = mesh[0] * mesh[1], node.attributes.mesh_x
    if columns is None or columns > count or count % columns:
        return mesh
    return columns, count // columns


def _is_compute(node: NodeSchema) -> bool:
    return str(node.class_).lower() in _COMPUTE or str(node.subclass).lower() in _COMPUTE


def _level(unit: _Unit) -> Level:
    """Return a level of the machine; a unit that stores nothing only fans out.

    A word has 16 bits and metadata 8 bits by default. ``sizeKB`` counts only without entries and a depth.
    """
    attributes, node = unit.attributes, unit.node
    if not unit.stores:
        return Level(unit.name, unit.path, "fan-out", unit.mesh, stores=False)
    # a width is at least 1, so that ``or`` finds the first that is given; a depth may be 0
    word_bits = attributes.word_bits or attributes.datawidth or 16
    block, cluster = _compute_row(attributes, word_bits, unit.location)
    depth = _make_first_test(attributes.data_storage_depth, attributes.memory_depth, attributes.depth)
    # entries are words: a row has ``block`` words in each of ``cluster`` instances
    entries = _make_first_test(attributes.entries, None if depth is None else depth * block * cluster)
    if entries is None and attributes.size_kb is not None:
        entries = int(attributes.size_kb * _KILO * 8 / word_bits)
    metadata_width = attributes.metadata_storage_width or 0
    if attributes.tile_partition_supported:
        location = unit.location / "attributes" / "tile_partition_supported"
        raise location.error("tiles cannot be cut at run time; leave tile_partition_supported out")
    return Level(
        name=unit.name,
        path=unit.path,
        kind=str(node.subclass or node.class_),
        mesh=unit.mesh,
        word_bits=word_bits,
        block=block,
        entries=entries,
        cluster=cluster,
        buffering=attributes.multiple_buffering,
        least_utilization=attributes.min_utilization,
        overbooking=attributes.allow_overbooking,
        overbooked=_limit(node),
        metadata_bits=_make_first_test(attributes.metadata_word_bits, attributes.metadata_datawidth, 8) or 0,
        metadata_width=metadata_width,
        metadata_depth=attributes.metadata_storage_depth if metadata_width else None,
        read_bandwidth=attributes.read_bandwidth,
        write_bandwidth=attributes.write_bandwidth,
        shared_bandwidth=attributes.shared_bandwidth,
        bandwidth_scales=tuple(attributes.per_dataspace_bandwidth_consumption_scale.items()),
        decompresses=attributes.decompression_supported,
        compresses=attributes.compression_supported,
        reduces=attributes.reduction_supported,
        energy_scale=node.energy_scale,
    )


def _limit(node: NodeSchema) -> float:
    """Return the allowed share of overbooked tiles; 0 without a constraint, or if it is not from 0 to 1."""
    limit = node.constraints.get("max_overbooked_proportion", 0.0)
    share = limit.proportion if isinstance(limit, DirectiveSchema) else limit
    return share if 0 <= share <= 1 else 0.0


def _compute_row(attributes: AttributesSchema, word_bits: int, location: Location) -> tuple[int, int]:
    """Return the words of a row, and the instances of a row: width = words x word bits x instances."""
    cluster = attributes.cluster_size or 1
    width = _make_first_test(attributes.data_storage_width, attributes.memory_width, attributes.width)
    if attributes.block_size is not None:
        if width is not None and width != attributes.block_size * word_bits * cluster:
            message = f"a row of {width} bits is not {attributes.block_size} words of {word_bits} bits"
            raise (location / "attributes").error(f"{message} in {cluster} instances; leave one of them out")
        return attributes.block_size, cluster
    if width is None:
        return 1, cluster
    if width % (word_bits * cluster):
        raise (location / "attributes").error(
            f"a row of {width} bits has no whole number of words of {word_bits} bits"
        )
    return width // (word_bits * cluster), cluster


def _make_first_test(*values: int | None) -> int | None:
    """Return the first value that is not None: old and new names of one attribute, in order of precedence."""
    return next((value for value in values if value is not None), None)


def _compute(unit: _Unit) -> Compute:
    attributes, node = unit.attributes, unit.node
    return Compute(
        name=unit.name,
        path=unit.path,
        kind=str(node.subclass or node.class_),
        mesh=unit.mesh,
        word_bits=attributes.word_bits or attributes.datawidth or 16,
        energy_scale=node.energy_scale,
    )
