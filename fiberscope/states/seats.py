"""What of a machine is looked at over time: the states of its components and the queues in front of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from fiberscope.sim import Channel, Component, Kernel
from fiberscope.sim.connect import Stall, Wiring

__all__ = ["Queue", "Seat", "seats_of"]

FIXED = ("busy", "idle")  # the states that every component has, in the order of their numbers
Peers = tuple[str, ...]


@dataclass
class Queue:
    """The channels at one input port; those of an array of ports are one queue. None is no bound."""

    capacity: int | None = 0
    channels: list[Channel] = field(default_factory=list)

    def add(self, channel: Channel) -> None:
        """One more of them."""
        bounded = channel.bounded and self.capacity is not None
        self.capacity = (self.capacity or 0) + channel.capacity if bounded else None
        self.channels.append(channel)


@dataclass(frozen=True)
class Seat:
    """One component.

    Args:
        component: the component.
        labels: what each of its states is called, in the order of their numbers: ``busy``, ``idle``,
            ``wait:port``, ``full:port``. States of one array of ports whose channels all lead to one
            component have one label.
        waits_for: the components at the other end, by label.
        queues: those in front of it, by port.
    """

    component: Component
    labels: tuple[str, ...]
    waits_for: Mapping[str, Peers]
    queues: Mapping[str, Queue]


def seats_of(kernel: Kernel) -> list[Seat]:
    """Every component of a built kernel, in the order in which they were added."""
    ends = {
        id(link.channel): (link.producer.component.name, link.consumer.component.name)
        for link in kernel.wiring.connections
    }
    return [_seat(component, kernel.wiring, ends) for component in kernel.components]


def _seat(component: Component, wiring: Wiring, ends: Mapping[int, tuple[str, str]]) -> Seat:
    stalls = wiring.stalls(component)
    peers = [_peers(stall, ends) for stall in stalls]
    beyond: defaultdict[tuple[str, str], set[str]] = defaultdict(set)  # by direction and array of ports
    for stall, names in zip(stalls, peers, strict=True):
        beyond[stall.direction, _array(stall)].update(names)
    alone = {key for key, names in beyond.items() if len(names) == 1}
    labels = [_label(stall, (stall.direction, _array(stall)) in alone) for stall in stalls]
    waits_for = dict(zip(labels, peers, strict=True))
    return Seat(component, (*FIXED, *labels), waits_for, _queues(component, wiring))


def _peers(stall: Stall, ends: Mapping[int, tuple[str, str]]) -> Peers:
    """The components at the other end of the channels that a stall waits for."""
    far = 0 if stall.direction == "input" else 1
    return tuple(dict.fromkeys(ends[id(channel)][far] for channel in stall.channels))


def _array(stall: Stall) -> str:
    """The name of its port, that of the array if it is one of an array."""
    return stall.label.partition("[")[0]


def _label(stall: Stall, one_peer: bool) -> str:
    port = _array(stall) if one_peer else stall.label
    return f"{'wait' if stall.direction == 'input' else 'full'}:{port}"


def _queues(component: Component, wiring: Wiring) -> dict[str, Queue]:
    queues: dict[str, Queue] = {}
    for stall in wiring.links(component):
        if stall.direction == "input":
            queues.setdefault(_array(stall), Queue()).add(stall.channels[0])
    return queues
