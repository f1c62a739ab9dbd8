"""Base of machines that are made of blocks: a kernel, parts to replace, networks and a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import ClassVar, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, cast, overload

from pydantic import Field

from fiberscope.accelerators.configuration import Configuration, ConfigurationError, Hertz
from fiberscope.accelerators.layout import Layout, Role
from fiberscope.accelerators.machine import MemoryUse, Traffic
from fiberscope.accelerators.memory import MemoryChannel, MemoryParameters, memory_use, traffic
from fiberscope.hw.networks.crossbar import crossbar
from fiberscope.hw.networks.routes import AddressRoute, PortRoute, Route
from fiberscope.sim import Component, Kernel, SimulationError
from fiberscope.sim.names import numbered

__all__ = [
    "Composition",
    "CompositionParameters",
    "ElementNetwork",
    "Network",
    "PartFactory",
    "User",
    "count",
]

PartFactory: TypeAlias = Callable[..., Component]
User: TypeAlias = tuple[Component, str, str]  # and its ports for requests and replies, "" if it takes none
Arguments = ParamSpec("Arguments")
AnyComponent = TypeVar("AnyComponent", bound=Component)


class Network(Configuration):
    """The crossbars.

    ``memory_latency`` is in cycles, from one to a channel of memory and back to a user; ``queue`` is of each
    input, in tokens. Behind it an input may have queues for each output, which share
    ``virtual_output_queues`` tokens; 0 is without.
    """

    memory_latency: int = Field(ge=1, le=1000)
    queue: int = Field(ge=2, le=1024)
    virtual_output_queues: int = Field(ge=0, le=1024)


class ElementNetwork(Network):
    """Parameters of the networks between processing elements and their servers."""

    pe_latency: int = Field(ge=1, le=1000)


class CompositionParameters(Configuration):
    """The parameters that all of them have; a machine adds its own sections."""

    clock: Hertz = Field(ge=10**6)  # far slower than its memory, a cycle is millions of the memory's
    network: Network
    memory: MemoryParameters


AnyParameters = TypeVar("AnyParameters", bound=CompositionParameters)


class Composition(Generic[AnyParameters]):
    """A machine that is its blocks and how they are connected.

    A subclass adds its parts, connects them in ``kernel`` and calls ``build`` at last; and it says what the
    ``result``, the ``operations``, the ``layouts`` and the ``progress`` of a ``Machine`` are.

    Attributes of the class, which a subclass overrides:

    - ``NAME``: the machine's name, with which all names of components begin;
    - ``PARTS``: the blocks that others can stand in for, by name: made with the same arguments, known by
      their ports and counters;
    - ``work``: the operation that a report follows over time;
    - ``TENSORS``: what a report calls the tensors, with the numbers that count for each.

    Args:
        parameters: the configuration.
        parts: blocks to take in the place of those in ``PARTS``, by the same names; a ``memory`` among them
            in the place of every channel of memory, for who serves it from outside.
        kernel: what runs it, for checks of the engine's laws; a kernel of its own by default.
    """

    NAME: ClassVar[str]
    PARTS: ClassVar[Mapping[str, PartFactory]] = {"crossbar": crossbar}
    TENSORS: ClassVar[Mapping[str, Sequence[int]]]
    work: ClassVar[str] = "multiply"

    def __init__(
        self, parameters: AnyParameters, parts: Mapping[str, PartFactory] | None, kernel: Kernel | None
    ) -> None:
        self.parameters = parameters
        self.parts = {**self.PARTS, **(parts or {})}
        self.kernel = kernel or Kernel()
        self.kernel.clock("core", parameters.clock)
        self.channels: list[MemoryChannel] = []
        self.users: Sequence[User] = ()  # of the memory
        self.numbers_each = 1
        self.request_bytes = 0

    @overload
    def add(self, part: str, name: str, *arguments: object, **options: object) -> Component: ...

    @overload
    def add(
        self,
        part: Callable[Concatenate[str, Arguments], AnyComponent],
        name: str,
        *arguments: Arguments.args,
        **options: Arguments.kwargs,
    ) -> AnyComponent: ...

    def add(
        self, part: str | Callable[..., Component], name: str, *arguments: object, **options: object
    ) -> Component:
        """Make a part and put it into the core's clock.

        Args:
            part: one of ``PARTS`` by its name, or the class of one that none stands in for.
            name: the name of this one, within the machine: ``pe07.merger``.
            arguments, options: what it is made with, behind its name.
        """
        make = self.parts[part] if isinstance(part, str) else part
        return self.kernel.add(make(f"{self.NAME}.{name}", *arguments, **options))

    def add_network(
        self,
        name: str,
        users: Sequence[User],
        servers: Sequence[Component],
        *,
        interleave: int,
        latency: int,
        reply_latency: int = 0,
        group: int = 1,
    ) -> None:
        """Add a crossbar each way between users and servers of requests.

        Args:
            name: the name of the network: its crossbars are ``<name>_requests`` and ``<name>_replies``.
            users: their places here, times ``group``, are the numbers by which replies find them; those that
                take none last.
            servers: with ports ``requests`` and ``replies``.
            interleave: bytes side by side in one server.
            latency: cycles from a crossbar to a server and to a user.
            reply_latency: cycles from a server to the crossbar, if they are more than the one of any wire.
            group: numbers that each user has, as a concentrator has one for each requester behind it.
        """
        connect, queue = self.kernel.connect, self.parameters.network.queue
        requests = self._add_crossbar(f"{name}_requests", AddressRoute(interleave))
        replies = self._add_crossbar(f"{name}_replies", PortRoute(group))
        wire = {"capacity": queue + latency, "latency": latency}
        reply = {"capacity": queue + reply_latency, "latency": max(1, reply_latency)}
        for i, (user, port, reply_port) in enumerate(users):
            connect(user, port, requests, f"inputs[{i}]", capacity=queue)
            if reply_port:
                connect(replies, f"outputs[{i}]", user, reply_port, **wire)
        for i, server in enumerate(servers):
            connect(requests, f"outputs[{i}]", server, "requests", **wire)
            connect(server, "replies", replies, f"inputs[{i}]", **reply)

    def _add_crossbar(self, name: str, route: Route) -> Component:
        room = self.parameters.network.virtual_output_queues
        options = {"virtual_output_queues": room} if room else {}  # what stands in for it need not have them
        return self.add("crossbar", f"network.{name}", route, **options)

    def add_memory(self, users: Sequence[User], request_bytes: int, group: int = 1) -> None:
        """Add the channels of memory, in a clock of their own, and the network between users and them.

        Args:
            users, group: as of ``add_network``.
            request_bytes: bytes of one request.

        Raises:
            ConfigurationError: there is no memory for such requests, which the machine's parameters let pass.
        """
        memory = self.memory_parameters
        try:
            memory.check(request_bytes)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        self.users, self.numbers_each, self.request_bytes = users, group, request_bytes
        clock = self.kernel.clock("memory", memory.hertz)
        make = cast("Callable[..., MemoryChannel]", self.parts.get("memory", memory.channel))
        self.channels = [
            self.kernel.add(make(f"{self.NAME}.memory.{name}", request_bytes), clock)
            for name in numbered("channel", memory.channels)
        ]
        latency = self.parameters.network.memory_latency
        self.add_network(
            "memory", users, self.channels, interleave=memory.interleave, latency=latency, group=group
        )

    @property
    def memory_parameters(self) -> MemoryParameters:
        """Return the parameters of the memory's channels."""
        return self.parameters.memory

    @property
    def tensors(self) -> Mapping[str, Sequence[int]]:
        """Return the names of the tensors in a report, with the numbers that count for each."""
        return self.TENSORS

    def build(self) -> None:
        """Build the kernel, and find a part without the counters that a report needs before a long run.

        Raises:
            BuildError: listing what is not connected, or not to be.
            SimulationError: a part without such a counter.
        """
        self.kernel.build()
        self.operations()

    def operations(self) -> Mapping[str, int]:
        """Operations done, by name."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its operations are")

    def layouts(self) -> Sequence[Layout]:
        """Return the layouts of all tensors in memory; a run with ``--checked`` checks every request by them.

        It is asked before the run and, for what is ``used``, behind it.
        """
        return ()

    def traffic_minimum_bytes(self) -> int:
        """Return the used bytes of the arrays of all tensors, each once, without intermediate data."""
        return sum(layout.used_bytes for layout in self.layouts() if layout.role is not Role.WORK)

    def traffic(self) -> dict[str, Traffic]:
        """Bytes read and written by tensor."""
        return traffic(self.channels, self.tensors)

    def memory(self) -> MemoryUse | None:
        """Row hits, misses and conflicts of all channels; None of a machine without any."""
        if not self.channels:
            return None
        return memory_use(self.channels, self.memory_parameters)


def count(counter: str, *parts: Component) -> int:
    """A counter that a report needs, added up over parts, whoever made them.

    Raises:
        SimulationError: one has none of this name.
    """
    if all(_is_attribute(kind, counter) for kind in set(map(type, parts))):
        return sum(map(attrgetter(counter), parts))  # spares a dict of each part's counters, often
    return sum(_count(part, counter) for part in parts)


def _is_attribute(kind: type[Component], counter: str) -> bool:
    return counter in kind.COUNTERS and kind.counters is Component.counters


def _count(part: Component, counter: str) -> int:
    counters = part.counters()
    if counter not in counters:
        raise SimulationError(f"{part.name} ({type(part).__name__}) should count {counter} in counters()")
    return counters[counter]
