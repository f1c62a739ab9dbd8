"""Routes of memory requests and replies through the channels and components of a built machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fiberscope.hw.memory.protocol import PORT_SHIFT, REPLY, REQUEST
from fiberscope.sim import Channel, Component
from fiberscope.sim.wiring import Stall, Wiring

MAX_PLACES = 200_000  # places of all routes that are kept, some 20 MB


class Route(NamedTuple):
    """The channels and components that may hold a component's requests, or the replies.

    Args:
        places: the ports that the tags of these requests may have, by ``id`` of the channel or component.
        ports: all these ports. A concentrator adds a port to a tag, so the ports grow on the way.
    """

    places: dict[int, tuple[int, ...]]
    ports: tuple[int, ...]


class RequestRoutes:
    """The places that the requests of a component pass. The wiring determines them, so they are kept.

    Args:
        wiring: the wiring of a built machine.
        port_stalls: the stall states of each component for single ports, by ``id(component)``.

    Attributes:
        channels: all channels of requests or replies.
    """

    def __init__(self, wiring: Wiring, port_stalls: Mapping[int, Sequence[Stall]]) -> None:
        self._wiring = wiring
        self._memory_channels = {part: _find_memory_channels(stalls) for part, stalls in port_stalls.items()}
        self.channels = [each for pair in self._memory_channels.values() for part in pair for each in part]
        self._routes: dict[tuple[int, int], Route] = {}
        self._kept_places = 0

    def route(self, requester: Component, replies: Channel) -> Route:
        """Return the route of requests whose replies arrive at a channel of the requester."""
        key = id(requester), id(replies)
        route = self._routes.get(key)
        if route is None:
            if self._kept_places > MAX_PLACES:  # start again; a route is found again when it is needed
                self._routes, self._kept_places = {}, 0
            route = self._routes[key] = self._search(requester, replies)
            self._kept_places += len(route.places)
        return route

    def _search(self, requester: Component, replies: Channel) -> Route:
        """Follow the channels of requests and replies from a requester; see ``route``."""
        places: dict[int, tuple[int, ...]] = {}
        ports: tuple[int, ...] = (self._port(requester, replies),)
        expanded = set[tuple[int, bool]]()  # components followed, once for requests and once for replies
        # ``ports`` also keeps the ports of other branches, so that it may have more ports than a place needs
        channels = list(self._memory_channels[id(requester)][0])
        while channels:
            channel = channels.pop()
            if id(channel) in places:
                continue
            link = self._wiring.link(channel)
            producer, owner = link.producer.component, link.consumer.component
            places[id(channel)] = ports
            first_port = getattr(owner, "first_port", None)  # of a concentrator
            # Replies end at a component that sends requests of its own, such as a cache: those that it holds,
            # which may have the same tags, are not the requester's.
            if channel.protocol == REPLY and self._memory_channels[id(owner)][0] and first_port is None:
                continue
            places[id(owner)] = ports
            # A concentrator adds the port ``first_port`` + i to the tag of a request of ``inputs[i]``.
            if first_port is not None and producer is not owner and channel.protocol == REQUEST:
                port = first_port + _parse_array_index(link.consumer.label)
                ports = ports if port in ports else (*ports, port)
            if (key := (id(owner), channel.protocol == REPLY)) not in expanded:
                expanded.add(key)
                channels += self._find_next_channels(owner, channel)
        return Route(places, ports)

    def _find_next_channels(self, owner: Component, channel: Channel) -> Sequence[Channel]:
        """Return the channels by which a request or reply that came by a channel may leave a component.

        A request that reaches a component with outputs for replies, such as a cache, is followed only to its
        reply. The component's own requests have other tags; see ``HeldRequest.forwarded``. A concentrator is
        the exception: it passes on requests and replies.
        """
        requests, replies = self._memory_channels[id(owner)]
        if channel.protocol == REPLY or (replies and not hasattr(owner, "first_port")):
            return replies
        return (*requests, *replies)

    def _port(self, requester: Component, replies: Channel) -> int:
        """Return the port of a component at its network, the prefix of the tags of its requests.

        For a component without ``tag_base``, this is the index of the output that sends its replies, 0 for an
        output that is not an array.
        """
        base = getattr(requester, "tag_base", None)
        if base is not None:
            return int(base) >> PORT_SHIFT
        return _parse_array_index(self._wiring.link(replies).producer.label)


def _parse_array_index(label: str) -> int:
    """Return the index in the label of a port, 0 if the port is no array."""
    return int(label.partition("[")[2].rstrip("]") or 0)


def _find_memory_channels(port_stalls: Sequence[Stall]) -> tuple[Sequence[Channel], Sequence[Channel]]:
    """Return the channels by which requests and replies leave a component."""
    outputs = [stall.channels[0] for stall in port_stalls if stall.direction == "output"]
    requests = [channel for channel in outputs if channel.protocol == REQUEST]
    return requests, [channel for channel in outputs if channel.protocol == REPLY]
