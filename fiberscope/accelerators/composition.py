"""Base class of machines that are composed of blocks: a kernel, replaceable parts, networks and a memory.

A *part* is a block of a machine that a user may replace by another component with the same ports.
"""

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

PartFactory: TypeAlias = Callable[..., Component]
User: TypeAlias = tuple[Component, str, str]  # component, port for requests, port for replies ("" for none)
Arguments = ParamSpec("Arguments")
AnyComponent = TypeVar("AnyComponent", bound=Component)


class Network(Configuration):
    """Parameters of the crossbars.

    A crossbar connects *users*, which send requests, to *servers*, such as memory channels.

    - ``memory_latency``: cycles from a crossbar to a memory channel, and from a crossbar to a user;
    - ``queue``: tokens in the queue of each input;
    - ``virtual_output_queues``: tokens that the virtual output queues of an input share; 0 for none.
    """

    memory_latency: int = Field(ge=1, le=1000)
    queue: int = Field(ge=2, le=1024)
    virtual_output_queues: int = Field(ge=0, le=1024)


class ElementNetwork(Network):
    """Parameters of the networks between processing elements and their servers.

    ``pe_latency`` is the latency of the connections of these networks, in cycles.
    """

    pe_latency: int = Field(ge=1, le=1000)


class CompositionParameters(Configuration):
    """Parameters that all composed machines have; a machine adds its own sections."""

    clock: Hertz = Field(ge=10**6)  # a slower core has millions of memory cycles per cycle
    network: Network
    memory: MemoryParameters


AnyParameters = TypeVar("AnyParameters", bound=CompositionParameters)


class Composition(Generic[AnyParameters]):
    """A machine that consists of blocks and their connections.

    The ``__init__`` of a subclass calls ``super().__init__``. It then adds parts with ``add``, connects
    them with ``kernel.connect`` and ``add_network``, adds the memory with ``add_memory``, and calls ``build``
    at the end. A subclass defines the methods ``result``, ``operations`` and ``progress`` of a
    ``Machine``. It also defines ``layouts`` if its requests can be checked.

    Class attributes, which a subclass overrides:

    - ``NAME``: name of the machine, and prefix of the names of all its components;
    - ``PARTS``: replaceable blocks by name. A replacement is called with the same arguments, and has the same
      ports and counters;
    - ``work``: name of the operation whose rate a report shows over time;
    - ``TENSORS``: names of the tensors in a report, each with the tensor numbers that it includes.

    Args:
        parameters: configuration of the machine.
        parts: replacements of blocks in ``PARTS``, by the same names. A part ``memory`` replaces every memory
            channel, for a memory that is served from outside.
        kernel: kernel that runs the machine, for checks of the engine; a new kernel by default.
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
        self.users: Sequence[User] = ()  # users of the memory
        self.ports_per_user = 1
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
        """Create a part and add it to the clock domain of the core.

        Args:
            part: name of a part in ``PARTS``, or the class of a part that cannot be replaced.
            name: name of the component within the machine, for example ``pe07.merger``.
            arguments, options: arguments of the part's constructor after the instance name.

        Returns:
            The component, not yet connected; a user's replacement may be of any class.
        """
        factory = self.parts[part] if isinstance(part, str) else part
        return self.kernel.add(factory(f"{self.NAME}.{name}", *arguments, **options))

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
        """Add two crossbars between users and servers, one for requests and one for replies.

        Args:
            name: name of the network; its crossbars are ``<name>_requests`` and ``<name>_replies``.
            users: users of the network. The index of a user times ``group`` is the port number to which its
                replies are routed. Users without replies come last.
            servers: components with ports ``requests`` and ``replies``.
            interleave: number of consecutive bytes in one server.
            latency: cycles from a crossbar to a server, and from a crossbar to a user.
            reply_latency: cycles from a server to the crossbar; 0 counts as 1, as a channel takes a cycle.
            group: port numbers of each user. A concentrator, for example, has one for each of its requesters.
        """
        connect, queue = self.kernel.connect, self.parameters.network.queue
        requests = self._add_crossbar(f"{name}_requests", AddressRoute(interleave))
        replies = self._add_crossbar(f"{name}_replies", PortRoute(group))
        # The capacity of a channel includes the tokens in flight
        wire = {"capacity": queue + latency, "latency": latency}
        reply = {"capacity": queue + reply_latency, "latency": max(1, reply_latency)}
        for i, (user, port, reply_port) in enumerate(users):
            connect(user, port, requests, f"inputs[{i}]", capacity=queue)
            # Users without replies come last, so that the connected outputs have no gap
            if reply_port:
                connect(replies, f"outputs[{i}]", user, reply_port, **wire)
        for i, server in enumerate(servers):
            connect(requests, f"outputs[{i}]", server, "requests", **wire)
            connect(server, "replies", replies, f"inputs[{i}]", **reply)

    def _add_crossbar(self, name: str, route: Route) -> Component:
        tokens = self.parameters.network.virtual_output_queues
        # A replacement need not have this option
        options = {"virtual_output_queues": tokens} if tokens else {}
        return self.add("crossbar", f"network.{name}", route, **options)

    def add_memory(self, users: Sequence[User], request_bytes: int, group: int = 1) -> None:
        """Add the memory channels, in their own clock domain, and the network between users and channels.

        Args:
            users, group: as of ``add_network``.
            request_bytes: bytes of one request.

        Raises:
            ConfigurationError: if the memory cannot serve requests of this size.
        """
        memory = self.memory_parameters
        try:
            memory.check(request_bytes)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        self.users, self.ports_per_user, self.request_bytes = users, group, request_bytes
        clock = self.kernel.clock("memory", memory.hertz)
        factory = cast("Callable[..., MemoryChannel]", self.parts.get("memory", memory.channel))
        self.channels = [
            self.kernel.add(factory(f"{self.NAME}.memory.{name}", request_bytes), clock)
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
        """Return the names of the tensors in a report, each with the tensor numbers that it includes."""
        return self.TENSORS

    def build(self) -> None:
        """Build the kernel, and check before a run that all parts have the counters that a report needs.

        Raises:
            BuildError: if the connections are wrong; the error lists them.
            SimulationError: if a part lacks a counter.
        """
        self.kernel.build()
        self.operations()  # raises for a missing counter

    def operations(self) -> Mapping[str, int]:
        """Return the number of operations done so far, by name; every subclass defines this method."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its operations are")

    def layouts(self) -> Sequence[Layout]:
        """Return the layouts of all tensors in memory, by which ``--checked`` checks every request.

        The check calls this method before the run, and again after a complete run for the ``used`` ranges.
        """
        return ()

    def traffic_minimum_bytes(self) -> int:
        """Return the used bytes of the arrays of all tensors, each once, without intermediate data.

        An array whose used ranges are not known counts as 0 bytes.
        """
        return sum(layout.used_bytes for layout in self.layouts() if layout.role is not Role.WORK)

    def traffic(self) -> dict[str, Traffic]:
        """Return the bytes read and written by tensor."""
        return traffic(self.channels, self.tensors, self.useful_bytes())

    def useful_bytes(self) -> Mapping[str, tuple[int, int]]:
        """Return the useful bytes read and written by tensor; empty if the machine does not count them."""
        return {}

    def memory(self) -> MemoryUse | None:
        """Return row hits, misses and conflicts of all channels; None for a machine without channels."""
        if not self.channels:
            return None
        return memory_use(self.channels, self.memory_parameters)


def count(counter: str, *parts: Component) -> int:
    """Return the sum of a counter over parts, which may be replacements.

    Raises:
        SimulationError: if a part has no counter of this name.
    """
    if all(_is_attribute(kind, counter) for kind in set(map(type, parts))):
        return sum(map(attrgetter(counter), parts))  # avoids a dict of all counters for each part
    return sum(_count(part, counter) for part in parts)


def _is_attribute(kind: type[Component], counter: str) -> bool:
    """Return whether ``counters`` of a class returns the attribute of this name for the counter."""
    return counter in kind.COUNTERS and kind.counters is Component.counters


def _count(part: Component, counter: str) -> int:
    counters = part.counters()
    if counter not in counters:
        raise SimulationError(f"{part.name} ({type(part).__name__}) should count {counter} in counters()")
    return counters[counter]
