"""Contents of a drawing: families of components, and the bundles of channels between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fiberscope.sim import Component, Kernel
from fiberscope.sim.names import family_name
from fiberscope.sim.wiring import End

__all__ = ["Box", "Bundle", "Graph", "box_names", "build_graph"]

_DIRECTIONS = ("_requests", "_replies")  # two crossbars that are one network
_ROOMS = {
    "fiberscope.hw.dram": "memory",
    "fiberscope.hw.networks.crossbar": "network",
    "fiberscope.hw": "block",
}


@dataclass(frozen=True)
class Box:
    """A family of components: its name, how many they are, and of which kind (``_ROOMS``, else ``own``)."""

    name: str
    count: int
    kind: str


@dataclass
class Bundle:
    """Channels between two boxes, described by direction."""

    upper: str
    lower: str
    down: list[str] = field(default_factory=list)
    up: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Graph:
    """Boxes by name, as they were added, and bundles in the direction of the first channel of each."""

    boxes: Mapping[str, Box]
    bundles: tuple[Bundle, ...]


def build_graph(kernel: Kernel) -> Graph:
    """The graph of a machine's components and channels."""
    names = box_names(family_name(component.name) for component in kernel.components)
    members = Counter(family_name(component.name) for component in kernel.components)
    boxes: dict[str, Box] = {}
    for component in kernel.components:
        family = family_name(component.name)
        boxes[names[family]] = Box(names[family], members[family], _kind(component))
    return Graph(boxes, tuple(_bundles(kernel, names)))


def box_names(named: Iterable[str]) -> dict[str, str]:
    """The box of each family of a machine; the two directions of a network share one."""
    families = list(dict.fromkeys(named))
    shared = Counter(_undirected(family) for family in families)
    return {family: _undirected(family) if shared[_undirected(family)] > 1 else family for family in families}


def _undirected(family: str) -> str:
    return next((family.removesuffix(end) for end in _DIRECTIONS if family.endswith(end)), family)


def _kind(component: Component) -> str:
    module = type(component).__module__
    return next((kind for room, kind in _ROOMS.items() if f"{module}.".startswith(f"{room}.")), "own")


def _bundles(kernel: Kernel, names: Mapping[str, str]) -> list[Bundle]:
    channels = Counter(
        (_family(link.producer), link.producer.port.name, _family(link.consumer))
        for link in kernel.wiring.connections
    )
    bundles: dict[frozenset[str], Bundle] = {}
    for (producer, port, consumer), count in channels.items():
        start, finish = names[producer], names[consumer]
        bundle = bundles.setdefault(frozenset((start, finish)), Bundle(start, finish))
        words = f"{count} x {producer}.{port} to {consumer}"
        (bundle.down if bundle.upper == start else bundle.up).append(words)
    return list(bundles.values())


def _family(end: End) -> str:
    return family_name(end.component.name)
