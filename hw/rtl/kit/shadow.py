"""A component beside the module that stands in for it, which sees the same and should do the same.

The component runs in a kernel of its own, between channels of its own. Before each of its cycles they are
brought to where those of the module are: a clock twice as fast stands half a cycle ahead of the component's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hw.rtl.kit.interface import Stream, Token
from sim import ANY, Component, Input, Kernel, Output
from sim.channel import Channel

__all__ = ["Shadow"]

HEAD = 2  # capacity of a channel to the component: the head, and one that is popped in this cycle


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
        ends: the module's streams and the channel of each.

    ``parted`` says whether it has done otherwise; it stands still from then on.
    """

    def __init__(self, component: Callable[[], Component], ends: Sequence[tuple[Stream, Channel]]) -> None:
        self.component = component()
        self.parted = False
        self._streams = [stream for stream, _channel in ends]
        self._heads = [(s.label, channel) for s, channel in ends if s.direction == "input"]
        self._sinks = [(s.label, channel) for s, channel in ends if s.direction == "output" and not s.lane]
        self._kernel = Kernel()
        core = self._kernel.clock("core", 10**9)
        self._feeder = self._kernel.add(Feeder(), self._kernel.clock("feeder", 2 * 10**9))
        self._kernel.add(self.component, core)
        self._into = [self._connect_input(i, label) for i, (label, _) in enumerate(self._heads)]
        self._out = [self._connect_output(i, *sink) for i, sink in enumerate(self._sinks)]
        self._kernel.build()

    def _connect_input(self, i: int, label: str) -> Channel:
        return self._kernel.connect(self._feeder, f"into[{i}]", self.component, label, capacity=HEAD)

    def _connect_output(self, i: int, label: str, channel: Channel) -> Channel:
        return self._kernel.connect(
            self.component, label, self._feeder, f"out[{i}]", capacity=channel.capacity
        )

    def cycle(self, now: int, moved: Mapping[str, Token]) -> None:
        """Run cycle ``now``, in which the module moves these tokens, before they leave their channels."""
        if self.parted:
            return
        into, out = [channel.pops for channel in self._into], [channel.pushes for channel in self._out]
        while self._kernel.time < 2 * now - 2:  # cycles in which nothing at the ports has changed
            self._kernel.step()
        self._feed()
        while self._kernel.time < 2 * now:
            self._kernel.step()
        self.parted = self._bits(self._moved(into, out)) != self._bits(moved)

    def _feed(self) -> None:
        for i, (_label, channel) in enumerate(self._heads):
            if channel.can_pop() and not self._into[i].occupancy:
                self._feeder.heads[i] = Token(*channel.token(0))
        for i, (_label, channel) in enumerate(self._sinks):
            taken = self._out[i].occupancy - (channel.capacity - channel.space())
            if taken:
                self._feeder.room[i] = taken

    def _moved(self, pops: Sequence[int], pushes: Sequence[int]) -> dict[str, Token]:
        """What the component has moved, given the counts of before, by the labels of streams."""
        moved = {
            label: Token(*real.token(0))
            for (label, real), channel, before in zip(self._heads, self._into, pops, strict=True)
            if channel.pops > before
        }
        for (label, _real), channel, before in zip(self._sinks, self._out, pushes, strict=True):
            count = channel.pushes - before
            for lane in range(count):
                name = f"{label}.{lane}" if lane else label
                moved[name] = Token(*channel.token(channel.occupancy - count + lane))
        return moved

    def _bits(self, moved: Mapping[str, Token]) -> dict[str, dict[str, int]]:
        """Tokens as the module's wires have them: by those -0.0 is not 0.0."""
        streams = {stream.label: stream for stream in self._streams}
        return {
            label: dict(streams[label].encode(token)) for label, token in moved.items() if label in streams
        }
