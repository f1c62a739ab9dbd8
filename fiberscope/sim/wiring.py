"""Wiring: channels between declared ports, checked before the first cycle."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, signals_are_attributes
from fiberscope.sim.constants import FIRST_STALL
from fiberscope.sim.errors import BuildError, SimulationError
from fiberscope.sim.names import nearest
from fiberscope.sim.protocol import ANY, Protocol

_PORT = re.compile(r"(?P<name>[^\[\]]+)(\[(?P<index>\d+)\])?")

Direction = Literal["input", "output"]
Ports: TypeAlias = tuple[Port, ...]
PortPositions: TypeAlias = dict[tuple[type[Port], str], int]
Places: TypeAlias = dict[tuple[type[Port], str], "Place"]


class Place(NamedTuple):
    """The port that a label names, with its position among the declared ports; see ``End``."""

    port: Port
    position: int
    array_index: int | None
    label: str


class Stall(NamedTuple):
    """Meaning of a stall state: the component waits at a port, or at any port of an array.

    ``label`` is ``name`` or ``name[i]`` for a port, and the array's name for any port of the array.
    """

    label: str
    channels: tuple[Channel, ...]
    direction: Direction


@dataclass(eq=False, slots=True)
class End:
    """One end of a channel: a port of a component, with its index if the port is an array.

    ``position`` is that of the port among the declared ports. ``label`` is the port's name with its
    index, such as ``ways[3]``.
    """

    component: Component
    port: Port
    position: int
    index: int | None
    label: str

    @property
    def name(self) -> str:
        """The names of the component and the port."""
        return f"{self.component.name}.{self.label}"


@dataclass(eq=False, slots=True)
class Link:
    """A channel and the ports at its ends."""

    channel: Channel
    producer: End
    consumer: End


class Wiring:
    """All channels of a machine and the ports at their ends.

    A kernel calls ``connect`` for each channel, then ``check``, then ``attach``.
    """

    def __init__(self) -> None:
        self.channels: list[Channel] = []
        self._by_channel: dict[int, Link] = {}  # by identity of the channel, in the order of connection
        self._connected_ends: dict[int, dict[str, tuple[End, Channel]]] = {}  # by component and label
        self._stalls: dict[int, list[Stall]] = {}  # by component, in the order of the states
        self._declared: dict[int, tuple[Ports, PortPositions, Places]] = {}  # by identity of the ports

    @property
    def connections(self) -> list[Link]:
        """All channels with their ends, in the order in which they were connected."""
        return list(self._by_channel.values())

    def link(self, channel: Channel) -> Link:
        """Return the ends of a channel.

        Raises:
            KeyError: if the channel belongs to another machine.
        """
        return self._by_channel[id(channel)]

    def peers(self, stall: Stall) -> tuple[str, ...]:
        """Return the distinct names of the components at the other ends of a stall's channels."""
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
        """Create a channel. A fault leaves the wiring unchanged.

        Args:
            producer, output: the component that writes, and its port: ``port`` or ``port[i]``.
            consumer, input_: the component that reads, and its port.
            capacity: capacity in tokens; None for no bound.
            latency: cycles of the writer's clock from a push until the reader sees the token.

        Raises:
            SimulationError: if a port does not exist or is connected already, the protocols differ, or a
                number is below 1.
        """
        start = self._find_end(producer, output, Output)
        finish = self._find_end(consumer, input_, Input)
        protocol = _find_common_protocol(start, finish)
        for quantity, number in (("capacity", capacity), ("latency", latency)):
            if number is not None and number < 1:
                raise SimulationError(
                    f"{start.name} to {finish.name}: {quantity} must be at least 1, not {number}"
                )
        outputs = self._connected_ends.setdefault(id(producer), {})
        inputs = self._connected_ends.setdefault(id(consumer), {})
        for end, ends in ((start, outputs), (finish, inputs)):
            if end.label in ends:
                raise SimulationError(
                    f"{end.name} is connected already: a channel has one writer and one reader"
                )
        channel = Channel(finish.name, capacity, latency, protocol)
        self.channels.append(channel)
        self._by_channel[id(channel)] = Link(channel, start, finish)
        outputs[start.label] = start, channel
        inputs[finish.label] = finish, channel
        return channel

    def _find_end(self, component: Component, label: str, kind: type[Port]) -> End:
        """Return the end that a label names among the component's ports of a kind, input or output."""
        ports = component.declared_ports()
        if id(ports) not in self._declared:
            # The entry keeps the tuple alive, so that no other tuple gets its identity
            self._declared[id(ports)] = ports, _index_ports(ports), {}
        _ports, positions, places = self._declared[id(ports)]
        place = places.get((kind, label))
        if place is None:  # many equal components have the same ports and labels
            place = places[kind, label] = _find_place(component, label, kind, positions)
        return End(component, *place)

    def check(self, components: Sequence[Component]) -> None:
        """Check the wiring of all components.

        Raises:
            BuildError: listing every fault.
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
        """Yield the faults of a component's ports: equal names, missing connections, gaps in arrays."""
        names = [port.name for port in component.declared_ports()]
        if len(set(names)) < len(names):
            yield from (
                f"{count} ports are named {name}" for name, count in Counter(names).items() if count > 1
            )
        connected_labels: dict[int, set[str]] = {}
        for end, _channel in self._connected_ends.get(id(component), {}).values():
            connected_labels.setdefault(end.position, set()).add(end.label)
        for position, port in enumerate(component.declared_ports()):
            labels = connected_labels.get(position, set())
            if not labels and not port.optional:
                yield f"port {port.name} ({port.carries}) is not connected"
            if port.array:
                missing = [
                    f"{port.name}[{i}]" for i in range(len(labels)) if f"{port.name}[{i}]" not in labels
                ]
                if missing:
                    yield f"the array {port.name} has gaps: {', '.join(missing)} not connected"

    def attach(self) -> None:
        """Set the clocks of every channel, and the channels and accounting states of every component.

        States are in the order of the declared ports, then by index. The states for any port of an array
        follow the states of all single ports. Call this method once: a second call would add the channels
        again.

        Raises:
            SimulationError: if a component at an end has no clock.
        """
        for link in self.connections:
            writer, reader = link.producer.component, link.consumer.component
            if writer._clock is None or reader._clock is None:
                raise SimulationError(f"{link.channel.name}: both ends must be in a clock domain")
            link.channel.attach(writer._clock, writer._index, reader._clock, reader._index)
        for ends in self._connected_ends.values():
            ordered = sorted(ends.values(), key=_get_position)
            if ordered:
                self._register(ordered[0][0].component, ordered)

    def _register(self, component: Component, ends: Sequence[tuple[End, Channel]]) -> None:
        """Set the channels and the accounting states of a component with these ends."""
        stalls = self._stalls[id(component)] = []
        for end, channel in ends:
            component._connected.setdefault(end.port.name, []).append(channel)
            state = FIRST_STALL + len(stalls)
            if isinstance(end.port, Input):
                channel.reader_state = state
                stalls.append(Stall(end.label, (channel,), "input"))
            else:
                channel.writer_state = state
                stalls.append(Stall(end.label, (channel,), "output"))
        for port in component.declared_ports():
            if port.array and (channels := tuple(component.channels(port.name))):
                state = FIRST_STALL + len(stalls)
                for channel in channels:
                    if isinstance(port, Input):
                        channel.any_reader_state = state
                    else:
                        channel.any_writer_state = state
                stalls.append(Stall(port.name, channels, "input" if isinstance(port, Input) else "output"))
        component._cycles = array("q", bytes(8 * (FIRST_STALL + len(stalls))))

    def stalls(self, component: Component) -> list[Stall]:
        """Return the meaning of each stall state of a component, from ``FIRST_STALL`` on.

        The list is empty before ``attach``.
        """
        return self._stalls.get(id(component), [])

    def links(self, component: Component) -> list[Stall]:
        """Return the stall states of a component for single channels, in the order of the ports."""
        connected = self._connected_ends.get(id(component), {})
        return [stall for stall in self.stalls(component) if stall.label in connected]


def _find_place(component: Component, label: str, kind: type[Port], positions: PortPositions) -> Place:
    """Return the port of a component that a label names; see ``Wiring._find_end``."""
    name, index = _parse_label(label)
    ports = component.declared_ports()
    position = positions.get((kind, name))
    if position is None:
        advice = nearest(label, [port.name for port in ports if isinstance(port, kind)])
        raise SimulationError(f"{component.name} has no {kind.__name__.lower()} port {label}; {advice}")
    port = ports[position]
    if port.array != (index is not None):
        form = f"{port.name}[i]" if port.array else port.name
        raise SimulationError(f"{component.name}: port {label} must be written {form}")
    return Place(port, position, index, port.name if index is None else f"{port.name}[{index}]")


def _get_position(item: tuple[End, Channel]) -> tuple[int, int]:
    """Return the order of the end of a channel among the ends of its component."""
    return item[0].position, item[0].index or 0


def _index_ports(ports: Ports) -> PortPositions:
    """Return the position of each port by kind and name; for equal ports, the first position."""
    positions: PortPositions = {}
    for position, port in enumerate(ports):
        positions.setdefault((Input if isinstance(port, Input) else Output, port.name), position)
    return positions


def check_attributes(components: Sequence[Component]) -> None:
    """Check that every declared counter and signal is an attribute, after all components are elaborated.

    Raises:
        BuildError: listing every fault.
    """
    names_by_class = {
        kind: _list_declared_attributes(kind) for kind in set(map(type, components))
    }  # one lookup for each class, as a machine has many instances
    faults = [
        f"{component.name}: the {label} is no attribute of {type(component).__name__}; set it in __init__"
        for component in components
        for label, name in names_by_class[type(component)]
        if not hasattr(component, name)
    ]
    if faults:
        raise BuildError(faults)


def _list_declared_attributes(kind: type[Component]) -> list[tuple[str, str]]:
    """Return the description and the name of each counter and signal that must be an attribute."""
    counters = kind.COUNTERS if kind.counters is Component.counters else ()
    signals = kind.SIGNALS if signals_are_attributes(kind) else ()
    return [(f"counter {name}", name) for name in counters] + [
        (f"signal {signal.name}", signal.name) for signal in signals
    ]


def _parse_label(label: str) -> tuple[str, int | None]:
    """Parse a port label into its name, empty if the label is malformed, and its index."""
    match = _PORT.fullmatch(label)
    name, index = match.group("name", "index") if match else ("", None)
    return name, None if index is None else int(index)


def _find_common_protocol(start: End, finish: End) -> Protocol:
    """Return the protocol of both ends. ``ANY`` at one end accepts the protocol of the other end.

    Raises:
        SimulationError: if the protocols differ.
    """
    protocol, expected = start.port.carries, finish.port.carries
    if protocol is expected:
        return protocol
    if ANY not in (protocol, expected) and protocol != expected:
        full = protocol.name == expected.name
        carried_text, expected_text = (
            carried.describe() if full else carried.name for carried in (protocol, expected)
        )
        raise SimulationError(
            f"{start.name} carries {carried_text}, but {finish.name} expects {expected_text}"
        )
    return expected if protocol == ANY else protocol
