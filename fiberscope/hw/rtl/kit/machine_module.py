"""A machine as one module on one clock: its kernel records components and channels for a composition.

The parts are twins, joined as the machine joins its components. Components of another clock, such as memory,
stay components and are connected to the module.

A machine is constructed in a ``SeatKernel`` with a *seat*, a placeholder, for each component in the module.
The kernel records the seats and their channels. The composition follows from this record. In ``build``, the
module replaces all seats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.composition import Composition, Link, Part, joined
from fiberscope.hw.rtl.kit.parameters import Parameters, Refusals
from fiberscope.sim import ANY, Channel, Clock, Component, Kernel, Port, SimulationError
from fiberscope.sim.assembly import Assembly

AnyComponent = TypeVar("AnyComponent", bound=Component)

REQUESTS, REPLIES = "memory_requests", "memory_replies"  # the module's ports, one for each channel of memory


@dataclass(frozen=True)
class Whole:
    """A machine that exists as one module.

    Args:
        compose: returns the composition for a recorded machine; raises ``ValueError`` if there is none.
        adapter: class of the adapter for the module.
        bench_data: returns the parameters of a bench of the module, as JSON values, given the recorded
            machine and the product: the result matrix that the bench compares with.
    """

    compose: Callable[[SeatKernel], Composition]
    adapter: type[Adapter]
    bench_data: Callable[[SeatKernel, Any], Mapping[str, Any]]


class Seat(Component):
    """A placeholder for a component that is inside the module. It never runs.

    It has the ports of the block's adapter: those of the component, and ports that only the RTL has.

    Args:
        arguments, options: constructor arguments of the component.
        block: the block that is the component's part of the module.

    Attributes:
        joined: labels of the connected ports.
        counted: returns the component's counters. The adapter of the module that replaces the seats sets it;
            until then there are no counters.
    """

    def __init__(self, name: str, *arguments: Any, block: RtlBlock, **options: Any) -> None:  # noqa: ANN401  (any component)
        super().__init__(name)
        self.block, self.arguments, self.options = block, arguments, options
        self.joined: list[str] = []
        self.counted: Callable[[], dict[str, int]] = dict

    def declared_ports(self) -> tuple[Port, ...]:
        """Return the ports of the block's adapter, including those that only the RTL has."""
        return self.block.adapter.PORTS

    def channels(self, port: str) -> list[Any]:
        """Return the labels of the connected ports of an array instead of their channels.

        A seat has no channels. ``RtlBlock.connected`` uses only the number of the connected ports.
        """
        return [label for label in self.joined if label.partition("[")[0] == port]

    @property
    def parameters(self) -> Parameters:
        """Return the parameters of the twin, after all parts are connected.

        Raises:
            ValueError: no twin matches the arguments or the connections.
        """
        suits = self.block.matching(*self.arguments, **self.options)
        return replace(suits, **self.block.connected(self))

    def counters(self) -> dict[str, int]:
        """Return the counters of the component, which the module counts."""
        return self.counted()


@dataclass(frozen=True)
class _Line:
    """A channel that a machine has requested.

    Args:
        producer, output: component and port that write.
        consumer, input: component and port that read.
        sizes: capacity and latency, as options of ``Kernel.connect``.
    """

    producer: Component
    output: str
    consumer: Component
    input: str
    sizes: Mapping[str, Any] = field(hash=False)

    def put(self, connect: Callable[..., Channel]) -> None:
        """Connect the channel by ``connect``, which has the signature of ``Kernel.connect``."""
        connect(self.producer, self.output, self.consumer, self.input, **self.sizes)


class PartsKernel(Kernel):
    """A kernel that records a machine's components in its own clock, and their channels.

    It never runs; the subclass ``SeatKernel`` does.

    Args:
        sleep: see ``Kernel``.
    """

    def __init__(self, *, sleep: bool = True) -> None:
        super().__init__(sleep=sleep)
        self.parts: list[Component] = []
        self.inner: list[_Line] = []
        self.outer: dict[str, _Line] = {}  # by port of the module

    def add(self, component: AnyComponent, clock: Clock | None = None) -> AnyComponent:
        """Record a component of the machine's own clock, for which ``clock`` is None; ignore others."""
        if clock is None:
            self.parts.append(component)
        return component

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
        """Record a channel, and return one that carries no tokens, as machines keep the result."""
        self._note(_Line(producer, output, consumer, input, {"capacity": capacity, "latency": latency}))
        # The channel is attached to nothing, so any protocol will do
        return Channel(f"{producer.name}.{output}", capacity, latency, ANY)

    def _note(self, line: _Line) -> None:
        """Record a channel inside the module, or at a memory port of the module.

        At least one end of the channel must be inside the module, which is not checked.
        """
        if line.producer in self.parts and line.consumer in self.parts:
            self.inner.append(line)
            return
        port = REQUESTS if line.producer in self.parts else REPLIES
        # labels are ``memory_requests[i]`` and ``memory_replies[i]``, each numbered from 0
        count = sum(label.startswith(port) for label in self.outer)
        self.outer[f"{port}[{count}]"] = line

    def part_at(self, port: str) -> tuple[Component, str]:
        """Return the component inside the module at one of the module's ports, and the component's port."""
        line = self.outer[port]
        if line.producer in self.parts:
            return line.producer, line.output
        return line.consumer, line.input

    def build(self) -> None:
        """Do nothing, as this kernel never runs; ``SeatKernel`` overrides the method."""


class Parts(Assembly):
    """A machine's components as one component with the ports of its module, to run beside the module.

    Args:
        name: name of the module among the machine's components.
        noted: the components and their channels.
    """

    def __init__(self, name: str, noted: PartsKernel) -> None:
        super().__init__(name)
        self._noted = noted

    def put(self, kernel: Kernel) -> None:
        """Add the recorded components to a kernel and connect them; see ``Assembly``.

        Call this method once, as the components exist already.
        """
        for part in self._noted.parts:
            kernel.add(part)
        for line in self._noted.inner:
            line.put(kernel.connect)

    def end(self, port: str) -> tuple[Component, str]:
        """See ``Assembly``."""
        return self._noted.part_at(port)


class SeatKernel(PartsKernel):
    """A kernel in which a module replaces all seats.

    Args:
        name: name of the component that replaces them.
        make: creates that component from its name and this kernel.
        sleep: see ``Kernel``.
    """

    def __init__(self, name: str, make: Callable[[str, SeatKernel], Adapter], *, sleep: bool = True) -> None:
        super().__init__(sleep=sleep)
        self._name, self._make = name, make
        self.seats: dict[str, Seat] = {}

    def add(self, component: AnyComponent, clock: Clock | None = None) -> AnyComponent:
        """Record a seat, or add any other component.

        The clock of a seat is ignored: all seats are in the module's clock.

        Raises:
            SimulationError: a component in the module's clock has no RTL.
        """
        if isinstance(component, Seat):
            self.seats[_name_in_module(component.name)] = component
            return super().add(component)
        if clock is None:
            raise SimulationError(f"{component.name} does not exist as RTL, so no module has it")
        # not ``super().add``, which only records: a component of another clock runs beside the module
        return Kernel.add(self, component, clock)

    def _note(self, line: _Line) -> None:
        for component, port in ((line.producer, line.output), (line.consumer, line.input)):
            if isinstance(component, Seat):
                component.joined.append(port)
        super()._note(line)

    def composition(
        self,
        module: str,
        wanted: Mapping[str, Any],
        status: Mapping[str, str],
        taps: Mapping[str, tuple[str, ...]],
    ) -> Composition:
        """Return the composition of the parts and the channels between them.

        The module exports its memory ports and each optional port of a part that the machine leaves open.

        Args:
            module: name of the module.
            wanted: values for the parameters of these names, in all parts that have them.
            status, taps: see ``Composition``.

        Raises:
            ValueError: naming each part that cannot be built.
        """
        parts: dict[str, Part] = {}
        refusals = Refusals()
        for name, seat in self.seats.items():
            with refusals.collected():
                parts[name] = Part(seat.block, _with(seat.parameters, wanted))
        refusals.check()
        links: list[Link] = []
        for line in self.inner:
            ends = _end(line.producer, line.output), _end(line.consumer, line.input)
            links += joined(parts, *ends, line.sizes["capacity"] or 1, line.sizes["latency"])
        exports = {label: _end(*self.part_at(label)) for label in self.outer}
        return Composition(module, parts, tuple(links), exports | dict(self._alone(parts)), status, taps)

    def _alone(self, parts: Mapping[str, Part]) -> Iterator[tuple[str, str]]:
        """Yield each optional port of a part that the machine leaves open, with its label in the module.

        The module exports these ports under their own names, so two parts must not have the same open port.
        """
        for name, seat in self.seats.items():
            there = {stream.label for stream in parts[name].interface.streams}
            alone = {port.name for port in seat.declared_ports() if port.optional}
            yield from ((port, f"{name}.{port}") for port in alone & there - {*seat.joined})

    def build(self) -> None:
        """Add the module, and build the components around it."""
        # ``add`` and ``connect`` of this class only record, so those of ``Kernel`` are called
        top = Kernel.add(self, self._make(self._name, self), self.clocks[0])
        for label, line in self.outer.items():
            from_top = line.producer in self.parts
            outside = (
                replace(line, producer=top, output=label)
                if from_top
                else replace(line, consumer=top, input=label)
            )
            outside.put(super(PartsKernel, self).connect)
        Kernel.build(self)


def _end(part: Component, port: str) -> str:
    """Return the label of a part's port in the module."""
    return f"{_name_in_module(part.name)}.{port}"


def _name_in_module(name: str) -> str:
    """Return the name of a machine's component in the module: without the machine, ``_`` for each dot.

    A name without a machine in front gives the empty name.
    """
    return name.partition(".")[2].replace(".", "_")


def _with(parameters: Parameters, wanted: Mapping[str, Any]) -> Parameters:
    """Return the parameters with those of ``wanted`` that they have."""
    names = {own_field.name for own_field in fields(parameters)}
    return replace(parameters, **{name: value for name, value in wanted.items() if name in names})
