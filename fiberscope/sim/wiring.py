"""Wiring: channels between declared ports, checked before anything runs."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port
from fiberscope.sim.constants import FIRST_STALL
from fiberscope.sim.errors import BuildError, SimulationError
from fiberscope.sim.names import nearest
from fiberscope.sim.protocol import ANY, Protocol

_PORT = re.compile(r"(?P<name>[^\[\]]+)(\[(?P<index>\d+)\])?")

Direction = Literal["input", "output"]
Ports: TypeAlias = tuple[Port, ...]
Places: TypeAlias = dict[tuple[type[Port], str], int]


class Stall(NamedTuple):
    """Meaning of a component's stall state: it waits at a port, or at any of an array of them.

    ``label`` is the port's, ``name`` or ``name[i]``, or the array's name alone for any of it.
    """

    label: str
    channels: tuple[Channel, ...]
    direction: Direction


@dataclass(eq=False, slots=True)
class End:
    """One end of a channel: a port of a component, with its index if the port is an array.

    ``place`` is the port's among those declared, ``label`` says which it is, as in ``ways[3]``.
    """

    component: Component
    port: Port
    place: int
    index: int | None
    label: str

    @property
    def name(self) -> str:
        """The component and the port."""
        return f"{self.component.name}.{self.label}"


@dataclass(eq=False, slots=True)
class Link:
    """A channel and the ports at its ends."""

    channel: Channel
    producer: End
    consumer: End


class Wiring:
    """All channels of a machine and the ports at their ends."""

    def __init__(self) -> None:
        self.channels: list[Channel] = []
        self._by_channel: dict[int, Link] = {}  # as connected
        self._taken: dict[int, dict[str, End]] = {}  # by component and label
        self._stalls: dict[int, list[Stall]] = {}  # by component, in the order of the states
        self._declared: dict[int, tuple[Ports, Places]] = {}  # by identity of the tuple of ports

    @property
    def connections(self) -> list[Link]:
        """All channels with their ends, in the order in which they were connected."""
        return list(self._by_channel.values())

    def link(self, channel: Channel) -> Link:
        """Return a channel's ends."""
        return self._by_channel[id(channel)]

    def peers(self, stall: Stall) -> tuple[str, ...]:
        """Return the names of the components at the other ends of a stall's channels, each once."""
        links = [self.link(channel) for channel in stall.channels]
        ends = [link.producer if stall.direction == "input" else link.consumer for link in links]
        return tuple(dict.fromkeys(end.component.name for end in ends))

    def connect(
        self,
        producer: Component,
        output: str,
        consumer: Component,
        input_: str,
        capacity: int | None,
        latency: int,
    ) -> Channel:
        """A new channel; checks everything before it changes anything.

        Raises:
            SimulationError: saying what does not match.
        """
        start = self._end(producer, output, Output)
        finish = self._end(consumer, input_, Input)
        protocol = _common_protocol(start, finish)
        for quantity, number in (("capacity", capacity), ("latency", latency)):
            if number is not None and number < 1:
                raise SimulationError(
                    f"{start.name} to {finish.name}: {quantity} must be at least 1, not {number}"
                )
        for end in (start, finish):
            if end.label in self._taken.get(id(end.component), {}):
                raise SimulationError(
                    f"{end.name} is connected already: a channel has one writer and one reader"
                )
        channel = Channel(finish.name, capacity, latency, protocol)
        self.channels.append(channel)
        self._by_channel[id(channel)] = Link(channel, start, finish)
        for end in (start, finish):
            self._taken.setdefault(id(end.component), {})[end.label] = end
        return channel

    def _end(self, component: Component, label: str, kind: type[Port]) -> End:
        name, index = _read(label)
        ports = component.declared_ports()
        if id(ports) not in self._declared:
            self._declared[id(ports)] = ports, _places(ports)
        place = self._declared[id(ports)][1].get((kind, name))
        if place is None:
            advice = nearest(label, [port.name for port in ports if isinstance(port, kind)])
            raise SimulationError(f"{component.name} has no {kind.__name__.lower()} port {label}; {advice}")
        port = ports[place]
        if port.array != (index is not None):
            form = f"{port.name}[i]" if port.array else port.name
            raise SimulationError(f"{component.name}: port {label} must be written {form}")
        return End(component, port, place, index, port.name if index is None else f"{port.name}[{index}]")

    def check(self, components: Sequence[Component]) -> None:
        """Look for every fault of the wiring.

        Raises:
            BuildError: listing them all.
        """
        names = Counter(component.name for component in components)
        faults = [f"{count} components are named {name}" for name, count in names.items() if count > 1]
        identities = {id(component) for component in components}
        for component in components:
            faults += [f"{component.name}: {fault}" for fault in self._port_faults(component)]
        for link in self.connections:
            for end in (link.producer, link.consumer):
                if id(end.component) not in identities:
                    faults.append(f"{end.name} is connected, but its component was not added to the kernel")
        if faults:
            raise BuildError(faults)

    def _port_faults(self, component: Component) -> Iterator[str]:
        for name, count in Counter(port.name for port in component.declared_ports()).items():
            if count > 1:
                yield f"{count} ports are named {name}"
        taken: dict[int, set[str]] = {}
        for end in self._taken.get(id(component), {}).values():
            taken.setdefault(end.place, set()).add(end.label)
        for place, port in enumerate(component.declared_ports()):
            labels = taken.get(place, set())
            if not labels and not port.optional:
                yield f"port {port.name} ({port.carries}) is not connected"
            if port.array:
                missing = [
                    f"{port.name}[{i}]" for i in range(len(labels)) if f"{port.name}[{i}]" not in labels
                ]
                if missing:
                    yield f"the array {port.name} has gaps: {', '.join(missing)} not connected"

    def attach(self) -> None:
        """Give every channel its clocks and every component its channels and accounting states.

        States are in the order of the ports as declared, then by index.
        """
        for link in self.connections:
            writer, reader = link.producer.component, link.consumer.component
            if writer._clock is None or reader._clock is None:
                raise SimulationError(f"{link.channel.name}: both ends must be in a clock domain")
            link.channel.attach(writer._clock, writer._index, reader._clock, reader._index)
        ends = sorted(self._ends(), key=lambda item: (item[0].place, item[0].index or 0))
        for end, channel in ends:
            end.component._connected.setdefault(end.port.name, []).append(channel)
            self._register_one(end, channel)
        for component in {id(end.component): end.component for end, _channel in ends}.values():
            for port in component.declared_ports():
                if port.array and component.channels(port.name):
                    self._register_any(component, port)
            component._cycles = array("q", bytes(8 * (FIRST_STALL + len(self.stalls(component)))))

    def _ends(self) -> Iterator[tuple[End, Channel]]:
        for link in self.connections:
            yield link.producer, link.channel
            yield link.consumer, link.channel

    def _register_one(self, end: End, channel: Channel) -> None:
        """Give a component a state for waiting at one port."""
        state = self._register(end.component, end.label, end.port, (channel,))
        if isinstance(end.port, Input):
            channel.reader_state = state
        else:
            channel.writer_state = state

    def _register_any(self, component: Component, port: Port) -> None:
        """Give a component a state for waiting at any of an array of ports."""
        channels = tuple(component.channels(port.name))
        state = self._register(component, port.name, port, channels)
        for channel in channels:
            if isinstance(port, Input):
                channel.any_reader_state = state
            else:
                channel.any_writer_state = state

    def _register(self, component: Component, label: str, port: Port, channels: tuple[Channel, ...]) -> int:
        stalls = self._stalls.setdefault(id(component), [])
        direction: Direction = "input" if isinstance(port, Input) else "output"
        stalls.append(Stall(label, channels, direction))
        return FIRST_STALL + len(stalls) - 1

    def stalls(self, component: Component) -> list[Stall]:
        """Return the meaning of each stall state of a component, from ``FIRST_STALL`` on."""
        return self._stalls.get(id(component), [])

    def links(self, component: Component) -> list[Stall]:
        """The stall states of a component that are of one channel each, in the order of the ports."""
        return [stall for stall in self.stalls(component) if stall.label in self._taken[id(component)]]


def _places(ports: Ports) -> Places:
    """Return the places of ports by kind and name, the first of several that are alike."""
    places: Places = {}
    for place, port in enumerate(ports):
        places.setdefault((Input if isinstance(port, Input) else Output, port.name), place)
    return places


def check_attributes(components: Sequence[Component]) -> None:
    """Look for counters and signals that no attribute is behind, when all components are elaborated.

    Raises:
        BuildError: listing them all.
    """
    names_by_class = {
        kind: _declared_attributes(kind) for kind in set(map(type, components))
    }  # a machine has many of each
    faults = [
        f"{component.name}: the {what} is no attribute of {type(component).__name__}; set it in __init__"
        for component in components
        for what, name in names_by_class[type(component)]
        if not hasattr(component, name)
    ]
    if faults:
        raise BuildError(faults)


def _declared_attributes(kind: type[Component]) -> list[tuple[str, str]]:
    """Return the kinds of a component's attributes, with their names."""
    counters = kind.COUNTERS if kind.counters is Component.counters else ()
    signals = kind.SIGNALS if kind.sample is Component.sample else ()
    return [(f"counter {name}", name) for name in counters] + [
        (f"signal {signal.name}", signal.name) for signal in signals
    ]


@lru_cache(maxsize=4096)  # a machine of many equal parts says the same again
def _read(label: str) -> tuple[str, int | None]:
    """A port's name, nothing if the label is no port's, and its index."""
    match = _PORT.fullmatch(label)
    name, index = match.group("name", "index") if match else ("", None)
    return name, None if index is None else int(index)


def _common_protocol(start: End, finish: End) -> Protocol:
    """Return the protocol that both ends carry."""
    carried, expected = start.port.carries, finish.port.carries
    if carried is expected:
        return carried
    if ANY not in (carried, expected) and carried != expected:
        full = carried.name == expected.name
        carried_text, wanted = (
            protocol.describe() if full else protocol.name for protocol in (carried, expected)
        )
        raise SimulationError(f"{start.name} carries {carried_text}, but {finish.name} expects {wanted}")
    return expected if carried == ANY else carried
