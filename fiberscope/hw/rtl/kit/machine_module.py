"""A machine as one module on one clock: its kernel records components and channels for a composition.

The parts are twins, joined as the machine joins its components. Components of another clock, such as memory,
stay components and are connected to the module.

A machine is constructed in a ``ModuleKernel`` with a placeholder for each component in the module. The kernel
records the placeholders and their channels. The composition follows from this record. In ``build``, the
module replaces all placeholders.
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
class MachineModule:
    """A machine that exists as one module.

    Args:
        compose: returns the composition for a recorded machine; raises ``ValueError`` if there is none.
        adapter: class of the adapter for the module.
        bench_data: returns the parameters of a bench of the module, as JSON values, given the recorded
            machine and the product: the result matrix that the bench compares with.
    """

    compose: Callable[[ModuleKernel], Composition]
    adapter: type[Adapter]
    bench_data: Callable[[ModuleKernel, Any], Mapping[str, Any]]


class Placeholder(Component):
    """A placeholder for a component that is inside the module. It never runs.

    It has the ports of the block's adapter: those of the component, and ports that only the RTL has.

    Args:
        arguments, options: constructor arguments of the component.
        block: the block that is the component's part of the module.

    Attributes:
        connected_labels: labels of the connected ports.
        get_counters: returns the component's counters. The adapter of the module that replaces the
            placeholders sets it; until then there are no counters.
    """

    def __init__(self, name: str, *arguments: Any, block: RtlBlock, **options: Any) -> None:  # noqa: ANN401  (any component)
        super().__init__(name)
        self.block, self.arguments, self.options = block, arguments, options
        self.connected_labels: list[str] = []
        self.get_counters: Callable[[], dict[str, int]] = dict

    def declared_ports(self) -> tuple[Port, ...]:
        """Return the ports of the block's adapter, including those that only the RTL has."""
        return self.block.adapter.PORTS

    def channels(self, port: str) -> list[Any]:
        """Return the labels of the connected ports of an array instead of their channels.

        A placeholder has no channels. ``RtlBlock.connected`` uses only the number of the connected ports.
        """
        return [label for label in self.connected_labels if label.partition("[")[0] == port]

    @property
    def parameters(self) -> Parameters:
        """Return the parameters of the twin, after all parts are connected.

        Raises:
            ValueError: no twin matches the arguments or the connections.
        """
        matching = self.block.matching(*self.arguments, **self.options)
        return replace(matching, **self.block.connected(self))

    def counters(self) -> dict[str, int]:
        """Return the counters of the component, which the module counts."""
        return self.get_counters()


@dataclass(frozen=True)
class _RecordedChannel:
    """A channel that a machine has requested.

    Args:
        producer, output: component and port that write.
        consumer, input: component and port that read.
        options: capacity and latency, as options of ``Kernel.connect``.
    """

    producer: Component
    output: str
    consumer: Component
    input: str
    options: Mapping[str, Any] = field(hash=False)

    def connect_with(self, connect: Callable[..., Channel]) -> None:
        """Connect the channel by ``connect``, which has the signature of ``Kernel.connect``."""
        connect(self.producer, self.output, self.consumer, self.input, **self.options)


class RecordingKernel(Kernel):
    """A kernel that records a machine's components in its own clock, and their channels.

    It never runs; the subclass ``ModuleKernel`` does.

    Args:
        sleep: see ``Kernel``.
    """

    def __init__(self, *, sleep: bool = True) -> None:
        super().__init__(sleep=sleep)
        self.parts: list[Component] = []
        self.inner_channels: list[_RecordedChannel] = []
        self.outer_channels: dict[str, _RecordedChannel] = {}  # by port of the module

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
        self._record_channel(
            _RecordedChannel(producer, output, consumer, input, {"capacity": capacity, "latency": latency})
        )
        # The channel is attached to nothing, so any protocol will do
        return Channel(f"{producer.name}.{output}", capacity, latency, ANY)

    def _record_channel(self, channel: _RecordedChannel) -> None:
        """Record a channel inside the module, or at a memory port of the module.

        At least one end of the channel must be inside the module, which is not checked.
        """
        if channel.producer in self.parts and channel.consumer in self.parts:
            self.inner_channels.append(channel)
            return
        port = REQUESTS if channel.producer in self.parts else REPLIES
        # labels are ``memory_requests[i]`` and ``memory_replies[i]``, each numbered from 0
        count = sum(label.startswith(port) for label in self.outer_channels)
        self.outer_channels[f"{port}[{count}]"] = channel

    def find_part(self, port: str) -> tuple[Component, str]:
        """Return the component inside the module at one of the module's ports, and the component's port."""
        channel = self.outer_channels[port]
        if channel.producer in self.parts:
            return channel.producer, channel.output
        return channel.consumer, channel.input

    def build(self) -> None:
        """Do nothing, as this kernel never runs; ``ModuleKernel`` overrides the method."""


class RecordedMachine(Assembly):
    """A machine's components as one component with the ports of its module, to run beside the module.

    Args:
        name: name of the module among the machine's components.
        recording: the components and their channels.
    """

    def __init__(self, name: str, recording: RecordingKernel) -> None:
        super().__init__(name)
        self._recording = recording

    def put(self, kernel: Kernel) -> None:
        """Add the recorded components to a kernel and connect them; see ``Assembly``.

        Call this method once, as the components exist already.
        """
        for part in self._recording.parts:
            kernel.add(part)
        for channel in self._recording.inner_channels:
            channel.connect_with(kernel.connect)

    def end(self, port: str) -> tuple[Component, str]:
        """See ``Assembly``."""
        return self._recording.find_part(port)


class ModuleKernel(RecordingKernel):
    """A kernel in which a module replaces all placeholders.

    Args:
        name: name of the component that replaces them.
        create_adapter: creates that component from its name and this kernel.
        sleep: see ``Kernel``.
    """

    def __init__(
        self, name: str, create_adapter: Callable[[str, ModuleKernel], Adapter], *, sleep: bool = True
    ) -> None:
        super().__init__(sleep=sleep)
        self._name, self._create_adapter = name, create_adapter
        self.placeholders: dict[str, Placeholder] = {}

    def add(self, component: AnyComponent, clock: Clock | None = None) -> AnyComponent:
        """Record a placeholder, or add any other component.

        The clock of a placeholder is ignored: all placeholders are in the module's clock.

        Raises:
            SimulationError: a component in the module's clock has no RTL.
        """
        if isinstance(component, Placeholder):
            self.placeholders[_name_in_module(component.name)] = component
            return super().add(component)
        if clock is None:
            raise SimulationError(f"{component.name} does not exist as RTL, so no module has it")
        # not ``super().add``, which only records: a component of another clock runs beside the module
        return Kernel.add(self, component, clock)

    def _record_channel(self, channel: _RecordedChannel) -> None:
        for component, port in ((channel.producer, channel.output), (channel.consumer, channel.input)):
            if isinstance(component, Placeholder):
                component.connected_labels.append(port)
        super()._record_channel(channel)

    def compose(
        self,
        module: str,
        overrides: Mapping[str, Any],
        status: Mapping[str, str],
        taps: Mapping[str, tuple[str, ...]],
    ) -> Composition:
        """Return the composition of the parts and the channels between them.

        The module exports its memory ports and each optional port of a part that the machine leaves open.

        Args:
            module: name of the module.
            overrides: values for the parameters of these names, in all parts that have them.
            status, taps: see ``Composition``.

        Raises:
            ValueError: naming each part that cannot be built.
        """
        parts: dict[str, Part] = {}
        refusals = Refusals()
        for name, placeholder in self.placeholders.items():
            with refusals.collected():
                parts[name] = Part(placeholder.block, _override(placeholder.parameters, overrides))
        refusals.check()
        links: list[Link] = []
        for channel in self.inner_channels:
            ends = _format_end(channel.producer, channel.output), _format_end(channel.consumer, channel.input)
            links += joined(parts, *ends, channel.options["capacity"] or 1, channel.options["latency"])
        exports = {label: _format_end(*self.find_part(label)) for label in self.outer_channels}
        return Composition(
            module, parts, tuple(links), exports | dict(self._iterate_open_ports(parts)), status, taps
        )

    def _iterate_open_ports(self, parts: Mapping[str, Part]) -> Iterator[tuple[str, str]]:
        """Yield each optional port of a part that the machine leaves open, with its label in the module.

        The module exports these ports under their own names, so two parts must not have the same open port.
        """
        for name, placeholder in self.placeholders.items():
            existing = {stream.label for stream in parts[name].interface.streams}
            optional = {port.name for port in placeholder.declared_ports() if port.optional}
            yield from (
                (port, f"{name}.{port}") for port in optional & existing - {*placeholder.connected_labels}
            )

    def build(self) -> None:
        """Add the module, and build the components around it."""
        # ``add`` and ``connect`` of this class only record, so those of ``Kernel`` are called
        adapter = Kernel.add(self, self._create_adapter(self._name, self), self.clocks[0])
        for label, channel in self.outer_channels.items():
            is_request = channel.producer in self.parts
            adapter_channel = (
                replace(channel, producer=adapter, output=label)
                if is_request
                else replace(channel, consumer=adapter, input=label)
            )
            adapter_channel.connect_with(super(RecordingKernel, self).connect)
        Kernel.build(self)


def _format_end(part: Component, port: str) -> str:
    """Return the label of a part's port in the module."""
    return f"{_name_in_module(part.name)}.{port}"


def _name_in_module(name: str) -> str:
    """Return the name of a machine's component in the module: without the machine, ``_`` for each dot.

    A name without a machine in front gives the empty name.
    """
    return name.partition(".")[2].replace(".", "_")


def _override(parameters: Parameters, overrides: Mapping[str, Any]) -> Parameters:
    """Return the parameters with those of ``overrides`` that they have."""
    names = {own_field.name for own_field in fields(parameters)}
    return replace(parameters, **{name: value for name, value in overrides.items() if name in names})
