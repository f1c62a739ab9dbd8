"""RTL in a component's place: a component whose inside is a module in a simulator, in lock-step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import compress

from hw.rtl.kit import waves
from hw.rtl.kit.backend import Backend
from hw.rtl.kit.exercise import Exercise
from hw.rtl.kit.interface import Interface, Stream, Token
from hw.rtl.kit.shadow import Shadow
from sim.channel import Channel
from sim.component import Component, Signal
from sim.errors import SimulationError

HIDDEN = -1  # an input stream shows no token


class _Input:
    """A stream of tokens to the module, and their channel; ``head`` numbers the one that is shown."""

    def __init__(self, stream: Stream, channel: Channel) -> None:
        self.stream = stream
        self.channel = channel
        self.head = HIDDEN
        self.answer = stream.wire("ready")
        self._valid = stream.wire("valid")
        self._hidden = dict.fromkeys([self._valid, *map(stream.wire, stream.widths)], 0)
        self._token: Token | None = None

    def show(self, head: int) -> Mapping[str, int]:
        """The module's inputs when this token is at the head of the channel."""
        self.head = head
        if head == HIDDEN:
            self._token = None
            return self._hidden
        self._token = self.stream.seen(Token(*self.channel.token(0)))
        return {self._valid: 1, **dict(self.stream.encode(self._token))}

    def moved(self, _outputs: Mapping[str, int]) -> Token | None:
        """The head, in the fields that the module has, once it is ready."""
        return self._token

    def move(self, _token: Token) -> None:
        """Pop it."""
        self.channel.pop()

    def stalls(self) -> tuple[int, int]:
        """The accounting states of who waits for a token here, or at any port of the array."""
        return self.channel.reader_state, self.channel.any_reader_state


class _Output:
    """A stream of tokens from the module, and their channel; ``room`` is whether it has space."""

    def __init__(self, stream: Stream, channel: Channel) -> None:
        self.stream = stream
        self.channel = channel
        self.room = False
        self.answer = stream.wire("valid")
        self._ready = stream.wire("ready")

    def has_room(self) -> bool:
        """Whether the channel has space for a token of this lane."""
        lane = self.stream.lane
        return self.channel.space() > lane if lane else self.channel.can_push()

    def show(self, room: bool) -> Mapping[str, int]:
        """The module's inputs when there is space, or none."""
        self.room = room
        return {self._ready: int(room)}

    def moved(self, outputs: Mapping[str, int]) -> Token | None:
        """What the module offers, if there is space."""
        return self.stream.decode(outputs) if self.room else None

    def move(self, token: Token) -> None:
        """Push it."""
        self.channel.push(*token)

    def stalls(self) -> tuple[int, int]:
        """The accounting states of who waits for space here, or at any port of the array."""
        return self.channel.writer_state, self.channel.any_writer_state


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

    ``shadow``, set before the machine is built, makes the component itself, for waveforms: it then runs
    beside the module, and the signal ``differs`` is 1 from the first cycle on in which the two do not move
    the same tokens.

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
        self._inputs: list[_Input] = []
        self._outputs: list[_Output] = []
        self._answers: dict[str, _Input | _Output] = {}  # by the module's output that lets a token move
        self._ends: dict[str, _Input | _Output] = {}  # by label
        self.shadow: Callable[[], Component] | None = None
        self._shadow: Shadow | None = None
        self.status: dict[str, bool] = {}
        self._tokens: Counter[str] = Counter()  # moved, by label
        self._entered: Counter[int] = Counter()  # how many times, by accounting state
        self._before = -1  # the state of the tick before
        self._next = 0  # the cycle to run next
        self._last_change = -1  # the last cycle in which a token moved, or an input was not as before

    def elaborate(self) -> None:
        """Fetch the channel of every stream."""
        for stream in self.interface.streams:
            port, index = stream.port
            channels = self.channels(port)
            if index >= len(channels):
                self._check_optional(stream)
                continue
            if channels[index].capacity <= stream.lane:
                raise SimulationError(
                    f"{channels[index].name}: a capacity of {channels[index].capacity} is too small for "
                    f"{self.name}, which sends {stream.lane + 1} tokens in one cycle"
                )
            self._attach(stream, channels[index])
        connected = sum(map(len, self.connected.values()))
        served = len({end.stream.port for end in self._ends.values()})
        if connected > served:
            raise SimulationError(
                f"{self.name}: {connected} channels are connected, but the module has {served} streams"
            )
        if self.shadow is not None:
            self._shadow = Shadow(self.shadow, [(end.stream, end.channel) for end in self._ends.values()])

    def _check_optional(self, stream: Stream) -> None:
        """A stream may be left open where the component's port may; its wires stay 0."""
        port = stream.port[0]
        if not any(port == declared.name and declared.optional for declared in self.PORTS):
            raise SimulationError(f"{self.name}: the module has {stream.label}, which is not connected")

    def _attach(self, stream: Stream, channel: Channel) -> None:
        end = _Input(stream, channel) if stream.direction == "input" else _Output(stream, channel)
        if isinstance(end, _Input):
            self._inputs.append(end)
        else:
            self._outputs.append(end)
        self._answers[end.answer] = self._ends[stream.label] = end

    def tick(self, now: int) -> int:
        """Run the cycles slept through, then this one."""
        while self._next < now:
            self._sleep_through(now)
        changed = self._changed()
        outputs = self._backend.cycle(changed)
        if self.interface.status:
            self.status = {name: bool(outputs[name]) for name in self.interface.status}
        moved = self._moved(outputs)
        if self._shadow is not None:
            self._shadow.cycle(now, moved)
        for label, token in moved.items():
            self._ends[label].move(token)
            self._tokens[label] += 1
        if moved or changed:
            self._last_change = now
        self._next = now + 1
        self.observe(moved)
        wake = self.account(now, moved, self._blocked(outputs))
        if moved or now < self._last_change + self.drain:
            self.wake_at(now + 1)
        if self.state != self._before:
            self._before = self.state
            self._entered[self.state] += 1
        return wake

    def exercise(self) -> Exercise:
        """What the module has done so far."""
        stalls = {
            label: sum(self._entered[state] for state in end.stalls())
            for label, end in self._ends.items()
            if not end.stream.lane
        }
        return Exercise({label: self._tokens[label] for label in self._ends}, stalls)

    def observe(self, moved: Mapping[str, Token]) -> None:
        """See the tokens that moved in this cycle, by port; for counters. Called once a tick."""

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
        return (int(self._shadow.parted), *self._shadow.component.sample(), *inner)

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

    def _changed(self) -> dict[str, int]:
        """The module's inputs that are not as in the cycle before: few of them, mostly."""
        changed: dict[str, int] = {}
        for end in self._inputs:
            channel = end.channel
            if end.head == channel.pops:
                continue  # what is shown is so until it is popped
            head = channel.pops if channel.occupancy and channel.can_pop() else HIDDEN
            if head != end.head:
                changed.update(end.show(head))
        for output in self._outputs:
            room = output.has_room()
            if room != output.room:
                changed.update(output.show(room))
        return changed

    def _moved(self, outputs: Mapping[str, int]) -> dict[str, Token]:
        """The tokens for which valid and ready are both high, by port."""
        moved: dict[str, Token] = {}
        for answer in compress(self._answers, map(outputs.__getitem__, self._answers)):
            end = self._answers[answer]
            token = end.moved(outputs)
            if token is not None:
                moved[end.stream.label] = token
        return moved

    def _blocked(self, outputs: Mapping[str, int]) -> Channel | None:
        return next((end.channel for end in self._outputs if outputs[end.answer] and not end.room), None)

    def _sleep_through(self, until: int) -> None:
        """Run cycles in which nothing at the ports has changed, up to one in which the outputs have."""
        ran, outputs = self._backend.idle(until - self._next)
        self._next += ran - 1
        moved = self._moved(outputs)
        if moved:
            raise SimulationError(
                f"{self.name}: at cycle {self._next} the module moves {', '.join(moved)}, though nothing at "
                f"its ports has changed since cycle {self._last_change}; raise drain above {self.drain}"
            )
        self._next += 1
