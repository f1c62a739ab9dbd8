"""Base of every part of a machine: a clocked unit with declared ports that says when it next has work."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, NoReturn, TypeVar

from fiberscope.sim.channel import Channel
from fiberscope.sim.clock import Clock
from fiberscope.sim.constants import BUSY, FIRST_STALL, IDLE, NEVER
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

Kept = TypeVar("Kept")


@dataclass(frozen=True)
class Port:
    """One declared port, or an array of them.

    Args:
        name: the port's name, unique in its component.
        carries: the protocol of its tokens; two ports connect only if they carry equal ones, or one ``ANY``.
        array: whether it is an array of ports, connected as ``name[i]`` from 0 without gaps.
        optional: whether it may be left unconnected.

    Raises:
        TypeError: if what it carries is no protocol.
    """

    name: str
    carries: Protocol
    array: bool = False
    optional: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be compared with the protocol of another port."""
        if not isinstance(self.carries, Protocol):
            raise TypeError(f"port {self.name} must carry a Protocol, not {self.carries!r}")


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
        kind: ``"wire"`` (bits), ``"integer"`` (a signed number), ``"state"`` (a number with names) or
            ``"mark"`` (a bit; where one first becomes 1 is what whoever opens the waveform sees first).
        states: for kind ``"state"``, the name of each number.
        within: a scope within the component's, as in ``rtl`` or ``rtl.tree``; empty for its own.
    """

    name: str
    width: int = 32
    kind: str = "wire"
    states: tuple[str, ...] = field(default=())
    within: str = ""


class Reserved(Generic[Kept]):
    """An attribute of a component that the engine keeps, under the same name with an underscore before it.

    All may read it; a component that sets it itself is refused, since it meant one of its own.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, component: Component, owner: type[Component] | None = None) -> Kept:
        """Return the engine's value."""
        kept: Kept = getattr(component, f"_{self.name}")
        return kept

    def __set__(self, component: Component, value: object) -> NoReturn:
        """Refuse the attribute.

        Raises:
            SimulationError: always.
        """
        raise SimulationError(
            f"{component.name}: the attribute {self.name} is the engine's; give your own another name"
        )


class Accounted:
    """Account of the cycles of a component, which it states at the end of each tick; see ``Component``.

    Compiled components use the methods as they stand in the ``.pxd`` again, put in place of their calls;
    those here are for Python.

    Args:
        name: the component's.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._index = -1
        self._state = IDLE
        self._since = 0
        self._cycles = array("q", bytes(8 * FIRST_STALL))

    def _account(self, before: int, cycle: int) -> None:
        """The state has changed: what it was before held up to this cycle."""
        self._cycles[before] += cycle - self._since
        self._since = cycle

    def busy(self, until: int) -> int:
        """Count the cycles before ``until`` as busy and run again then."""
        self._state = BUSY
        return until

    def wait_input(self, channel: Channel) -> int:
        """Sleep until a token comes, counted as waiting for input from this channel.

        Raises:
            SimulationError: if the component does not read this channel, or its port is not connected.
        """
        if channel is None or channel._reader_index != self._index:
            self._refuse_input(channel)
        self._state = channel.reader_state
        return NEVER

    def wait_output(self, channel: Channel) -> int:
        """Backpressure: sleep until there is space, counted as waiting for output into this channel.

        Raises:
            SimulationError: if the component does not write this channel, or its port is not connected.
        """
        if channel is None or channel._writer_index != self._index:
            self._refuse_output(channel)
        self._state = channel.writer_state
        return NEVER

    def wait_any_input(self, channels: Sequence[Channel]) -> int:
        """Sleep until a token comes, counted as waiting for input from any of an array of ports.

        Raises:
            SimulationError: if the component does not read these channels.
        """
        first = channels[0]
        self.wait_input(first)
        self._state = first.any_reader_state
        return NEVER

    def wait_any_output(self, channels: Sequence[Channel]) -> int:
        """Sleep until there is space, counted as waiting for output into any of an array of ports.

        Raises:
            SimulationError: if the component does not write these channels.
        """
        first = channels[0]
        self.wait_output(first)
        self._state = first.any_writer_state
        return NEVER

    def idle(self) -> int:
        """Sleep until a channel brings something, counted as idle."""
        self._state = IDLE
        return NEVER

    def _refuse_input(self, channel: Channel | None) -> NoReturn:
        if channel is None:
            raise SimulationError(f"{self.name} waits for input from a port that is not connected")
        raise SimulationError(f"{self.name} waits for input from {channel.name}, which it does not read")

    def _refuse_output(self, channel: Channel | None) -> NoReturn:
        if channel is None:
            raise SimulationError(f"{self.name} waits for space at a port that is not connected")
        raise SimulationError(f"{self.name} waits for space in {channel.name}, which it does not write")


class Component(Accounted):
    """A clocked part. Subclasses declare what they have and override ``tick``.

    What is declared on the class is said once:

    - ``PORTS``: its ports. The channel at each, or the list of channels at an array, becomes the attribute of
      the port's name when the machine is built; that of an optional port left unconnected is None.
    - ``COUNTERS``: its named event counts, each the attribute of that name.
    - ``SIGNALS``: what a waveform shows of it beside its accounting state, each the attribute of that name.

    Where something must be computed or checked, ``declared_ports``, ``elaborate`` with ``fetch``,
    ``counters``, or ``signals`` with ``sample`` is overridden.

    ``tick`` does the work of one cycle and returns the cycle in which it next wants to run, or ``NEVER``. It
    says what the cycle (and every one until the next tick) counts as by returning through one of:

    - ``busy(until)``: work was done; runs again at cycle ``until``;
    - ``wait_input(channel)``: in the midst of work, and a token is missing;
    - ``wait_output(channel)``: backpressure: in the midst of work, and there is no space;
    - ``wait_any_input(channels)``, ``wait_any_output(channels)``: the same, of any of an array;
    - ``idle()``: nothing to do until a channel brings something.

    It may sleep (all but ``busy``) only where another tick right after it would change nothing and return the
    same: a channel wakes for what is new, not for what is left.

    Args:
        name: the hierarchical instance name, as in ``gamma.pe07.merger``.

    The engine's own attributes, which a component cannot have for itself: ``name``, ``clock``, ``index``,
    ``state``, ``since``, ``cycles``, ``connected``, the same with an underscore before them, and the methods.
    """

    PORTS: ClassVar[tuple[Port, ...]] = ()
    COUNTERS: ClassVar[tuple[str, ...]] = ()
    SIGNALS: ClassVar[tuple[Signal, ...]] = ()

    clock = Reserved[Clock | None]("clock")  # its domain, once it is in a kernel
    index = Reserved[int]("index")  # its place in the order of ticks
    state = Reserved[int]("state")  # what its cycles count as
    since = Reserved[int]("since")  # the cycle of the tick from which on they do
    cycles = Reserved["array[int]"]("cycles")  # by state, up to that tick
    connected = Reserved["dict[str, list[Channel]]"]("connected")  # by port

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._clock: Clock | None = None
        self._connected: dict[str, list[Channel]] = {}

    def tick(self, now: int) -> int:
        """Advance by cycle ``now``; returns the next cycle to run in, or ``NEVER``."""
        raise NotImplementedError(f"{type(self).__name__} does not define tick")

    def declared_ports(self) -> tuple[Port, ...]:
        """The component's ports; overridden where an argument says how many there are."""
        return self.PORTS

    def elaborate(self) -> None:
        """Make the channels of the ports attributes; called once, when all are connected.

        Raises:
            SimulationError: if a port has the name of another attribute, or a compiled class does not declare
                it.
        """
        for port in self.declared_ports():
            if getattr(self, port.name, None) is not None:
                raise SimulationError(
                    f"{self.name}: port {port.name} has the name of another attribute; rename one of them, "
                    "or fetch the channel in elaborate"
                )
            try:
                setattr(self, port.name, self.fetch(port))
            except AttributeError:
                line = f"cdef public {'list' if port.array else 'Channel'} {port.name}"
                raise SimulationError(
                    f"{self.name}: the .pxd of {type(self).__name__} must have {line}"
                ) from None

    def fetch(self, port: Port) -> object:
        """Return the attribute of a port's name: the channel at it, or the channels of an array."""
        return self.channels(port.name) if port.array else self.optional_channel(port.name)

    def counters(self) -> dict[str, int]:
        """Named event counts so far."""
        return {name: getattr(self, name) for name in self.COUNTERS}

    def signals(self) -> tuple[Signal, ...]:
        """The signals of the component's waveform, apart from the accounting state, which all have."""
        return self.SIGNALS

    def sample(self) -> tuple[int, ...]:
        """Current values of ``signals``, in their order."""
        return tuple([getattr(self, signal.name) for signal in self.SIGNALS])

    def channel(self, port: str) -> Channel:
        """The channel at a port that is not an array."""
        return self._connected[port][0]

    def optional_channel(self, port: str) -> Channel | None:
        """The channel at an optional port, or None where it is left unconnected."""
        channels = self._connected.get(port)
        return channels[0] if channels else None

    def channels(self, port: str) -> list[Channel]:
        """The channels at an array of ports, in their order."""
        return self._connected.get(port, [])

    def wake_at(self, cycle: int) -> None:
        """Run at this cycle of the future too, whatever the tick returns: the timer of an idle component."""
        if self._clock is not None:
            self._clock.wake(self._index, cycle)


def clock_of(component: Component) -> Clock:
    """The clock domain that a component is in.

    Raises:
        SimulationError: if it is in none.
    """
    if component._clock is None:
        raise SimulationError(f"{component.name} is in no clock domain: kernel.add(component) first")
    return component._clock
