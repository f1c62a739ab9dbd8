"""Why a component waits: the chain of waits from it to the component, the request or the token at its root.

A component that waits for a reply of memory waits for a request. The chain follows that request by its tag,
through networks and caches, to the channel or the component that holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fiberscope.hw.memory.protocol import OPERATIONS, PORT_SHIFT, REPLY, REQUEST, HeldRequest
from fiberscope.sim import Channel, Component, Kernel
from fiberscope.sim.constants import BUSY, FIRST_STALL, IDLE
from fiberscope.sim.wiring import Stall

__all__ = ["Wait", "chain_text", "wait_chain"]


@dataclass(frozen=True)
class Wait:
    """One link of a chain of waits.

    Args:
        component: its name.
        since: the cycle of the first clock since which this holds.
        text: what it waits for at which port, or what it does.
        peer: the component that it waits for; empty at the root of the chain.
    """

    component: str
    since: int
    text: str
    peer: str = ""

    def __str__(self) -> str:
        """The link as a line."""
        return f"{self.component} {self.text}, since cycle {self.since:,}"


def wait_chain(kernel: Kernel, component: Component, time: int) -> list[Wait]:
    """Return the chain of waits of a component of a built machine, from the component to the root cause.

    Args:
        kernel: the machine's.
        component: where the chain begins.
        time: base tick before which everything has ticked, and at which nothing has.
    """
    return list(_Chain(kernel, time).links(component))


@dataclass(frozen=True)
class _Place:
    """Where a request is: in a channel on the way to a component, or within the component."""

    owner: Component
    channel: Channel | None
    held: HeldRequest
    arrival: int  # of the owner's clock


class _Chain:
    def __init__(self, kernel: Kernel, time: int) -> None:
        self._wiring, self._time = kernel.wiring, time
        self._first = kernel.clocks[0].period
        self._ends = {
            id(link.channel): (link.producer.component, link.consumer.component)
            for link in kernel.wiring.connections
        }
        self._seen: set[int] = set()

    def links(self, component: Component) -> Iterator[Wait]:
        """The links of the chain, from this component on."""
        current: Component | None = component
        while current is not None:
            if id(current) in self._seen:
                text = "is in the chain already: the components wait for one another"
                yield self._wait(current, current.since, text)
                return
            self._seen.add(id(current))
            if current.state < FIRST_STALL:
                link, current = self._at_work(current)
                yield link
                continue
            stall = self._wiring.stalls(current)[current.state - FIRST_STALL]
            if stall.direction == "input" and stall.channels[0].protocol == REPLY:
                yield from self._request_links(current, stall)
                return
            link, peer = self._link(current, stall)
            yield link
            current = peer
            if stall.direction == "output" and hasattr(peer, "route"):
                link, current = self._passage(peer, _fullest(stall))
                yield link

    def _wait(self, component: Component, since: int, text: str, peer: str = "") -> Wait:
        """A link; ``since`` is a cycle of the component's own clock."""
        period = component.clock.period if component.clock else self._first
        return Wait(component.name, since * period // self._first, text, peer)

    def _at_work(self, component: Component) -> tuple[Wait, Component | None]:
        """A component that is busy, the root; or idle, whose cause is in front of it."""
        if component.state == BUSY:
            return self._wait(component, component.since, "works"), None
        before = [
            producer
            for channel in self._inputs(component)
            if (producer := self._ends[id(channel)][0]).state != IDLE and id(producer) not in self._seen
        ]
        if not before:
            return self._wait(component, component.since, "is idle: nothing has come to it"), None
        text = f"is idle until something comes from {before[0].name}"
        return self._wait(component, component.since, text, before[0].name), before[0]

    def _inputs(self, component: Component) -> list[Channel]:
        links = self._wiring.links(component)
        return [stall.channels[0] for stall in links if stall.direction == "input"]

    def _link(self, component: Component, stall: Stall) -> tuple[Wait, Component | None]:
        """A component that waits at a port for the component at the other end."""
        if stall.direction == "output":
            return self._full(component, stall)
        empty = [channel for channel in stall.channels if not channel.occupancy]
        if not empty:
            channel = stall.channels[0]
            period = component.clock.period if component.clock else self._first
            text = f"waits at {stall.label} for a token that is on its way"
            if channel.arrival(0) * period < self._time:
                text = f"waits for more than the {channel.occupancy} tokens at {stall.label}"
            return self._wait(component, component.since, text), None
        peer = self._ends[id(empty[0])][0]
        text = f"waits for a token at {stall.label} from {peer.name}"
        return self._wait(component, component.since, text, peer.name), peer

    def _full(self, component: Component, stall: Stall) -> tuple[Wait, Component | None]:
        channel = _fullest(stall)
        peer = self._ends[id(channel)][1]
        held = f"{channel.occupancy} of {channel.capacity} tokens"
        text = f"waits for space at {stall.label}: {peer.name} holds {held}"
        return self._wait(component, component.since, text, peer.name), peer

    def _passage(self, network: Any, channel: Channel) -> tuple[Wait, Component | None]:  # noqa: ANN401
        """Why a network does not pass on the token at the head of a channel, which says where it goes."""
        goal = network.route.output(channel, len(network.outputs))
        sink = network.outputs[goal]
        peer = self._ends[id(sink)][1]
        if sink.occupancy < sink.capacity:
            text = f"passes on tokens to outputs[{goal}], one a cycle, as its inputs have their turn"
            return self._wait(network, network.since, text), None
        held = f"{peer.name} holds {sink.occupancy} of {sink.capacity} tokens"
        text = f"cannot pass on the token for outputs[{goal}]: {held}"
        return self._wait(network, network.since, text, peer.name), peer

    def _request_links(self, component: Component, stall: Stall) -> Iterator[Wait]:
        """A component that waits for a reply of memory: the request is followed to where it is."""
        places = sorted(
            self._places(component, stall.channels[0]), key=lambda place: (place.arrival, place.held.tag)
        )
        if not places:
            link, peer = self._link(component, stall)
            yield link
            if peer is not None:
                yield from self.links(peer)
            return
        place = places[0]
        operation = OPERATIONS[place.held.operation] if place.held.operation < len(OPERATIONS) else "burst"
        others = f", the oldest of {len(places)}" if len(places) > 1 else ""
        text = f"waits at {stall.label} for the {operation} of {place.held.address:#x}{others}"
        yield self._wait(component, component.since, text, place.owner.name)
        yield from self._held_links(place)

    def _held_links(self, place: _Place) -> Iterator[Wait]:
        """Where a request is, and what it waits for there."""
        owner, held = place.owner, place.held
        if place.channel is not None:
            kind = "reply" if place.channel.protocol == REPLY else "request"
            seen = f"the {kind} is on its way in {place.channel.name}"
            yield self._wait(owner, place.arrival, f"does not have it yet: {seen}")
            if owner.state >= FIRST_STALL and id(owner) not in self._seen:
                yield from self.links(owner)
            return
        yield self._wait(owner, place.arrival, f"has it: {held.place}")
        if held.forwarded is None:
            return
        for stall in self._wiring.links(owner):
            if stall.direction == "input" and stall.channels[0].protocol == REPLY:
                for further in self._places(owner, stall.channels[0]):
                    if further.held.tag == held.forwarded:
                        yield from self._held_links(further)
                        return

    def _places(self, asker: Component, replies: Channel) -> Iterator[_Place]:
        """Where the requests of a component are that it gets replies for at a channel."""
        ports = {self._port(asker, replies)}
        searched: set[int] = set()
        ways = [
            stall.channels[0]
            for stall in self._wiring.links(asker)
            if stall.direction == "output" and stall.channels[0].protocol == REQUEST
        ]
        while ways:
            channel = ways.pop()
            if id(channel) in searched:
                continue
            searched.add(id(channel))
            writer, owner = self._ends[id(channel)]
            yield from (
                place for place in _in_channel(channel, owner) if place.held.tag >> PORT_SHIFT in ports
            )
            if owner is asker:
                continue
            holds = getattr(owner, "held_requests", None)
            for held in holds() if holds else ():
                if held.tag >> PORT_SHIFT in ports:
                    yield _Place(owner, None, held, held.since if held.since is not None else owner.since)
            first = getattr(owner, "first_port", None)
            if first is not None and writer is not owner and channel.protocol == REQUEST:
                ports.add(first + int(self._label(channel).partition("[")[2].rstrip("]") or 0))
            ways += self._onward(owner, channel)

    def _onward(self, owner: Component, channel: Channel) -> list[Channel]:
        """The channels by which a request, or its reply, leaves a component that it has come to."""
        outputs = [stall.channels[0] for stall in self._wiring.links(owner) if stall.direction == "output"]
        replies = [channel_out for channel_out in outputs if channel_out.protocol == REPLY]
        requests = [channel_out for channel_out in outputs if channel_out.protocol == REQUEST]
        if channel.protocol == REPLY:
            return replies
        ends_here = any(stall.channels[0].protocol == REPLY for stall in self._wiring.links(owner))
        return replies if replies and ends_here and not hasattr(owner, "first_port") else requests + replies

    def _port(self, asker: Component, replies: Channel) -> int:
        """The port of a component at its network, which its requests' tags have in front."""
        base = getattr(asker, "tag_base", None)
        if base is not None:
            return int(base) >> PORT_SHIFT
        label = self._label(replies, producer=True)
        index = label.partition("[")[2].rstrip("]")
        return int(index) if index else 0

    def _label(self, channel: Channel, *, producer: bool = False) -> str:
        link = next(connection for connection in self._wiring.connections if connection.channel is channel)
        return link.producer.label if producer else link.consumer.label


def _in_channel(channel: Channel, owner: Component) -> Iterator[_Place]:
    for place in range(channel.occupancy):
        operation, tag, address, _value = channel.token(place)
        yield _Place(owner, channel, HeldRequest(operation, tag, address, ""), channel.arrival(place))


def _fullest(stall: Stall) -> Channel:
    """The channel that has the least space, of those that a component waits for."""
    return max(stall.channels, key=lambda candidate: candidate.occupancy - candidate.capacity)


def chain_text(chain: Sequence[Wait]) -> str:
    """The lines of a chain, each link indented below the one that waits for it."""
    return "\n".join(f"{'  ' * depth}{link}" for depth, link in enumerate(chain))
