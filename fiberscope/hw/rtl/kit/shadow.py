"""A shadow component that runs beside a module on the same inputs, for comparison.

The component has its own kernel and its own channels. Before each of its cycles, the channels are updated to
the state of the module's channels: a clock of twice the frequency is half a cycle ahead of the component's.
Outputs are compared token by token, in every cycle. The cycle in which an input token is taken is only
recorded: a module may take a stop earlier or later than its component, and send the same tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from fiberscope.hw.rtl.kit.exercise import Event
from fiberscope.hw.rtl.kit.interface import Stream, Token, Transfer, tokens_of
from fiberscope.hw.stream import STOP, STREAM
from fiberscope.sim import ANY, Component, Input, Kernel, Output
from fiberscope.sim.assembly import end, put
from fiberscope.sim.channel import Channel


class Feeder(Component):
    """A component at all ports of the shadow: it pushes new tokens, and pops tokens to free space."""

    PORTS = (Output("into", ANY, array=True), Input("out", ANY, array=True))

    into: list[Channel]
    out: list[Channel]

    def __init__(self) -> None:
        super().__init__("feeder")
        self.tokens: list[tuple[int, Token]] = []  # to push, with the input
        self.pop_counts: dict[int, int] = {}  # tokens to pop

    def tick(self, now: int) -> int:
        """Push and pop once."""
        for i, token in self.tokens:
            self.into[i].push(*token)
        for i, count in self.pop_counts.items():
            for _ in range(count):
                self.out[i].pop()
        self.tokens, self.pop_counts = [], {}
        return self.busy(now + 1)


class Shadow:
    """A component that runs on a module's inputs as long as their outputs are the same in every cycle.

    A token becomes visible to both in the same cycle. Each takes it in its own cycle.

    Args:
        component: creates the component.
        ends: the module's streams and the channels of their lanes.

    Attributes:
        output: the first cycle in which the outputs differ, with a description; None if none. The component
            stops at this cycle.
        input: the first cycle in which only one of the two takes a token, with a description; None if none.
    """

    def __init__(
        self, component: Callable[[], Component], ends: Sequence[tuple[Stream, Sequence[Channel]]]
    ) -> None:
        self.component = component()
        self.output: Event | None = None
        self.input: Event | None = None
        self._streams = {stream.label: stream for stream, _channels in ends}
        self._sources = _ports(end for end in ends if end[0].direction == "input")
        self._sinks = _ports(end for end in ends if end[0].direction == "output" and not end[0].lane)
        self._carries_stops = {sink.label for sink in self._sinks if _carries_stops(sink)}
        self._kernel = Kernel()
        self._kernel.clock("core", 10**9)
        self._feeder = self._kernel.add(Feeder(), self._kernel.clock("feeder", 2 * 10**9))
        put(self.component, self._kernel)
        self._inputs = [self._connect_input(i, source.label) for i, source in enumerate(self._sources)]
        self._outputs = [self._connect_output(i, sink) for i, sink in enumerate(self._sinks)]
        self._fed_counts = [0] * len(self._inputs)  # tokens
        self._pops, self._pushes = [0] * len(self._inputs), [0] * len(self._outputs)
        self._next_cycle = 0  # the next cycle to run
        self._kernel.build()

    def _connect_input(self, i: int, label: str) -> Channel:
        # A token that the module has taken may still wait here, so the module's capacity is no bound.
        return self._kernel.connect(self._feeder, f"into[{i}]", *end(self.component, label), capacity=None)

    def _connect_output(self, i: int, sink: _Port) -> Channel:
        capacity = sink.channel.capacity if sink.channel.bounded else None
        return self._kernel.connect(
            *end(self.component, sink.label), self._feeder, f"out[{i}]", capacity=capacity
        )

    def cycle(self, now: int, transfers: Mapping[str, Transfer]) -> None:
        """Run cycle ``now``, in which the module moves these tokens; call it before the channels change."""
        self.catch_up(now)
        if self.output is None:
            self._feed(now)
            self._run(now, transfers)

    def catch_up(self, cycle: int) -> None:
        """Run the cycles before ``cycle``, in which the module moves nothing."""
        while self.output is None and self._next_cycle < cycle:
            self._run(self._next_cycle, {})

    def _feed(self, now: int) -> None:
        """Give the feeder the tokens that become visible in this cycle, and the tokens to pop for space."""
        for i, source in enumerate(self._sources):
            channel = source.channel
            position = self._fed_counts[i] - channel.pops  # of the first token that the shadow has not got
            while position < channel.occupancy and channel.arrival(position) <= now:
                self._feeder.tokens.append((i, Token(*channel.token(position))))
                self._fed_counts[i] += 1
                position += 1
        for i, sink in enumerate(self._sinks):
            # The module's reader has popped tokens: pop as many, so that both see the same space.
            occupied = sink.channel.capacity - sink.channel.free() if sink.channel.bounded else 0
            if self._outputs[i].occupancy > occupied:
                self._feeder.pop_counts[i] = self._outputs[i].occupancy - occupied

    def _run(self, cycle: int, transfers: Mapping[str, Transfer]) -> None:
        """Run a cycle of the component, and compare its transfers with those of the module."""
        while self._kernel.time < 2 * cycle:
            self._kernel.step()
        self._next_cycle = cycle + 1
        pops, pushes = (
            [channel.pops for channel in self._inputs],
            [channel.pushes for channel in self._outputs],
        )
        if transfers or pushes != self._pushes:
            self._compare_outputs(cycle, transfers)
        if self.input is None and (transfers or pops != self._pops):
            self._compare_inputs(cycle, transfers, pops)
        self._pops, self._pushes = pops, pushes

    def _compare_outputs(self, cycle: int, transfers: Mapping[str, Transfer]) -> None:
        """Record the first port at which the output tokens of a cycle differ."""
        component, module = self._component_tokens(), self._module_tokens(transfers)
        for port in {**component, **module}:
            component_token, module_token = component.get(port, _NOTHING), module.get(port, _NOTHING)
            if component_token.bits != module_token.bits:
                tokens = f"{port} is {component_token.text} of the component, {module_token.text} of the RTL"
                self.output = cycle, f"{self.component.name}: in cycle {cycle}, {tokens}"
                return

    def _compare_inputs(self, cycle: int, transfers: Mapping[str, Transfer], pops: Sequence[int]) -> None:
        """Record the first port at which only one of the two takes a token in a cycle."""
        taken_ports = {port for label in transfers for port in self._streams[label].labels}
        for source, count, earlier_count in zip(self._sources, pops, self._pops, strict=True):
            if (count > earlier_count) != (source.label in taken_ports):
                taker = "component" if count > earlier_count else "RTL"
                event = f"{source.label} is taken by the {taker} alone"
                self.input = cycle, f"{self.component.name}: in cycle {cycle}, {event}"
                return

    def _component_tokens(self) -> dict[str, _ComparedToken]:
        """Return the tokens that the component has sent in this cycle, by port and lane."""
        tokens: dict[str, _ComparedToken] = {}
        for sink, channel, earlier_count in zip(self._sinks, self._outputs, self._pushes, strict=True):
            count = channel.pushes - earlier_count
            for lane in range(count):
                port = f"{sink.label}.{lane}" if lane else sink.label
                tokens[port] = self._token(sink.stream, port, channel.token(channel.occupancy - count + lane))
        return tokens

    def _module_tokens(self, transfers: Mapping[str, Transfer]) -> dict[str, _ComparedToken]:
        """Return the tokens that the module has sent, by port and lane."""
        return {
            port: self._token(self._streams[label], port, token)
            for label, transfer in transfers.items()
            if self._streams[label].direction == "output"
            for port, token in zip(self._streams[label].labels, tokens_of(transfer), strict=True)
        }

    def _token(self, stream: Stream, port: str, fields: tuple[int, int, int, float]) -> _ComparedToken:
        token = Token(*fields)
        if token.control == STOP and port.partition(".")[0] in self._carries_stops:
            token = Token(STOP, 0, 0, 0.0)
        return _ComparedToken(stream.bits(token), stream.describe(token))


class _Port(NamedTuple):
    """A port of the component, its stream, and the channel at the module."""

    stream: Stream
    label: str
    channel: Channel


def _ports(ends: Iterable[tuple[Stream, Sequence[Channel]]]) -> list[_Port]:
    """Return every port of the streams, with its channel at the module."""
    return [
        _Port(stream, label, channel)
        for stream, channels in ends
        for label, channel in zip(stream.labels, channels, strict=True)
    ]


def _carries_stops(port: _Port) -> bool:
    """Return whether the fibers at a port end with stops, which carry nothing else."""
    return port.channel.protocol == STREAM and "control" in port.stream.fields


class _ComparedToken(NamedTuple):
    """A token as bits of the module's wires, which distinguish -0.0 from 0.0, and as text."""

    bits: dict[str, int]
    text: str


_NOTHING = _ComparedToken({}, "nothing")
