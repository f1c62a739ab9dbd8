"""Wiring: channels between declared ports, checked before anything runs."""

from __future__ import annotations

import difflib
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sim.channel import Channel
from sim.component import ANY, Component, Input, Output, Port
from sim.constants import FIRST_STALL
from sim.errors import BuildError, SimulationError

_PORT = re.compile(r"(?P<name>[^\[\]]+)(\[(?P<index>\d+)\])?")

Stall = tuple[str, Channel, Literal["input", "output"]]


@dataclass(frozen=True)
class _End:
    """One end of a channel: a port of a component, with its index if the port is an array."""

    component: Component
    port: Port
    index: int | None

    @property
    def label(self) -> str:
        return self.port.name if self.index is None else f"{self.port.name}[{self.index}]"

    @property
    def name(self) -> str:
        return f"{self.component.name}.{self.label}"


@dataclass(frozen=True)
class _Link:
    channel: Channel
    producer: _End
    consumer: _End


class Wiring:
    """All channels of a machine and the ports at their ends."""

    def __init__(self) -> None:
        self.channels: list[Channel] = []
        self._links: list[_Link] = []
        self._taken: dict[int, dict[str, _End]] = {}  # by component and label
        self._stalls: dict[int, list[Stall]] = {}

    def connect(
        self, producer: Component, output: str, consumer: Component, input_: str, capacity: int, latency: int
    ) -> Channel:
        """A new channel; checks everything before it changes anything.

        Raises:
            SimulationError: saying what does not match.
        """
        start = _end(producer, output, Output)
        finish = _end(consumer, input_, Input)
        _check_protocol(start, finish)
        for quantity, number in (("capacity", capacity), ("latency", latency)):
            if number < 1:
                raise SimulationError(
                    f"{start.name} to {finish.name}: {quantity} must be at least 1, not {number}"
                )
        for end in (start, finish):
            if end.label in self._taken.get(id(end.component), {}):
                raise SimulationError(
                    f"{end.name} is connected already: a channel has one writer and one reader"
                )
        channel = Channel(finish.name, capacity, latency)
        self.channels.append(channel)
        self._links.append(_Link(channel, start, finish))
        for end in (start, finish):
            self._taken.setdefault(id(end.component), {})[end.label] = end
        return channel

    def check(self, components: Sequence[Component]) -> None:
        """Look for every fault of the wiring.

        Raises:
            BuildError: listing them all.
        """
        names = Counter(component.name for component in components)
        faults = [f"{count} components are named {name}" for name, count in names.items() if count > 1]
        known = {id(component) for component in components}
        for component in components:
            faults += [f"{component.name}: {fault}" for fault in self._port_faults(component)]
        for link in self._links:
            for end in (link.producer, link.consumer):
                if id(end.component) not in known:
                    faults.append(f"{end.name} is connected, but its component was not added to the kernel")
        if faults:
            raise BuildError(faults)

    def _port_faults(self, component: Component) -> Iterator[str]:
        for name, count in Counter(port.name for port in component.PORTS).items():
            if count > 1:
                yield f"{count} ports are named {name}"
        taken = self._taken.get(id(component), {}).values()
        for port in component.PORTS:
            labels = {end.label for end in taken if end.port is port}
            if not labels and not port.optional:
                yield f"port {port.name} ({port.carries}) is not connected"
            if port.array:
                missing = [
                    f"{port.name}[{i}]" for i in range(len(labels)) if f"{port.name}[{i}]" not in labels
                ]
                if missing:
                    yield f"the array {port.name} has gaps: {', '.join(missing)} not connected"

    def attach(self) -> None:
        """Give every channel its clocks and every component its channels and accounting states."""
        for link in self._links:
            writer, reader = link.producer.component, link.consumer.component
            if writer.clock is None or reader.clock is None:
                raise SimulationError(f"{link.channel.name}: both ends must be in a clock domain")
            link.channel.attach(writer.clock, writer.index, reader.clock, reader.index)
        for end, channel, direction in sorted(self._ends(), key=lambda item: _position(item[0])):
            self._register(end, channel, direction)

    def _ends(self) -> Iterator[tuple[_End, Channel, Literal["input", "output"]]]:
        for link in self._links:
            yield link.producer, link.channel, "output"
            yield link.consumer, link.channel, "input"

    def _register(self, end: _End, channel: Channel, direction: Literal["input", "output"]) -> None:
        component = end.component
        stalls = self._stalls.setdefault(id(component), [])
        state = FIRST_STALL + len(stalls)
        stalls.append((end.label, channel, direction))
        if direction == "input":
            channel.reader_state = state
        else:
            channel.writer_state = state
        component.connected.setdefault(end.port.name, []).append(channel)
        component.cycles = array("q", bytes(8 * (state + 1)))

    def stalls(self, component: Component) -> list[Stall]:
        """What each stall state of a component means, from ``FIRST_STALL`` on: port, channel, direction."""
        return self._stalls.get(id(component), [])


def _end(component: Component, label: str, kind: type[Port]) -> _End:
    match = _PORT.fullmatch(label)
    ports = {port.name: port for port in component.PORTS if isinstance(port, kind)}
    port = ports.get(match["name"]) if match else None
    if match is None or port is None:
        near = difflib.get_close_matches(label, ports, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(ports) or 'none'}"
        raise SimulationError(f"{component.name} has no {kind.__name__.lower()} port {label}{hint}")
    if port.array != (match["index"] is not None):
        form = f"{port.name}[i]" if port.array else port.name
        raise SimulationError(f"{component.name}: port {label} must be written {form}")
    return _End(component, port, None if match["index"] is None else int(match["index"]))


def _check_protocol(start: _End, finish: _End) -> None:
    if ANY not in (start.port.carries, finish.port.carries) and start.port.carries != finish.port.carries:
        raise SimulationError(
            f"{start.name} carries {start.port.carries}, but {finish.name} expects {finish.port.carries}"
        )


def _position(end: _End) -> tuple[int, int]:
    """Order of an end's accounting state within its component: ports as declared, then by index."""
    return end.component.PORTS.index(end.port), end.index or 0
