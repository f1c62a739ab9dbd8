"""A machine as one module on one clock: what its kernel is given is noted, and becomes a composition.

The parts are twins, joined as the machine joins its components. What is in another clock, its memory, stays
what it is, and is joined to the module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.composition import Composition, Link, Part, joined
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.sim import ANY, Channel, Clock, Component, Kernel, Port, SimulationError

AnyComponent = TypeVar("AnyComponent", bound=Component)

__all__ = ["REPLIES", "REQUESTS", "Seat", "SeatKernel", "Whole"]

REQUESTS, REPLIES = "memory_requests", "memory_replies"  # the module's ports, one for each channel of memory


@dataclass(frozen=True)
class Whole:
    """A machine that exists as one module.

    Args:
        compose: how the module is composed, of what the machine's kernel was given.
        stand_in: the adapter that puts it into the machine's place.
        told: what a bench of the module has to know beside its ports, as JSON can say it.

    Raises:
        ValueError: when composed, for a machine of which there is no module.
    """

    compose: Callable[[SeatKernel], Composition]
    stand_in: type[Adapter]
    told: Callable[[SeatKernel], Mapping[str, Any]]


class Seat(Component):
    """A part of the machine that is within the module; it is known by its ports, and never runs.

    Args:
        name: instance name.
        block: what it is in the module.
        arguments, options: what the component would be made with.
    """

    def __init__(self, name: str, block: RtlBlock, *arguments: Any, **options: Any) -> None:  # noqa: ANN401  (of any component)
        super().__init__(name)
        self.block, self.arguments, self.options = block, arguments, options
        self.joined: list[str] = []
        self.counted: Callable[[], dict[str, int]] = dict

    def declared_ports(self) -> tuple[Port, ...]:
        """Those of the component."""
        return self.block.stand_in.PORTS

    def channels(self, port: str) -> list[Any]:
        """What is joined to a port, or to an array of them."""
        return [label for label in self.joined if label.partition("[")[0] == port]

    @property
    def parameters(self) -> Parameters:
        """Those of its twin, once all is joined."""
        suits = self.block.matching(*self.arguments, **self.options)
        return replace(suits, **self.block.connected(self))

    def counters(self) -> dict[str, int]:
        """As the module tells them."""
        return self.counted()


@dataclass(frozen=True)
class _Outer:
    """A channel between the module and what is outside."""

    component: Component
    port: str
    is_output: bool  # of the module
    sizes: Mapping[str, Any] = field(hash=False)


class SeatKernel(Kernel):
    """A kernel in which a module stands in for all seats.

    Args:
        name: of the component that stands in for them.
        make: makes that, from how the module is composed and all seats by their names in it.
    """

    def __init__(self, name: str, make: Callable[[str, SeatKernel], Adapter]) -> None:
        super().__init__()
        self._name, self._make = name, make
        self.seats: dict[str, Seat] = {}
        self._inner: list[tuple[str, str, int, int]] = []
        self._outer: dict[str, tuple[str, _Outer]] = {}  # by the module's port: that of a part, and a channel

    def add(self, component: AnyComponent, clock: Clock | None = None) -> AnyComponent:
        """Note a seat, add any other component.

        Raises:
            SimulationError: it would be in the module's clock, and is none of its parts.
        """
        if isinstance(component, Seat):
            self.seats[_within(component.name)] = component
            return component
        if clock is None:
            raise SimulationError(f"{component.name} does not exist as RTL, so no module has it")
        return super().add(component, clock)

    def connect(
        self,
        producer: Component,
        output: str,
        consumer: Component,
        input: str,
        *,
        capacity: int | None,
        latency: int = 1,
    ) -> Channel:
        """Note a channel within the module, or at one of its ports."""
        source, target = self._end(producer, output), self._end(consumer, input)
        sizes = {"capacity": capacity, "latency": latency}
        if source and target:
            self._inner.append((source, target, capacity or 1, latency))
        elif source:
            self._note(REQUESTS, source, _Outer(consumer, input, True, sizes))
        elif target:
            self._note(REPLIES, target, _Outer(producer, output, False, sizes))
        return Channel(f"{producer.name}.{output}", capacity, latency, ANY)

    @staticmethod
    def _end(component: Component, port: str) -> str:
        """The part's port, or nothing."""
        if not isinstance(component, Seat):
            return ""
        component.joined.append(port)
        return f"{_within(component.name)}.{port}"

    def _note(self, port: str, end: str, outer: _Outer) -> None:
        count = sum(label.startswith(port) for label in self._outer)
        self._outer[f"{port}[{count}]"] = end, outer

    def composition(
        self,
        module: str,
        wanted: Mapping[str, Any],
        status: Mapping[str, str],
        taps: Mapping[str, tuple[str, ...]],
    ) -> Composition:
        """The parts and the channels between them.

        Args:
            module: its name.
            wanted: parameters of all parts that have them.
            status, taps: as of the composition.
        """
        parts = {name: Part(seat.block, _with(seat.parameters, wanted)) for name, seat in self.seats.items()}
        links: list[Link] = []
        for channel in self._inner:
            links += joined(parts, *channel)
        exports = {label: end for label, (end, _outer) in self._outer.items()}
        return Composition(module, parts, tuple(links), exports | dict(self._alone(parts)), status, taps)

    def _alone(self, parts: Mapping[str, Part]) -> Iterator[tuple[str, str]]:
        """Ports that modules alone have."""
        for name, seat in self.seats.items():
            there = {stream.label for stream in parts[name].interface.streams}
            alone = {port.name for port in seat.declared_ports() if port.optional}
            yield from ((port, f"{name}.{port}") for port in alone & there - {*seat.joined})

    def build(self) -> None:
        """Put the module into its place, and build what is around it."""
        top = super().add(self._make(self._name, self), self.clocks[0])
        for label, (_end, outer) in self._outer.items():
            ends = (top, label, outer.component, outer.port)
            producer, output, consumer, into = ends if outer.is_output else (*ends[2:], *ends[:2])
            super().connect(producer, output, consumer, into, **outer.sizes)
        super().build()


def _within(name: str) -> str:
    """What a component of a machine is called in the module."""
    return name.partition(".")[2].replace(".", "_")


def _with(parameters: Parameters, wanted: Mapping[str, Any]) -> Parameters:
    """The parameters with those of the wanted ones that are among them."""
    names = {known.name for known in fields(parameters)}
    return replace(parameters, **{name: value for name, value in wanted.items() if name in names})
