"""Separate units of OuterSPACE's parts: the parts that use units, and the connections of the units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fiberscope.accelerators.composition import Composition, PartFactory
from fiberscope.accelerators.outerspace.configuration import OuterSpaceConfiguration
from fiberscope.accelerators.outerspace.unit_linker import UnitLinker
from fiberscope.accelerators.outerspace.unit_merger import UnitMergingElement
from fiberscope.hw.fibers.allocator import BumpAllocator, NodeWriter
from fiberscope.hw.fibers.sorted_head import SEQUENTIAL, SortedHeadUnit
from fiberscope.sim import Component

UNITS: Mapping[str, PartFactory] = {
    "sorted_head": SortedHeadUnit,
    "bump_allocator": BumpAllocator,
    "node_writer": NodeWriter,
}


def parts_with_units(parameters: OuterSpaceConfiguration, parts: Mapping[str, PartFactory]) -> dict[str, Any]:
    """Return the parts that use separate units.

    A part uses units if the configuration says so, or if ``parts`` replaces one of these units.

    Args:
        parameters: configuration of the machine.
        parts: replacements by name.

    Returns:
        The classes of ``merger`` and ``linker``, as far as they use units. Replacements of ``merger`` and
        ``linker`` in ``parts`` take precedence over these classes.
    """
    classes: dict[str, Any] = {}
    if parameters.merge.heads == "unit" or "sorted_head" in parts:
        classes["merger"] = UnitMergingElement
    if parameters.alloc.links == "unit" or parts.keys() & {"bump_allocator", "node_writer"}:
        classes["linker"] = UnitLinker
    return classes


def add_heads(machine: Composition[OuterSpaceConfiguration], name: str, merger: Component) -> None:
    """Add and connect the unit that keeps the heads of a merging element sorted.

    Args:
        machine: the machine to which the unit is added.
        name: name of the processing element, for example ``tile00.pe00``; prefix of the unit's name.
        merger: the merging element, a ``UnitMergingElement``.
    """
    heads = machine.add("sorted_head", f"{name}.sorted_head", machine.parameters.merge.max_lists, SEQUENTIAL)
    for port in ("tasks", "elements"):
        machine.kernel.connect(merger, f"head_{port}", heads, port, capacity=2)
    for port in ("merged", "successors"):
        machine.kernel.connect(heads, port, merger, port, capacity=2)


def add_links(
    machine: Composition[OuterSpaceConfiguration], linker: Component, spill: range, rows: int
) -> None:
    """Add and connect the units that allocate the spill area and link nodes.

    Args:
        machine: the machine to which the units are added.
        linker: the linker that uses the units.
        spill: addresses of the spill area.
        rows: number of rows of Z, each of which has a list.
    """
    # The linker pushes without a check: at most ``slots`` nodes are in flight.
    connect, capacity = machine.kernel.connect, machine.parameters.alloc.slots + 2
    space = machine.add("bump_allocator", "linker.bump_allocator", spill.stop, spill.start)
    # A node writer needs at least one list, also if Z has no row.
    writer = machine.add("node_writer", "linker.node_writer", max(1, rows))
    connect(linker, "space_requests", space, "requests", capacity=capacity)
    connect(space, "grants", linker, "space_grants", capacity=2)
    connect(linker, "new_nodes", writer, "nodes", capacity=capacity)
    connect(writer, "headers", linker, "node_headers", capacity=2)
