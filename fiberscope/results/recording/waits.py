"""Wait chains: from a waiting component, link by link, to the component, request or token that is the cause.

A component that waits for a memory reply waits for a request that it has sent. The chain follows that
request by its tag, through networks and caches, to the channel or component that holds the request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fiberscope.hw.memory.protocol import PORT_SHIFT, REPLY, HeldRequest, operation_name
from fiberscope.results.recording.request_routes import RequestRoutes
from fiberscope.sim import Channel, Component, Kernel
from fiberscope.sim.constants import BUSY, FIRST_STALL, IDLE
from fiberscope.sim.wiring import Stall


@dataclass(frozen=True)
class Wait:
    """A link of a wait chain.

    Args:
        component: the name of the component.
        since: the cycle of the first clock in which the state of the component began. In a link that locates
            a request, the cycle in which the request arrives there, in the future if it is in flight; or the
            cycle in which the component's state began if the component does not record arrivals.
        text: the port and the missing token or space, the location of a request, or the current activity.
        peer: the component at the other end; empty in the last link, and in links that locate a request.
    """

    component: str
    since: int
    text: str
    peer: str = ""

    def __str__(self) -> str:
        """Return the link as a line."""
        return f"{self.component} {self.text}, since cycle {self.since:,}"


def find_wait_chain(kernel: Kernel, component: Component, time: int) -> list[Wait]:
    """Return the wait chain of a component of a built machine, down to the root cause.

    Of several ports, the chain follows one. If the component waits for a token at any port of an array, this
    is the first empty port, or the first port if the tokens are memory replies. If it waits for space, this
    is the port with the least free space. The chain ends when it returns to one of its own components.

    Args:
        kernel: the kernel of the machine, without lookahead models (``remove_lookahead``).
        component: the start of the chain.
        time: a base tick; all components have executed all ticks before ``time`` and none at ``time``.

    Returns:
        The links from the component to the cause, at least one.
    """
    return WaitChains(kernel).find_chain(component, time)


class WaitChains:
    """Wait chains of a built machine, with cached wiring.

    Args:
        kernel: the kernel of the machine, without lookahead models (``remove_lookahead``).

    Attributes:
        wiring: the wiring of the kernel.
        links: the stall states of each component for single ports (``Wiring.links``), by ``id(component)``.
        routes: the channels and components that a component's requests pass.
        first_period: base ticks in a cycle of the first clock.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.wiring, self.first_period = kernel.wiring, kernel.clocks[0].period
        self.port_stalls = {id(part): kernel.wiring.links(part) for part in kernel.components}
        self.routes = RequestRoutes(self.wiring, self.port_stalls)
        self._holders: list[Any] = [part for part in kernel.components if hasattr(part, "held_requests")]
        self._time = -1
        self._requests: dict[int, list[_RequestLocation]] | None = None  # by port; None until one is needed

    def find_chain(self, component: Component, time: int) -> list[Wait]:
        """Return the chain of a component; the arguments are those of ``find_wait_chain``."""
        if time != self._time:
            self._time, self._requests = time, None
        return list(_ChainBuilder(self, time).follow(component))

    def requests(self, port: int) -> Sequence[_RequestLocation]:
        """Return all requests and replies with a port in their tag, at the time of the last chain.

        They are in channels, and in components with a method ``held_requests``.
        """
        if self._requests is None:
            self._requests = {}
            for location in self._locate_all():
                self._requests.setdefault(location.request.tag >> PORT_SHIFT, []).append(location)
        return self._requests.get(port, ())

    def _locate_all(self) -> Iterator[_RequestLocation]:
        for channel in self.routes.channels:
            if channel.occupancy:
                yield from _locate_in_channel(channel, self.wiring.link(channel).consumer.component)
        for owner in self._holders:
            for request in owner.held_requests():
                arrival = request.since if request.since is not None else owner.since
                yield _RequestLocation(owner, None, request, arrival)

    def waits_for_memory_or_network(self, component: Component) -> bool:
        """Return whether a component waits for a memory reply, or for space in front of a network."""
        if component.state < FIRST_STALL:
            return False
        stall = self.wiring.stalls(component)[component.state - FIRST_STALL]
        if stall.direction == "input":
            return stall.channels[0].protocol == REPLY
        return hasattr(self.wiring.link(_find_fullest_channel(stall)).consumer.component, "route")


@dataclass(frozen=True)
class _RequestLocation:
    """Location of a request or its reply, in a channel or within a component.

    Args:
        owner: the reader of the channel, or the component that holds the request.
        channel: the channel, which has the token in flight or visible; None if the owner holds the request.
        arrival: cycle of the owner's clock in which the request arrives or arrived; the cycle in which the
            owner's state began if the owner does not record arrivals.
    """

    owner: Component
    channel: Channel | None
    request: HeldRequest
    arrival: int


class _ChainBuilder:
    """Search for one chain at one time.

    Args:
        chains: the wiring and the held requests of the machine.
        time: the base tick, as for ``find_wait_chain``.
    """

    def __init__(self, chains: WaitChains, time: int) -> None:
        self._chains, self._time = chains, time
        self._wiring, self._first_period = chains.wiring, chains.first_period
        self._visited: set[int] = set()  # components of the chain by id; a second visit is a circular wait

    def follow(self, component: Component) -> Iterator[Wait]:
        """Yield the links of the chain from a component on."""
        current: Component | None = component
        while current is not None:
            if id(current) in self._visited:
                text = "is in the chain already: the components wait for one another"
                yield self._make_link(current, current.since, text)
                return
            self._visited.add(id(current))
            if current.state < FIRST_STALL:
                link, current = self._explain_activity(current)
                yield link
                continue
            stall = self._wiring.stalls(current)[current.state - FIRST_STALL]
            if stall.direction == "input" and stall.channels[0].protocol == REPLY:
                yield from self._follow_request(current, stall)  # which follows the request, not the ports
                return
            link, peer = self._explain_stall(current, stall)
            yield link
            current = peer
            # A component with a route is a network; its state tells nothing of a single input.
            if stall.direction == "output" and hasattr(peer, "route"):
                link, current = self._explain_network(peer, _find_fullest_channel(stall))
                yield link

    def _make_link(self, component: Component, since: int, text: str, peer: str = "") -> Wait:
        """Return a link, with ``since`` converted from the component's clock to the first clock."""
        return Wait(component.name, since * self._find_period(component) // self._first_period, text, peer)

    def _find_period(self, component: Component) -> int:
        """Return the base ticks of a cycle of a component's clock."""
        # A component of a kernel has a clock; only the type allows None.
        return component.clock.period if component.clock else self._first_period

    def _explain_activity(self, component: Component) -> tuple[Wait, Component | None]:
        """Return the link of a busy or idle component, and the component that continues the chain, or None.

        A busy component ends the chain. An idle component waits for the first of its producers that is not
        idle and not in the chain; without such a producer, it ends the chain.
        """
        if component.state == BUSY:
            return self._make_link(component, component.since, "works"), None
        for stall in self._chains.port_stalls[id(component)]:
            producer = self._wiring.link(stall.channels[0]).producer.component
            if stall.direction == "input" and producer.state != IDLE and id(producer) not in self._visited:
                text = f"waits for a token at {stall.label} from {producer.name}"
                return self._make_link(component, component.since, text, producer.name), producer
        return self._make_link(component, component.since, "is idle: nothing comes to it"), None

    def _explain_stall(self, component: Component, stall: Stall) -> tuple[Wait, Component | None]:
        """Return the link of a component that waits at a port, and the component at the other end.

        Of several empty input ports, the link follows the first. If no input port is empty, the link ends the
        chain, and the component is None.
        """
        if stall.direction == "output":
            return self._explain_full_output(component, stall)
        empty = [channel for channel in stall.channels if not channel.occupancy]
        if not empty:
            channel = stall.channels[0]
            text = f"waits at {stall.label} for a token that is on its way"
            # A token that was visible in an earlier tick did not end the wait: more tokens are needed.
            if channel.arrival(0) * self._find_period(component) < self._time:
                text = f"waits for more than the {channel.occupancy} tokens at {stall.label}"
            return self._make_link(component, component.since, text), None
        peer = self._wiring.link(empty[0]).producer.component
        text = f"waits for a token at {stall.label} from {peer.name}"
        return self._make_link(component, component.since, text, peer.name), peer

    def _explain_full_output(self, component: Component, stall: Stall) -> tuple[Wait, Component | None]:
        """Return the link of a component that waits for space, and the reader of its fullest channel."""
        channel = _find_fullest_channel(stall)
        peer = self._wiring.link(channel).consumer.component
        fill = f"{channel.occupancy} of {channel.capacity} tokens"
        text = f"waits for space at {stall.label}: {peer.name} holds {fill}"
        return self._make_link(component, component.since, text, peer.name), peer

    def _explain_network(self, network: Any, channel: Channel) -> tuple[Wait, Component | None]:  # noqa: ANN401
        """Explain why a network does not forward the token at the head of a channel.

        Return the link, and the component whose channel is full; None if the output of the token has space.

        Args:
            network: a component with ``route`` and ``outputs``, such as a ``Crossbar``.
            channel: a channel to the network that holds a token.
        """
        output = network.route.output(channel, len(network.outputs))
        sink = network.outputs[output]
        peer = self._wiring.link(sink).consumer.component
        if sink.occupancy < sink.capacity:
            text = f"passes on tokens to outputs[{output}], one a cycle, as its inputs have their turn"
            return self._make_link(network, network.since, text), None
        fill = f"{peer.name} holds {sink.occupancy} of {sink.capacity} tokens"
        text = f"cannot pass on the token for outputs[{output}]: {fill}"
        return self._make_link(network, network.since, text, peer.name), peer

    def _follow_request(self, component: Component, stall: Stall) -> Iterator[Wait]:
        """Follow the request of a component that waits for a memory reply.

        Of several requests, the chain follows the request with the earliest arrival at its present location,
        which need not be the request that was sent first. Without a located request, the chain continues at
        the port.
        """
        locations = sorted(
            self._locate_requests(component, stall.channels[0]),
            key=lambda location: (location.arrival * self._find_period(location.owner), location.request.tag),
        )
        if not locations:
            link, peer = self._explain_stall(component, stall)
            yield link
            if peer is not None:
                yield from self.follow(peer)
            return
        location = locations[0]
        name = operation_name(location.request.operation)
        others = f", the oldest of {len(locations)}" if len(locations) > 1 else ""
        text = f"waits at {stall.label} for the {name} of {location.request.address:#x}{others}"
        yield self._make_link(component, component.since, text, location.owner.name)
        yield from self._follow_location(location)

    def _follow_location(self, location: _RequestLocation) -> Iterator[Wait]:
        """Yield the location of a request, and the next waits of the request.

        If the request is in a channel, the chain continues with the wait of the owner, if it waits at a port.
        If the owner forwards the request, the chain follows the forwarded request by its tag.
        """
        owner, request = location.owner, location.request
        if location.channel is not None:
            # "On its way" includes a token that is visible in the channel and that the owner has not taken.
            kind = "reply" if location.channel.protocol == REPLY else "request"
            text = f"does not have it yet: the {kind} is on its way in {location.channel.name}"
            yield self._make_link(owner, location.arrival, text)
            if owner.state >= FIRST_STALL and id(owner) not in self._visited:
                yield from self.follow(owner)
            return
        yield self._make_link(owner, location.arrival, f"has it: {request.place}")
        if request.forwarded is None:
            return
        for stall in self._chains.port_stalls[id(owner)]:
            if stall.direction == "input" and stall.channels[0].protocol == REPLY:
                for next_location in self._locate_requests(owner, stall.channels[0]):
                    if next_location.request.tag == request.forwarded:
                        yield from self._follow_location(next_location)
                        return

    def _locate_requests(self, requester: Component, replies: Channel) -> Iterator[_RequestLocation]:
        """Yield the locations of a component's requests whose replies arrive at a channel."""
        route = self._chains.routes.route(requester, replies)
        for port in route.ports:
            for location in self._chains.requests(port):
                if port in route.places.get(id(location.channel or location.owner), ()):
                    yield location


def _locate_in_channel(channel: Channel, owner: Component) -> Iterator[_RequestLocation]:
    """Yield the requests or replies in a channel to ``owner``, visible or in flight, the head first."""
    for position in range(channel.occupancy):
        operation, tag, address, _value = channel.token(position)
        yield _RequestLocation(
            owner, channel, HeldRequest(operation, tag, address, ""), channel.arrival(position)
        )


def _find_fullest_channel(stall: Stall) -> Channel:
    """Return the channel with the least free space."""
    return max(stall.channels, key=lambda channel: channel.occupancy - channel.capacity)


def format_wait_chain(chain: Sequence[Wait]) -> str:
    """Format a chain, with each link indented below the previous link."""
    return "\n".join(f"{'  ' * depth}{link}" for depth, link in enumerate(chain))
