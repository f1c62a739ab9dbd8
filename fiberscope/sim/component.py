"""The base class of components: clocked units with ports that return the cycle of their next tick."""

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

Value = TypeVar("Value")


@dataclass(frozen=True)
class Port:
    """One declared port, or a declared array of ports.

    Args:
        name: name of the port, unique in its component.
        carries: protocol of the tokens. Two ports connect only if their protocols are equal, or one is
            ``ANY``.
        array: whether the declaration is an array, connected as ``name[i]`` from 0 without gaps.
        optional: whether the port may stay unconnected.

    Raises:
        TypeError: if ``carries`` is not a protocol.
    """

    name: str
    carries: Protocol
    array: bool = False
    optional: bool = False

    def __post_init__(self) -> None:
        """Check that ``carries`` is a protocol."""
        if not isinstance(self.carries, Protocol):
            raise TypeError(f"port {self.name} must carry a Protocol, not {self.carries!r}")


class Input(Port):
    """A port that the component pops from."""


class Output(Port):
    """A port that the component pushes into."""


@dataclass(frozen=True)
class Signal:
    """A waveform signal of a component, sampled after each cycle in which the component ticked.

    Args:
        name: name within the component's scope.
        width: bits.
        kind: ``"wire"`` (bits), ``"integer"`` (a signed number), ``"state"`` (a number with names) or
            ``"mark"`` (a bit; the waveform opens at the first mark that becomes 1).
        states: for kind ``"state"``, the name of each number.
        within: a scope inside the component's scope, such as ``rtl`` or ``rtl.tree``; empty for the
            component's scope.
    """

    name: str
    width: int = 32
    kind: str = "wire"
    states: tuple[str, ...] = field(default=())
    within: str = ""


class Reserved(Generic[Value]):
    """An attribute of a component that the engine sets, stored under the same name with a leading underscore.

    Everybody may read the attribute. A component that sets it is refused: the component needs another name.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, component: Component, owner: type[Component] | None = None) -> Value:
        """Return the engine's value."""
        value: Value = getattr(component, f"_{self.name}")
        return value

    def __set__(self, component: Component, value: object) -> NoReturn:
        """Refuse the assignment.

        Raises:
            SimulationError: always.
        """
        raise SimulationError(
            f"{component.name}: the attribute {self.name} is the engine's; give your own another name"
        )


class Accounted:
    """The cycle accounting of a component, which the component updates at the end of each tick.

    The file ``component.pxd`` repeats the bodies of the methods, which C inlines. Python code calls the
    methods of this file.

    Args:
        name: name of the component.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._index = -1
        self._state = IDLE
        self._since = 0
        self._cycles = array("q", bytes(8 * FIRST_STALL))

    def _account(self, state: int, cycle: int) -> None:
        """Add the cycles since the last change of state to the state ``state``."""
        self._cycles[state] += cycle - self._since
        self._since = cycle

    def busy(self, until: int) -> int:
        """Count the cycles before ``until`` as busy and tick again in cycle ``until``.

        ``until`` must be later than the cycle of the tick; the kernel refuses any other cycle except
        ``NEVER``, with which the component sleeps and counts as busy.
        """
        self._state = BUSY
        return until

    def wait_input(self, channel: Channel) -> int:
        """Sleep until a token arrives. Count the cycles as waiting for input from this channel.

        A token at another input, wanted space at an output, and ``wake_at`` end the sleep too. A token that
        is visible already does not.

        Raises:
            SimulationError: if the component does not read this channel, or the port is not connected.
        """
        if channel is None or channel._reader_index != self._index:
            self._refuse_input(channel)
        self._state = channel.reader_state
        return NEVER

    def wait_output(self, channel: Channel) -> int:
        """Sleep until the channel has space. Count the cycles as backpressure from this channel.

        The channel wakes the component for the space that its last ``can_push``, ``fits`` or ``space`` found
        lacking. Other channels and ``wake_at`` end the sleep too, as for ``wait_input``.

        Raises:
            SimulationError: if the component does not write this channel, or the port is not connected.
        """
        if channel is None or channel._writer_index != self._index:
            self._refuse_output(channel)
        self._state = channel.writer_state
        return NEVER

    def wait_any_input(self, channels: Sequence[Channel]) -> int:
        """Sleep until a token arrives at any port of an array. Count the cycles as waiting for input.

        Args:
            channels: all channels of one array of ports, at least one.

        Raises:
            SimulationError: if the component does not read the first of these channels.
        """
        first = channels[0]
        self.wait_input(first)
        self._state = first.any_reader_state
        return NEVER

    def wait_any_output(self, channels: Sequence[Channel]) -> int:
        """Sleep until any port of an array has space. Count the cycles as backpressure.

        Args:
            channels: all channels of one array of ports, at least one. Each wakes the component only for
                space that its last ``can_push``, ``fits`` or ``space`` found lacking.

        Raises:
            SimulationError: if the component does not write the first of these channels.
        """
        first = channels[0]
        self.wait_output(first)
        self._state = first.any_writer_state
        return NEVER

    def idle(self) -> int:
        """Sleep until a channel or ``wake_at`` wakes the component. Count the cycles as idle."""
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
    """A clocked unit. Subclasses declare ports, counters and signals, and override ``tick``.

    Class attributes are the declarations:

    - ``PORTS``: the ports. When the machine is built, an attribute with the port's name holds the channel,
      the list of channels of an array, or None for an optional port that is not connected.
    - ``COUNTERS``: names of the event counters. Each is an attribute.
    - ``SIGNALS``: waveform signals beside the accounting state. Each is an attribute.

    If a declaration depends on arguments, override ``declared_ports``, ``elaborate`` with ``fetch``,
    ``counters``, or ``signals`` with ``sample``.

    ``tick`` does the work of one cycle and returns the cycle of the next tick, or ``NEVER``. The return value
    comes from one of these methods. The method also classifies the cycles until the next tick:

    - ``busy(until)``: the component worked; the next tick is in cycle ``until``;
    - ``wait_input(channel)``: the component has work but a token is missing;
    - ``wait_output(channel)``: backpressure: the component has work but the channel has no space;
    - ``wait_any_input(channels)``, ``wait_any_output(channels)``: the same for any port of an array;
    - ``idle()``: the component has no work until a channel wakes it.

    All methods except ``busy`` put the component to sleep. A component may sleep only if another tick in the
    next cycle would change nothing. A channel wakes its reader for new tokens, not for tokens that were
    visible before. It wakes its writer when the slots that the last ``can_push``, ``fits`` or ``space`` found
    lacking are free.

    Args:
        name: hierarchical instance name, such as ``gamma.pe07.merger``.

    A subclass cannot use the engine's attributes: ``name``, ``clock``, ``index``, ``state``, ``since``,
    ``cycles``, ``connected``, the same names with a leading underscore, and the methods.
    """

    PORTS: ClassVar[tuple[Port, ...]] = ()
    COUNTERS: ClassVar[tuple[str, ...]] = ()
    SIGNALS: ClassVar[tuple[Signal, ...]] = ()

    clock = Reserved[Clock | None]("clock")  # the clock domain; None before Kernel.add
    index = Reserved[int]("index")  # position in the order of ticks
    state = Reserved[int]("state")  # the current accounting state
    since = Reserved[int]("since")  # the cycle in which the current state began
    cycles = Reserved["array[int]"]("cycles")  # cycles by state, up to ``since``
    connected = Reserved["dict[str, list[Channel]]"]("connected")  # by port

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._clock: Clock | None = None
        self._connected: dict[str, list[Channel]] = {}

    def tick(self, now: int) -> int:
        """Advance by cycle ``now``. Return the cycle of the next tick, or ``NEVER``."""
        raise NotImplementedError(f"{type(self).__name__} does not define tick")

    def declared_ports(self) -> tuple[Port, ...]:
        """Return the ports. Override this method if the number of ports depends on an argument."""
        return self.PORTS

    def elaborate(self) -> None:
        """Set the attributes of the ports. The kernel calls this method once, when all ports are connected.

        A compiled class need not declare the attributes of ports that are not in ``PORTS``. ``fetch`` is
        called for these ports as well.

        Raises:
            SimulationError: if a port has the name of another attribute, or a compiled class does not declare
                the attribute of a port in ``PORTS``.
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
                if port not in self.PORTS:
                    continue
                line = f"cdef public {'list' if port.array else 'Channel'} {port.name}"
                raise SimulationError(
                    f"{self.name}: the .pxd of {type(self).__name__} must have {line}"
                ) from None

    def fetch(self, port: Port) -> object:
        """Return the value of a port's attribute: its channel, or the channels of an array."""
        return self.channels(port.name) if port.array else self.optional_channel(port.name)

    def counters(self) -> dict[str, int]:
        """Return the event counts by name."""
        return {name: getattr(self, name) for name in self.COUNTERS}

    def signals(self) -> tuple[Signal, ...]:
        """Return the waveform signals. The accounting state, which all components have, is not among them."""
        return self.SIGNALS

    def sample(self) -> tuple[int, ...]:
        """Return the current values of ``signals``, in the same order."""
        values = array("q", bytes(8 * len(self.signals())))
        if signals_are_attributes(type(self)):
            Component.write_signals(self, values)
        else:
            self.write_signals(values)
        return tuple(values)

    def write_signals(self, values: array[int]) -> None:
        """Store the current values of ``signals`` in ``values``.

        A compiled component overrides this method instead of ``sample``, because no number becomes an object
        of Python.

        Raises:
            SimulationError: if a signal's attribute is no 64-bit integer.
        """
        for place, signal in enumerate(self.signals()):
            try:
                values[place] = getattr(self, signal.name)
            except (TypeError, OverflowError) as error:
                raise SimulationError(f"{self.name}.{signal.name} is no 64-bit integer: {error}") from None

    def channel(self, port: str) -> Channel:
        """Return the channel at a port that is not an array.

        Raises:
            KeyError: if the port is not connected.
        """
        return self._connected[port][0]

    def optional_channel(self, port: str) -> Channel | None:
        """Return the channel at an optional port; None if the port is not connected."""
        channels = self._connected.get(port)
        return channels[0] if channels else None

    def channels(self, port: str) -> list[Channel]:
        """Return the channels of an array of ports, by index."""
        return self._connected.get(port, [])

    def wake_at(self, cycle: int) -> None:
        """Tick in this future cycle too, whatever the current tick returns: a timer for idle components.

        Without effect before the component is in a kernel.

        Args:
            cycle: a cycle of the component's clock, later than the current one, which is not checked.

        Raises:
            SimulationError: if the cycle is too far in the future for 64-bit times.
        """
        if self._clock is not None:
            self._clock.wake(self._index, cycle)


def signals_are_attributes(kind: type[Component]) -> bool:
    """Return whether the signals of a class are its ``SIGNALS``, each the attribute of its name.

    They are not if the class overrides ``signals``, ``sample`` or ``write_signals`` itself or inherits the
    override from a class that declares no fewer ``SIGNALS``.
    """
    names = ("SIGNALS", "signals", "sample", "write_signals")
    for base in kind.__mro__:
        declared = [name for name in names if name in vars(base)]
        if declared:
            return base is Component or declared == ["SIGNALS"]
    return False


def clock_of(component: Component) -> Clock:
    """Return the clock domain of a component.

    Raises:
        SimulationError: if the component is in no kernel.
    """
    if component._clock is None:
        raise SimulationError(f"{component.name} is in no clock domain: kernel.add(component) first")
    return component._clock
