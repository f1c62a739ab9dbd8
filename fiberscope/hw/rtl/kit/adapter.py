# cython: infer_types=True
"""Adapter: a component that runs an RTL module in a simulator, in lock-step with the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from fiberscope.hw.rtl.kit import waves
from fiberscope.hw.rtl.kit.ends import End, Lane
from fiberscope.hw.rtl.kit.exercise import Exercise
from fiberscope.hw.rtl.kit.interface import Interface, Stream, Token, Transfer
from fiberscope.hw.rtl.kit.port_coverage import PortCoverage
from fiberscope.hw.rtl.kit.protocol_checker import ProtocolChecker
from fiberscope.hw.rtl.kit.shadow import Shadow
from fiberscope.hw.rtl.kit.words import Words
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal, clock_of
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.backend import Backend

PENDING = "pending"  # status output: the module may act although no input changes


class Adapter(Component):
    """A component that runs one clock cycle of a module in every cycle of its clock.

    An input stream is ``valid`` while its channel shows a token, and the token is popped when the module is
    ``ready``. An output stream is ``ready`` while its channel has space (lane n: for n + 1 tokens), and a
    ``valid`` token is then pushed. The stream of an optional port that is not connected is never ``valid`` or
    ``ready``. The module therefore sees at its ports what a component sees in its channels.

    Timing: the kernel may let the component sleep while nothing changes at its ports. The component simulates
    the skipped cycles when it wakes. A module that acts while its ports are unchanged, such as a pipeline
    that drains, reports this by its status ``pending``, or has a bounded ``drain``.

    Accounting, from the ports, the first that applies: busy if a token moves; waiting for space at an output
    with a blocked token; waiting for input at an ``awaited`` input; busy while the status ``pending`` is
    high; idle.

    Subclasses declare ``PORTS``, the ports of the replaced component, and the properties of the component:

    - ``ARBITERS``: outputs at which another token may replace an offered token;
    - ``RETRACTS``: outputs at which an offer may also end;
    - ``FIBERS_OF``: by output, the input whose fibers (or tokens, without stops) the output's fibers follow;
    - ``HAS_DONE``: whether the last token of outputs is ``done``;
    - ``QUIET``: ports whose tokens alone do not make the component busy;
    - ``SERVED``: ports with the payloads that ``served_payloads`` returns;
    - ``AWAITS``: whether the component awaits inputs; ``FIBERS``: whether an open fiber awaits its next
      token;
    - ``THROUGH``: a pipeline from the first to the second port, busy while rows are inside;
    - ``TOGETHER``: outputs that are sent together, with ``valid`` low until all are ready, although their
      tokens are ``complete``;
    - ``ANY_OF``: arrays of outputs; a wait for one port counts as a wait for any.

    Methods to override: ``awaited``, ``under_way``, and ``counters``, usually by ``end``, which counts rows,
    tokens and elements of a stream. If these are not enough, ``observe`` receives the tokens of each cycle
    (or of the ``OBSERVED`` streams only), and ``account`` classifies a cycle. ``status`` has the module's
    status outputs; ``COUNTED_BY`` lists the counters that need each, which are omitted without it.

    Args:
        name: instance name.
        interface: streams of the module.
        backend: the module in a simulator, after reset.
        drain: cycles after the last change at the ports in which the module may still act.

    ``shadow``, set before the machine is built, creates the component. The component then runs beside the
    module on the same inputs, and their outputs are compared. The signal ``differs`` is 1 from the first
    cycle in which the outputs differ. Every run checks the protocol of the module's ports
    (``fiberscope.hw.rtl.kit.protocol_checker``).

    Raises:
        SimulationError: when built, if a required port is not connected, a connected port has no stream, or a
            channel's capacity is below the number of lanes; in the run, if a token does not fit the module's
            wires, or the module moves a token while it should be inactive.
    """

    ARBITERS: ClassVar[tuple[str, ...]] = ()
    RETRACTS: ClassVar[tuple[str, ...]] = ()
    FIBERS_OF: ClassVar[Mapping[str, str]] = {}
    HAS_DONE: ClassVar[bool] = False
    QUIET: ClassVar[tuple[str, ...]] = ()
    SERVED: ClassVar[tuple[str, ...]] = ()
    AWAITS: ClassVar[bool] = True
    FIBERS: ClassVar[bool] = False
    THROUGH: ClassVar[tuple[str, str] | None] = None
    TOGETHER: ClassVar[tuple[str, ...]] = ()
    ANY_OF: ClassVar[tuple[str, ...]] = ()
    COUNTED_BY: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    OBSERVED: ClassVar[tuple[str, ...] | None] = None  # names of the observed streams; None means all
    EVENTS: ClassVar[tuple[str, ...]] = ()  # counters that count pieces of the component's work

    def __init__(self, name: str, interface: Interface, backend: Backend, *, drain: int = 0) -> None:
        super().__init__(name)
        self.interface = interface
        self.drain = drain  # C: public
        self._backend = backend  # C: public
        self._words = backend.words
        self.ends: list[End] = []
        self._by_label: dict[str, End] = {}
        self._observed: set[str] = set()  # labels of the streams whose tokens the adapter sees
        self._observes = False  # whether it sees them in every cycle, with or without a token
        self._watched = self._observed  # labels of the streams that the adapter or the shadow sees
        self.shadow: Callable[[], Component] | None = None  # C: public
        self._shadow: Shadow | None = None
        self._checker = self.protocol_checker(name, interface, backend.words)
        self.status: Counter[str] = Counter()  # C: public; what the module does not have reads as 0
        self._status = {name: self._words.place("output", name) for name in interface.status}
        self._outputs = self._words.outputs  # C: unsigned long[::1]
        self._entered: Counter[int] = Counter()  # number of entries into each accounting state
        self._before = -1  # state of the previous tick
        self._next = 0  # next cycle to run
        self._last_change = -1  # last cycle in which a token moved or an input changed
        self.moving = 0  # number of streams with a token in this cycle, without quiet streams

    @classmethod
    def protocol_checker(cls, name: str, interface: Interface, words: Words) -> ProtocolChecker:
        """Return the checker for a module with these ports in the place of the component."""
        return ProtocolChecker(
            name,
            interface,
            words,
            arbiters=cls.ARBITERS,
            retracts=cls.RETRACTS,
            fibers_of=cls.FIBERS_OF,
            has_done=cls.HAS_DONE,
        )

    def declared_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the declared ports, and further ports of the module if their number varies."""
        declared = {port.name for port in self.PORTS}
        more = {
            stream.port[0]: (Input if stream.direction == "input" else Output)(
                stream.port[0], ANY, array=stream.label != stream.port[0]
            )
            for stream in self.interface.streams
            if stream.port[0] not in declared
        }
        return (*self.PORTS, *more.values())

    def elaborate(self) -> None:
        """Fetch the channel of every stream, check the connections, and create the shadow if there is one."""
        for stream in self.interface.streams:
            channels = [self._channel(stream, *port) for port in stream.ports]
            linked = [channel for channel in channels if channel is not None]
            if linked:
                self._attach(stream, linked)
            elif stream.label in self.TOGETHER:  # streams that are sent together do not wait for one another
                self._words.inputs[self._words.place("input", stream.wire("ready"))] = 1
        connected = sum(map(len, self.connected.values()))
        served = len({port for end in self.ends for port in end.stream.ports})
        if connected > served:
            raise SimulationError(
                f"{self.name}: {connected} channels are connected, but the module has {served} streams"
            )
        kind = type(self)
        if kind.observe is not Adapter.observe or kind.account is not Adapter.account:
            self._observed = set(self._by_label if self.OBSERVED is None else self.OBSERVED)
            self._observes = self.OBSERVED is None
        self._watched = self._observed
        if self.shadow is not None:
            self._watched = set(self._by_label)
            ends = [(end.stream, [lane.channel for lane in end.lanes]) for end in self.ends]
            self._shadow = Shadow(self.shadow, ends)

    def _channel(self, stream: Stream, port: str, index: int) -> Channel | None:  # C: def
        """Return the channel at a port of a stream; None for an open optional port, whose wires stay 0."""
        channels = self.channels(port)
        if index >= len(channels):
            if not any(port == declared.name and declared.optional for declared in self.PORTS):
                raise SimulationError(f"{self.name}: the module has {stream.label}, which is not connected")
            return None
        if channels[index].capacity <= stream.lane:
            raise SimulationError(
                f"{channels[index].name}: a capacity of {channels[index].capacity} is too small for "
                f"{self.name}, which sends {stream.lane + 1} tokens in one cycle"
            )
        return channels[index]

    def _attach(self, stream: Stream, channels: list[Channel]) -> None:  # C: def
        lanes = [Lane(channel, stream, i, self._words) for i, channel in enumerate(channels)]
        end = End(stream, lanes, self._words)
        end.is_quiet = stream.port[0] in self.QUIET
        self.ends.append(end)
        self._by_label[stream.label] = end

    def tick(self, now: int) -> int:
        """Simulate the skipped cycles, then this cycle."""
        while self._next < now:
            self._sleep_through(now)
        changed = self._update()
        self._backend.cycle()
        self._checker.cycle(now)
        for name, word in self._status.items():
            self.status[name] = self._outputs[word]
        moved = self._moved()
        if self._shadow is not None:
            self._shadow.cycle(now, moved)
        blocked = self._blocked()  # before the moves change the channels
        if self._move():  # the module then has a new state, with which its outputs may change
            self.wake_at(now + 1)
            changed = True
        if changed:
            self._last_change = now
        if now < self._last_change + self.drain:
            self.wake_at(now + 1)
        self._next = now + 1
        if self._shadow is not None:  # the shadow may watch more streams than the adapter
            moved = {label: token for label, token in moved.items() if label in self._observed}
        if moved or self._observes:
            self.observe(moved)
        wake = self.account(now, moved, blocked)
        if self.state != self._before:
            self._before = self.state
            self._entered[self.state] += 1  # a stall of many cycles counts once
        return wake

    def _update(self) -> bool:
        """Update the module's inputs for this cycle; return whether they changed."""
        changed = False  # C: bint
        for end in self.ends:
            if end.update():
                changed = True
                if end.is_open and end.stream.port[0] in self.SERVED:
                    self._words.drive(self.served_payloads(end.stream, end.first.token()))
        return changed

    def configure(self, *arguments: object, **options: object) -> None:  # C: def
        """Receive the component's constructor arguments, for data that streams carry beside tokens."""

    def served_payloads(self, _stream: Stream, _token: Token) -> dict[str, int]:  # C: def
        """Return the payloads beside a token at one of the ``SERVED`` ports, by wire."""
        return {}

    def payload(self, label: str, field: str) -> int:  # C: def
        """Return the payload that leaves at a stream in this cycle."""
        return self._words.seen()[self._by_label[label].stream.wire(field)]

    def _moved(self) -> dict[str, Transfer]:
        """Return the tokens that move in this cycle at observed streams."""
        moved: dict[str, Transfer] = {}
        if self._watched:
            for end in self.ends:
                if end.moves() and end.stream.label in self._watched:
                    moved[end.stream.label] = end.token()
        return moved

    def _blocked(self) -> Channel | None:
        """Return a channel without space for which the module has a token, if any."""
        for end in self.ends:
            if end.is_blocked():
                return end.waits_at()
        return None

    def _move(self) -> bool:
        """Move all tokens whose valid and ready are high; return whether there are any."""
        moved = False
        self.moving = 0
        for end in self.ends:
            if end.moves():
                end.move()
                moved = True
                if not end.is_quiet:
                    self.moving += 1
        return moved

    def end(self, label: str) -> End:  # C: label=str
        """Return the end of a stream, which counts its tokens, by label: ``tasks`` or ``ways[3]``."""
        return self._by_label[label]

    def exercise(self, drain: int = 0) -> Exercise:
        """Return the events at the ports so far; the shadow first runs up to the present cycle.

        Args:
            drain: cycles in which the shadow component may still act on its tokens.
        """
        stalls = {
            end.stream.label: sum(self._entered[state] for state in end.stalls())
            for end in self.ends
            if not end.stream.lane
        }
        tokens = {end.stream.label: end.tokens for end in self.ends if end.stream.content}
        noted = self._checker.findings()
        if self._shadow is None:
            return Exercise(tokens, stalls, **noted)
        self._shadow.catch_up(clock_of(self).cycle + 1 + drain)
        return Exercise(tokens, stalls, self._shadow.output, self._shadow.input, **noted)

    def cover(self) -> None:  # C: def
        """Count events at the ports from now on; ``exercise`` returns them as ``bins``."""
        self._checker.coverage = PortCoverage(self.interface, self._words)

    def available_counters(self, counters: dict[str, int]) -> dict[str, int]:  # C: def
        """Return the counters except those whose status output the module lacks."""
        lacking = {
            counter
            for name, needy in self.COUNTED_BY.items()
            if name not in self.interface.status
            for counter in needy
        }
        return {name: count for name, count in counters.items() if name not in lacking}

    def observe(self, moved: Mapping[str, Any]) -> None:  # C: def
        """Receive the tokens that moved in this cycle, by port; for a bundle, one for each lane.

        Called in each tick, not in skipped cycles; with ``OBSERVED``, only when a token moves there.
        """

    @property
    def reference_component(self) -> Component | None:
        """Return the component that runs beside the module; None without ``shadow``."""
        return None if self._shadow is None else self._shadow.component

    def signals(self) -> tuple[Signal, ...]:
        """Return ``differs``, the signals of the shadow component, and the wires in the module."""
        inner = waves.signals(self._backend.signals(), "rtl")
        if self._shadow is None:
            return tuple(inner)
        own = [replace(signal, within="component") for signal in self._shadow.component.signals()]
        return (Signal("differs", 1, "mark"), *own, *inner)

    def sample(self) -> tuple[int, ...]:
        """Return the values of the signals."""
        inner = waves.values(self._backend.signals(), self._backend.sample())
        if self._shadow is None:
            return tuple(inner)
        return (int(self._shadow.output is not None), *self._shadow.component.sample(), *inner)

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:  # C: def
        """Classify this cycle, as the return value of a component's ``tick``.

        Args:
            now: the cycle.
            moved: the tokens that moved, by port, of the observed streams.
            blocked: a channel without space for which the module has a token, if any.
        """
        if self.status[PENDING]:
            self.wake_at(now + 1)
        if self.moving:
            return self.busy(now + 1)
        if blocked is None and self.TOGETHER and self.complete():
            attached = (self._by_label.get(label) for label in self.TOGETHER)
            blocked = self._first_held_up(end for end in attached if end is not None)
        if blocked is not None:
            return self._wait_for_space(blocked)
        awaited = self.awaited()
        if awaited is not None:
            return self.wait_input(awaited)
        acts = self.status[PENDING] > 0 or now < self._last_change + self.drain
        return self.busy(now + 1) if acts and self.under_way() else self.idle()

    def _wait_for_space(self, blocked: Channel) -> int:
        for port in self.ANY_OF:
            if blocked in self.channels(port):
                return self.wait_any_output(self.channels(port))
        return self.wait_output(blocked)

    def awaited(self) -> Channel | None:  # C: def
        """Return the channel for which the module waits when no token moves.

        The channel is the first input without a token, if another input has one or is inside a fiber.
        """
        if not self.AWAITS or (self.THROUGH and self.under_way()):
            return None
        inputs = [end for end in self.ends if end.is_input]
        if any(end.is_begun() or (self.FIBERS and end.in_fiber) for end in inputs):
            return self._first_held_up(inputs)
        return None

    def under_way(self) -> bool:  # C: def
        """Return whether the module holds data, in a cycle in which it may act."""
        if self.THROUGH:
            first, last = map(self.end, self.THROUGH)
            return first.rows > last.rows
        return self.status[PENDING] > 0

    def complete(self) -> bool:  # C: def
        """Return whether every input has a token, as tokens that are sent together require."""
        return all(end.is_open for end in self.ends if end.is_input)

    @staticmethod
    def _first_held_up(ends: Iterable[End]) -> Channel | None:
        held_up = (end.waits_at() for end in ends)
        return next((channel for channel in held_up if channel is not None), None)

    def _sleep_through(self, until: int) -> None:
        """Simulate cycles with unchanged inputs, up to a cycle in which the outputs change."""
        self._next += self._backend.idle(until - self._next)
        self._checker.cycle(self._next - 1)  # the cycles before it had the outputs of the last tick
        moved = [end.stream.label for end in self.ends if end.moves()]
        if moved:
            raise SimulationError(
                f"{self.name}: at cycle {self._next - 1} the module moves {', '.join(moved)}, though nothing "
                f"at its ports has changed since cycle {self._last_change}; raise drain above {self.drain}"
            )
