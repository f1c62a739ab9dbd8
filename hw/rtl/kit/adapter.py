"""RTL in a component's place: a component whose inside is a module in a simulator, in lock-step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hw.rtl.kit.backend import Backend
from hw.rtl.kit.interface import Interface, Stream, Token
from sim.channel import Channel
from sim.component import Component
from sim.errors import SimulationError


@dataclass(frozen=True)
class _Link:
    stream: Stream
    channel: Channel


class Adapter(Component):
    """Runs a module, one clock cycle of it in every cycle of the component's clock.

    An input stream is ``valid`` while its channel shows a token, which is popped when the module is ``ready``
    for it. An output stream is ``ready`` while its channel has space (lane n: for n + 1 tokens), and what is
    ``valid`` then is pushed.
    The stream of an optional port that is not connected is never ``valid``, or never ``ready``.
    So the module sees at its ports in each cycle what a component would see in its channels.

    Timing: the kernel may let the component sleep while nothing at its ports changes; the cycles slept
    through are run when it wakes, before the one it wakes in. A module that acts on its own while its ports
    stand still, such as a pipeline that empties itself, says for how long by ``drain``.

    Subclasses declare ``PORTS``, those of the component that the module stands in for, and may refine
    ``observe`` (to count), ``account`` (to say what a cycle counts as) and ``counters``; ``status`` are the
    module's status outputs in this cycle.

    Args:
        name: instance name.
        interface: the module's streams.
        backend: the module in a simulator, freshly reset.
        drain: cycles after the last change at its ports in which the module may still act by itself.

    Raises:
        SimulationError: when built, if a stream's port is neither connected nor optional, a connected one has
            no stream, or a channel has no capacity for all lanes; in the run, if a token does not fit the
            module's wires, or the module moves one while it should have nothing to do.
    """

    def __init__(self, name: str, interface: Interface, backend: Backend, *, drain: int = 0) -> None:
        super().__init__(name)
        self.interface = interface
        self.drain = drain
        self._backend = backend
        self._links: list[_Link] = []
        self._tied: dict[str, int] = {}  # inputs of the module whose stream is not connected
        self.status: dict[str, bool] = {}
        self._pins: dict[str, int] = {}  # the module's inputs in the cycle run last
        self._next = 0  # the cycle to run next
        self._last_change = -1  # the last cycle in which a token moved, or an input was not as before

    def elaborate(self) -> None:
        """Fetch the channel of every stream."""
        for stream in self.interface.streams:
            port, index = stream.port
            channels = self.channels(port)
            if index >= len(channels):
                self._leave_open(stream)
                continue
            if channels[index].capacity <= stream.lane:
                raise SimulationError(
                    f"{channels[index].name}: a capacity of {channels[index].capacity} is too small for "
                    f"{self.name}, which sends {stream.lane + 1} tokens in one cycle"
                )
            self._links.append(_Link(stream, channels[index]))
        connected = sum(map(len, self.connected.values()))
        served = len({link.stream.port for link in self._links})
        if connected > served:
            raise SimulationError(
                f"{self.name}: {connected} channels are connected, but the module has {served} streams"
            )

    def _leave_open(self, stream: Stream) -> None:
        """Tie what drives the module's side of a stream that is not connected, where that may be."""
        port = stream.port[0]
        if not any(port == declared.name and declared.optional for declared in self.PORTS):
            raise SimulationError(f"{self.name}: the module has {stream.label}, which is not connected")
        driven = ["ready"] if stream.direction == "output" else ["valid", *stream.widths]
        self._tied.update((stream.wire(part), 0) for part in driven)

    def tick(self, now: int) -> int:
        """Run the cycles slept through, then this one."""
        while self._next < now:
            self._sleep_through()
        before, self._pins = self._pins, self._look()
        outputs = self._backend.cycle(self._pins)
        self.status = {name: bool(outputs[name]) for name in self.interface.status}
        moved = self._moved(outputs)
        for label, token in moved.items():
            self._move(label, token)
        if moved or self._pins != before:
            self._last_change = now
        self._next = now + 1
        self.observe(moved)
        wake = self.account(now, moved, self._blocked(outputs))
        return now + 1 if moved or now < self._last_change + self.drain else wake

    def observe(self, moved: Mapping[str, Token]) -> None:
        """See the tokens that moved in this cycle, by port; for counters. Called once a tick."""

    def account(self, now: int, moved: Mapping[str, Token], blocked: Channel | None) -> int:
        """Say what this cycle counts as, as ``tick`` of any component does.

        Args:
            now: the cycle.
            moved: the tokens that moved in it, by port.
            blocked: a channel for which the module has a token but which has no space, if there is one.
        """
        if moved:
            return self.busy(now + 1)
        return self.idle() if blocked is None else self.wait_output(blocked)

    def _look(self) -> dict[str, int]:
        """The module's inputs in this cycle."""
        pins = dict(self._tied)
        for link in self._links:
            stream, channel = link.stream, link.channel
            if stream.direction == "output":
                room = channel.space() > stream.lane if stream.lane else channel.can_push()
                pins[stream.wire("ready")] = int(room)
            elif channel.can_pop():
                pins[stream.wire("valid")] = 1
                pins.update(stream.encode(_head(channel)))
            else:
                pins[stream.wire("valid")] = 0
                pins.update((stream.wire(field), 0) for field in stream.widths)
        return pins

    def _moved(self, outputs: Mapping[str, int]) -> dict[str, Token]:
        """The tokens for which valid and ready are both high, by port."""
        wires = {**self._pins, **outputs}
        return {
            link.stream.label: link.stream.decode(wires)
            for link in self._links
            if wires[link.stream.wire("valid")] and wires[link.stream.wire("ready")]
        }

    def _move(self, label: str, token: Token) -> None:
        link = next(link for link in self._links if link.stream.label == label)
        if link.stream.direction == "input":
            link.channel.pop()
        else:
            link.channel.push(*token)

    def _blocked(self, outputs: Mapping[str, int]) -> Channel | None:
        for link in self._links:
            stream = link.stream
            offered = stream.direction == "output" and outputs[stream.wire("valid")]
            if offered and not self._pins[stream.wire("ready")]:
                return link.channel
        return None

    def _sleep_through(self) -> None:
        """Run a cycle in which nothing at the ports has changed."""
        moved = self._moved(self._backend.cycle(self._pins))
        if moved:
            raise SimulationError(
                f"{self.name}: at cycle {self._next} the module moves {', '.join(moved)}, though nothing at "
                f"its ports has changed since cycle {self._last_change}; raise drain above {self.drain}"
            )
        self._next += 1


def _head(channel: Channel) -> Token:
    return Token(channel.control(), channel.coordinate(), channel.reference(), channel.value())
