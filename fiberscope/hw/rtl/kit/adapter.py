# cython: infer_types=True
"""RTL in a component's place: a component whose inside is a module in a simulator, in lock-step."""

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
    """Runs a module, one clock cycle of it in every cycle of the component's clock.

    An input stream is ``valid`` while its channel shows a token, which is popped when the module is ``ready``
    for it. An output stream is ``ready`` while its channel has space (lane n: for n + 1 tokens), and what is
    ``valid`` then is pushed.
    The stream of an optional port that is not connected is never ``valid``, or never ``ready``.
    So the module sees at its ports in each cycle what a component would see in its channels.

    Timing: the kernel may let the component sleep while nothing at its ports changes; the cycles slept
    through are run when it wakes, before the one it wakes in. A module that acts on its own while its ports
    stand still, such as a pipeline that empties itself, says so by its status ``pending``, or for how long by
    ``drain``.

    Accounting, by what is seen at the ports: busy if a token moves; else waiting for space at an output at
    which the module offers one; else for input where one is ``awaited``; else busy while the module says that
    it is ``pending``; else idle.

    Subclasses declare ``PORTS``, those of the component that the module stands in for, and what else is
    special to that: ``ARBITERS``, outputs at which another token may take the place of one that is offered,
    and ``RETRACTS``, outputs at which an offer may also end;
    ``FIBERS_OF``, by output the input whose fibers its own follow, or whose tokens if these have no stops;
    whether it ``HAS_DONE`` as the last token of its outputs;
    ``QUIET`` ports, whose tokens alone do not keep it busy; ports that are ``SERVED``, with
    the payloads that ``served_payloads`` returns; whether it ``AWAITS`` inputs at
    all; whether these are ``FIBERS``, in the midst of which the next token is awaited; whether it is a
    pipeline, where what comes in at the first of ``THROUGH`` leaves at the second, and is busy while
    something is inside; outputs that are
    sent ``TOGETHER``, whose ``valid`` is low until all are ready, though their tokens are ``complete``;
    arrays of outputs for ``ANY_OF`` which it waits where it waits for one;
    ``awaited``, the input that it waits for; ``under_way``, whether something is inside; ``counters``, mostly
    from ``end``, which has the rows, tokens and elements that moved at a stream. Where that is not enough,
    ``observe`` sees the tokens of each cycle, or those of the ``OBSERVED`` streams alone, and ``account``
    says what a cycle counts as; ``status`` are the module's status outputs in it, and ``COUNTED_BY`` the
    counters that each is needed for, which are left out without it.

    Args:
        name: instance name.
        interface: the module's streams.
        backend: the module in a simulator, freshly reset.
        drain: cycles after the last change at its ports in which the module may still act by itself.

    ``shadow``, set before the machine is built, makes the component itself. It then runs beside the module on
    the same inputs, and its outputs are compared with those of the module. The signal ``differs`` is 1 from
    the first cycle in which the two send other tokens. The protocol of the module's ports is checked in every
    run (``fiberscope.hw.rtl.kit.protocol_checker``).

    Raises:
        SimulationError: when built, if a stream's port is neither connected nor optional, a connected one has
            no stream, or a channel has no capacity for all lanes; in the run, if a token does not fit the
            module's wires, or the module moves one while it should have nothing to do.
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
        """Return the checker of a module with these ports that stands in for the component."""
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
        """Those that it declares, and the module's own where their number is not fixed."""
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
        """Fetch the channel of every stream."""
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
        """The channel at a port of a stream; None where that may be left open: its wires stay 0."""
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
        """Run the cycles slept through, then this one."""
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
        blocked = self._blocked()
        if self._move():
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
            self._entered[self.state] += 1
        return wake

    def _update(self) -> bool:
        """Say to the module what it sees in this cycle; gives whether that has changed."""
        changed = False  # C: bint
        for end in self.ends:
            if end.update():
                changed = True
                if end.is_open and end.stream.port[0] in self.SERVED:
                    self._words.drive(self.served_payloads(end.stream, end.first.token()))
        return changed

    def configure(self, *arguments: object, **options: object) -> None:  # C: def
        """Learn what the component would be made with: what streams carry beside tokens may be there."""

    def served_payloads(self, _stream: Stream, _token: Token) -> dict[str, int]:  # C: def
        """The payloads beside a token that comes to one of the ``SERVED`` ports, by wire."""
        return {}

    def payload(self, label: str, field: str) -> int:  # C: def
        """The payload that leaves at a stream in this cycle."""
        return self._words.seen()[self._by_label[label].stream.wire(field)]

    def _moved(self) -> dict[str, Transfer]:
        """The tokens that move in this cycle, of the streams that are watched."""
        moved: dict[str, Transfer] = {}
        if self._watched:
            for end in self.ends:
                if end.moves() and end.stream.label in self._watched:
                    moved[end.stream.label] = end.token()
        return moved

    def _blocked(self) -> Channel | None:
        """A channel for which the module has a token but which has no space, if there is one."""
        for end in self.ends:
            if end.is_blocked():
                return end.waits_at()
        return None

    def _move(self) -> bool:
        """Move all tokens for which valid and ready are both high; gives whether there are any."""
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
        """Return what has moved at a stream, and whether a token can move; by ``tasks`` or ``ways[3]``."""
        return self._by_label[label]

    def exercise(self, drain: int = 0) -> Exercise:
        """Return what the module has done so far.

        Args:
            drain: cycles for which the component beside it may still act on what it has.
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
        """Count events at the ports from now on; ``exercise`` has them as ``bins``."""
        self._checker.coverage = PortCoverage(self.interface, self._words)

    def available_counters(self, counters: dict[str, int]) -> dict[str, int]:  # C: def
        """The counters without those for which the module lacks the status output."""
        lacking = {
            counter
            for name, needy in self.COUNTED_BY.items()
            if name not in self.interface.status
            for counter in needy
        }
        return {name: count for name, count in counters.items() if name not in lacking}

    def observe(self, moved: Mapping[str, Any]) -> None:  # C: def
        """See what moved in this cycle, by port: a token, or of a bundle one a lane; called once a tick.

        Where ``OBSERVED`` names streams, only in cycles in which a token moves at one of them.
        """

    @property
    def reference_component(self) -> Component | None:
        """Return the component that runs beside the module; None without ``shadow``."""
        return None if self._shadow is None else self._shadow.component

    def signals(self) -> tuple[Signal, ...]:
        """``differs``, what the component beside the module shows, and the wires within the module."""
        inner = waves.signals(self._backend.signals(), "rtl")
        if self._shadow is None:
            return tuple(inner)
        own = [replace(signal, within="component") for signal in self._shadow.component.signals()]
        return (Signal("differs", 1, "mark"), *own, *inner)

    def sample(self) -> tuple[int, ...]:
        """Their values."""
        inner = waves.values(self._backend.signals(), self._backend.sample())
        if self._shadow is None:
            return tuple(inner)
        return (int(self._shadow.output is not None), *self._shadow.component.sample(), *inner)

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:  # C: def
        """Say what this cycle counts as, as ``tick`` of any component does.

        Args:
            now: the cycle.
            moved: the tokens that moved in it, by port, of the observed streams.
            blocked: a channel for which the module has a token but which has no space, if there is one.
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
        """The channel that the module waits for when nothing moves.

        That is the first input without a token, if another shows one, or one is in the midst of a fiber.
        """
        if not self.AWAITS or (self.THROUGH and self.under_way()):
            return None
        inputs = [end for end in self.ends if end.is_input]
        if any(end.is_begun() or (self.FIBERS and end.in_fiber) for end in inputs):
            return self._first_held_up(inputs)
        return None

    def under_way(self) -> bool:  # C: def
        """Return whether the module still holds something, in a cycle in which it may act."""
        if self.THROUGH:
            first, last = map(self.end, self.THROUGH)
            return first.rows > last.rows
        return self.status[PENDING] > 0

    def complete(self) -> bool:  # C: def
        """Return whether every input shows a token, which tokens that are sent together need."""
        return all(end.is_open for end in self.ends if end.is_input)

    @staticmethod
    def _first_held_up(ends: Iterable[End]) -> Channel | None:
        held_up = (end.waits_at() for end in ends)
        return next((channel for channel in held_up if channel is not None), None)

    def _sleep_through(self, until: int) -> None:
        """Run cycles in which nothing at the ports has changed, up to one in which the outputs have."""
        self._next += self._backend.idle(until - self._next)
        self._checker.cycle(self._next - 1)
        moved = [end.stream.label for end in self.ends if end.moves()]
        if moved:
            raise SimulationError(
                f"{self.name}: at cycle {self._next - 1} the module moves {', '.join(moved)}, though nothing "
                f"at its ports has changed since cycle {self._last_change}; raise drain above {self.drain}"
            )
