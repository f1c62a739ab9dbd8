"""What every part of a machine is: a clocked thing with declared ports that says when it next has work."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import ClassVar

from sim.channel import Channel
from sim.clock import Clock
from sim.constants import BUSY, FIRST_STALL, IDLE, NEVER
from sim.errors import SimulationError

ANY = "any"  # carried by a port that passes on whatever it is given


@dataclass(frozen=True)
class Port:
    """One declared port, or an array of them.

    Args:
        name: the port's name, unique in its component.
        carries: the protocol of its tokens; two ports connect only if they carry the same, or one ``ANY``.
        array: whether it is an array of ports, connected as ``name[i]`` from 0 without gaps.
        optional: whether it may be left unconnected.
    """

    name: str
    carries: str
    array: bool = False
    optional: bool = False


class Input(Port):
    """A port that the component pops from."""


class Output(Port):
    """A port that the component pushes into."""


@dataclass(frozen=True)
class Signal:
    """One waveform signal of a component, sampled after each cycle in which the component ticked.

    Args:
        name: its name within the component's scope.
        width: bits.
        kind: ``"wire"`` (bits), ``"integer"`` (a signed number) or ``"state"`` (a number with names).
        states: for kind ``"state"``, the name of each number.
    """

    name: str
    width: int = 32
    kind: str = "wire"
    states: tuple[str, ...] = field(default=())


class Component:
    """A clocked part. Subclasses declare ``PORTS`` and override ``tick``.

    ``tick`` does the work of one cycle and returns the cycle in which it next wants to run, or ``NEVER``. It
    may be called when nothing has changed, and must then change nothing; one that did change something
    returns ``busy``, since a channel wakes for what is new, not for what is left. It says what the
    cycle (and every one until the next tick) counts as by returning through one of:

    - ``busy(until)``: work was done; runs again at cycle ``until``;
    - ``wait_input(channel)``: in the midst of work, and a token is missing;
    - ``wait_output(channel)``: in the midst of work, and there is no space;
    - ``idle()``: nothing to do until a channel brings something.

    Args:
        name: the hierarchical instance name, as in ``gamma.pe07.merger``.
    """

    PORTS: ClassVar[tuple[Port, ...]] = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock: Clock | None = None
        self.index = -1
        self.state = IDLE
        self.since = 0
        self.cycles = array("q", bytes(8 * FIRST_STALL))
        self.connected: dict[str, list[Channel]] = {}

    def tick(self, now: int) -> int:
        """Advance by cycle ``now``; returns the next cycle to run in, or ``NEVER``."""
        raise NotImplementedError(f"{type(self).__name__} does not define tick")

    def elaborate(self) -> None:
        """Fetch the channels of the ports; called once, when all are connected."""

    def counters(self) -> dict[str, int]:
        """Named event counts so far."""
        return {}

    def signals(self) -> tuple[Signal, ...]:
        """The signals of the component's waveform, apart from the accounting state, which all have."""
        return ()

    def sample(self) -> tuple[int, ...]:
        """Current values of ``signals``, in their order."""
        return ()

    def channel(self, port: str) -> Channel:
        """The channel at a port that is not an array."""
        return self.connected[port][0]

    def optional_channel(self, port: str) -> Channel | None:
        """The channel at an optional port, or None where it is left unconnected."""
        channels = self.connected.get(port)
        return channels[0] if channels else None

    def channels(self, port: str) -> list[Channel]:
        """The channels at an array of ports, in their order."""
        return self.connected.get(port, [])

    def busy(self, until: int) -> int:
        """Count the cycles before ``until`` as busy and run again then."""
        self.state = BUSY
        return until

    def wait_input(self, channel: Channel) -> int:
        """Sleep until a token comes, counted as waiting for input from this channel.

        Raises:
            SimulationError: if the component does not read this channel.
        """
        if channel._reader_index != self.index:
            raise SimulationError(f"{self.name} waits for input from {channel.name}, which it does not read")
        self.state = channel.reader_state
        return NEVER

    def wait_output(self, channel: Channel) -> int:
        """Sleep until there is space, counted as waiting for output into this channel.

        Raises:
            SimulationError: if the component does not write this channel.
        """
        if channel._writer_index != self.index:
            raise SimulationError(f"{self.name} waits for space in {channel.name}, which it does not write")
        self.state = channel.writer_state
        return NEVER

    def idle(self) -> int:
        """Sleep until a channel brings something, counted as idle."""
        self.state = IDLE
        return NEVER
