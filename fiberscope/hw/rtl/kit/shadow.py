"""A component beside the module that stands in for it, which sees the same and should do the same.

The component runs in a kernel of its own, between channels of its own. Before each of its cycles they are
brought to where those of the module are: a clock twice as fast stands half a cycle ahead of the component's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from fiberscope.hw.rtl.kit.interface import Stream, Token, Transfer, tokens_of
from fiberscope.sim import ANY, Component, Input, Kernel, Output
from fiberscope.sim.assembly import end, put
from fiberscope.sim.channel import Channel
from fiberscope.sim.errors import SimulationError

__all__ = ["PartedError", "Shadow"]

HEAD = 2  # capacity of a channel to the component: the head, and one that is popped in this cycle


class PartedError(SimulationError):
    """The module and the component that runs beside it have moved other tokens in a cycle."""


class Feeder(Component):
    """Stands at all ports of the component: pushes heads that are new, pops what is to make room."""

    PORTS = (Output("into", ANY, array=True), Input("out", ANY, array=True))

    into: list[Channel]
    out: list[Channel]

    def __init__(self) -> None:
        super().__init__("feeder")
        self.heads: dict[int, Token] = {}
        self.room: dict[int, int] = {}  # tokens to pop

    def tick(self, now: int) -> int:
        """Do so, once."""
        for i, token in self.heads.items():
            self.into[i].push(*token)
        for i, count in self.room.items():
            for _ in range(count):
                self.out[i].pop()
        self.heads, self.room = {}, {}
        return self.busy(now + 1)


class Shadow:
    """Runs a component for as long as it moves the same tokens in the same cycles as the module.

    Args:
        component: makes it.
        ends: the module's streams and the channels of each, one a lane.

    ``parted`` says in which cycle it first did otherwise, at which port and with which tokens, or is None; it
    stands still from then on.
    """

    def __init__(
        self, component: Callable[[], Component], ends: Sequence[tuple[Stream, Sequence[Channel]]]
    ) -> None:
        self.component = component()
        self.parted: str | None = None
        self._streams = {stream.label: stream for stream, _channels in ends}
        self._heads = _ports(end for end in ends if end[0].direction == "input")
        self._sinks = _ports(end for end in ends if end[0].direction == "output" and not end[0].lane)
        self._kernel = Kernel()
        self._kernel.clock("core", 10**9)
        self._feeder = self._kernel.add(Feeder(), self._kernel.clock("feeder", 2 * 10**9))
        put(self.component, self._kernel)
        self._into = [self._connect_input(i, head.label) for i, head in enumerate(self._heads)]
        self._out = [self._connect_output(i, sink) for i, sink in enumerate(self._sinks)]
        self._kernel.build()

    def _connect_input(self, i: int, label: str) -> Channel:
        return self._kernel.connect(self._feeder, f"into[{i}]", *end(self.component, label), capacity=HEAD)

    def _connect_output(self, i: int, sink: _Port) -> Channel:
        return self._kernel.connect(
            *end(self.component, sink.label), self._feeder, f"out[{i}]", capacity=sink.channel.capacity
        )

    def cycle(self, now: int, moved: Mapping[str, Transfer]) -> None:
        """Run cycle ``now``, in which the module moves these tokens, before they leave their channels."""
        if self.parted is not None:
            return
        into, out = [channel.pops for channel in self._into], [channel.pushes for channel in self._out]
        while self._kernel.time < 2 * now - 2:  # cycles in which nothing at the ports has changed
            self._kernel.step()
        self._feed()
        while self._kernel.time < 2 * now:
            self._kernel.step()
        self.parted = _difference(self.component.name, now, self._moved(into, out), self._by_port(moved))

    def _feed(self) -> None:
        for i, head in enumerate(self._heads):
            if head.channel.can_pop() and not self._into[i].occupancy:
                self._feeder.heads[i] = Token(*head.channel.token(0))
        for i, sink in enumerate(self._sinks):
            taken = self._out[i].occupancy - (sink.channel.capacity - sink.channel.space())
            if taken:
                self._feeder.room[i] = taken

    def _moved(self, pops: Sequence[int], pushes: Sequence[int]) -> dict[str, _Moved]:
        """What the component has moved, given the counts of before; at outputs first."""
        moved: dict[str, _Moved] = {}
        for sink, channel, before in zip(self._sinks, self._out, pushes, strict=True):
            count = channel.pushes - before
            for lane in range(count):
                name = f"{sink.label}.{lane}" if lane else sink.label
                token = Token(*channel.token(channel.occupancy - count + lane))
                moved[name] = _Moved.of(sink.stream, token)
        return moved | {
            head.label: _Moved.of(head.stream, Token(*head.channel.token(0)))
            for head, channel, before in zip(self._heads, self._into, pops, strict=True)
            if channel.pops > before
        }

    def _by_port(self, moved: Mapping[str, Transfer]) -> dict[str, _Moved]:
        """What the module has moved, in the same way."""
        return {
            port: _Moved.of(self._streams[label], token)
            for label, transfer in moved.items()
            for port, token in zip(self._streams[label].labels, tokens_of(transfer), strict=True)
        }


class _Port(NamedTuple):
    """A port of the component, the stream that it belongs to, and the channel at the module."""

    stream: Stream
    label: str
    channel: Channel


def _ports(ends: Iterable[tuple[Stream, Sequence[Channel]]]) -> list[_Port]:
    return [
        _Port(stream, label, channel)
        for stream, channels in ends
        for label, channel in zip(stream.labels, channels, strict=True)
    ]


def _difference(
    name: str, cycle: int, component: Mapping[str, _Moved], module: Mapping[str, _Moved]
) -> str | None:
    """The first port at which the two have moved other tokens, with these; None if there is none."""
    for port in {**component, **module}:
        theirs, its = component.get(port, _NOTHING), module.get(port, _NOTHING)
        if theirs.bits != its.bits:
            return (
                f"{name}: in cycle {cycle}, {port} is {theirs.text} of the component, {its.text} of the RTL"
            )
    return None


class _Moved(NamedTuple):
    """A token: as the module's wires have it, by those -0.0 is not 0.0; and as text."""

    bits: dict[str, int]
    text: str

    @classmethod
    def of(cls, stream: Stream, token: Token) -> _Moved:
        return cls(stream.bits(token), stream.said(token))


_NOTHING = _Moved({}, "nothing")
