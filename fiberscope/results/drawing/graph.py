"""Content of a drawing: families of components, and the bundles of channels between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fiberscope.sim import Component, Kernel
from fiberscope.sim.names import family_name
from fiberscope.sim.wiring import End

_DIRECTIONS = ("_requests", "_replies")  # suffixes of two crossbars that are drawn as one network
_KINDS = {  # by package; the first that contains the class counts
    "fiberscope.hw.dram": "memory",
    "fiberscope.hw.networks.concentrator": "network",
    "fiberscope.hw.networks.crossbar": "network",
    "fiberscope.hw": "block",
}
MACHINE_LEGEND = {  # meaning of each kind of box in the drawing of a machine
    "own": "component of this machine",
    "block": "library block",
    "network": "network",
    "memory": "memory",
}


@dataclass(frozen=True)
class Box:
    """A family of components.

    Args:
        name: the name of the family.
        count: the number of members; for a box of two families, of the last component's family.
        kind: a value of ``_KINDS``, or ``own``.
    """

    name: str
    count: int
    kind: str


@dataclass
class Bundle:
    """The channels between two boxes, as texts: ``down`` from the upper to the lower box, ``up`` back.

    Until the layout, ``upper`` is the producer of the first channel. ``layout.arrange`` swaps the two boxes
    if ``upper`` comes to lie below. Both names are equal for channels within a box.
    """

    upper: str
    lower: str
    down: list[str] = field(default_factory=list)
    up: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Graph:
    """Boxes by name in the order of creation, bundles between boxes, and the meaning of each kind of box."""

    boxes: Mapping[str, Box]
    bundles: tuple[Bundle, ...]
    legend: Mapping[str, str] = field(default_factory=lambda: MACHINE_LEGEND)


def build_graph(kernel: Kernel) -> Graph:
    """Build the graph of a machine's components and channels."""
    names = name_boxes(family_name(component.name) for component in kernel.components)
    members = Counter(family_name(component.name) for component in kernel.components)
    boxes: dict[str, Box] = {}
    for component in kernel.components:
        family = family_name(component.name)
        boxes[names[family]] = Box(names[family], members[family], _choose_kind(component))
    return Graph(boxes, tuple(_collect_bundles(kernel, names)))


def name_boxes(component_families: Iterable[str]) -> dict[str, str]:
    """Return the box of each family of a machine; the two directions of a network share a box.

    A family of a single direction keeps its name.
    """
    families = list(dict.fromkeys(component_families))
    shared = Counter(_strip_direction(family) for family in families)
    return {
        family: _strip_direction(family) if shared[_strip_direction(family)] > 1 else family
        for family in families
    }


def _strip_direction(family: str) -> str:
    return next((family.removesuffix(end) for end in _DIRECTIONS if family.endswith(end)), family)


def _choose_kind(component: Component) -> str:
    module = type(component).__module__
    return next((kind for package, kind in _KINDS.items() if f"{module}.".startswith(f"{package}.")), "own")


def _collect_bundles(kernel: Kernel, names: Mapping[str, str]) -> list[Bundle]:
    """Return a bundle for each pair of boxes with channels; parallel channels are one text with a count."""
    channels = Counter(
        (_find_family(link.producer), link.producer.port.name, _find_family(link.consumer))
        for link in kernel.wiring.connections
    )
    bundles: dict[frozenset[str], Bundle] = {}
    for (producer, port, consumer), count in channels.items():
        start, end = names[producer], names[consumer]
        bundle = bundles.setdefault(frozenset((start, end)), Bundle(start, end))
        text = f"{count} x {producer}.{port} to {consumer}"
        (bundle.down if bundle.upper == start else bundle.up).append(text)
    return list(bundles.values())


def _find_family(end: End) -> str:
    return family_name(end.component.name)
