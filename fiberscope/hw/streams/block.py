# cython: infer_types=True
"""Base of every primitive of the stream machine: a block that makes one update per cycle."""

from __future__ import annotations

from typing import ClassVar

from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.quirks import NO_QUIRKS
from fiberscope.hw.streams.tokens import DATA, EMPTY, STOP, written_head
from fiberscope.hw.value_type import DOUBLE, ValueType
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal
from fiberscope.sim.errors import SimulationError

NEVER_YET = -1  # cycle of an event that has not happened


class StreamBlock(Component):
    """A block that makes one update per cycle.

    As a rule, an update takes at most one token from each input and sends at most one on each output. The
    docstrings of subclasses name the exceptions.

    Interface: ports have the names that SAM uses, with ``in_`` or ``out_`` in front. An output is an array
    of ports, one for each consumer, and may have none. A stream with several consumers is a wire: it costs
    neither a block nor a cycle.

    Timing: an update fires in the cycle in which its tokens are visible. The tokens that it sends are
    visible in the next cycle. An update fires only if all consumers of all output streams have a free slot;
    without bounded channels, nothing stalls. Single output ports, such as requests to memory, do not count:
    the subclass checks them. After the block has sent done (or taken done, if it sends nothing), it never
    fires again, except with Q14.

    A cycle counts as busy if the update fired, as waiting for output if a consumer has no free slot, as
    waiting for input if a token is missing, and as idle once the block is done.

    Counts: tokens by kind for every output, and ``restart_cycles`` after ``restart_after_tiles``.
    ``first_input`` is the cycle in which the block first saw a token, ``done_cycle`` the cycle of the done;
    both are -1 before.

    Subclasses override ``update``, which ``tick`` calls once per cycle, unless the block is done or an output
    channel is full. A subclass declares its ports in ``PORTS``, or in ``declared_ports`` if their number
    depends on its arguments. ``elaborate`` runs once, before the first cycle; it sets an attribute with the
    name of each port. A subclass with quirks of the public simulator tests ``self.quirks``.

    Args:
        name: instance name.
        quirks: the quirks of the public simulator that the block has, a mask of constants in
            ``fiberscope.hw.streams.quirks``.
    """

    SIGNALS: ClassVar[tuple[Signal, ...]] = (Signal("done", 1),)
    TAKES_ONLY: ClassVar[bool] = False  # whether an update without a token does nothing but wait for input

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name)
        self.quirks = quirks
        self.value_type: ValueType = DOUBLE  # C: public ValueType; of all values it computes
        self.done = False
        self.first_input = NEVER_YET
        self.done_cycle = NEVER_YET
        self.streams: list[OutputStream] = []  # the outputs, in the order of the ports
        self.inputs: list[Channel] = []
        self.bounded = False  # whether an output channel has a capacity, so that the block can stall
        self.bounds: list[Channel] = []  # the output channels with a capacity
        self.only_bound: Channel | None = None  # the output channel with a capacity, if there is one only
        self._restart = 0  # cycles without an update after the end of a tile
        self._tile_stream: OutputStream | None = None  # the output whose stops end a tile
        self._restarts_until = 0  # first cycle after the last restart

    def fetch(self, port: Port) -> object:
        """Return the attribute value for a port: for an array of outputs, the stream to all consumers.

        The method also appends the stream to ``streams``, or the channels of an input to ``inputs``.
        """
        if isinstance(port, Output) and port.array:
            stream = OutputStream(port.name, self.channels(port.name))
            self.streams.append(stream)
            return stream
        if isinstance(port, Input):
            self.inputs.extend(self.channels(port.name))
        return super().fetch(port)

    def elaborate(self) -> None:
        """Look up the streams of the ports, and note which output channels are bounded."""
        super().elaborate()
        self.find_bounds()

    def find_bounds(self) -> None:
        """Note which channels of ``streams`` are bounded; the block stalls while one of them is full."""
        channels = [channel for stream in self.streams for channel in stream.channels]
        self.bounds = [channel for channel in channels if channel.bounded]
        self.bounded = bool(self.bounds)
        self.only_bound = self.bounds[0] if len(self.bounds) == 1 else None

    def tick(self, now: int) -> int:
        """Make one update, unless the block is done or stalled."""
        if self.done:
            return self.idle()
        if self.first_input < 0:
            self._look_for_input(now)
        if self.bounded:
            full = self._first_full()
            if full is not None:
                return self.wait_output(full)
        return self.update(now) if self._restart == 0 else self._update_tile(now)

    def restart_after_tiles(self, port: str, level: int, cycles: int) -> None:  # C: def
        """Let the block make no update for some cycles after each tile; these cycles count as busy.

        Call this method after ``elaborate``.

        Args:
            port: output whose stops end a tile.
            level: lowest level of these stops.
            cycles: number of cycles, at least 1.
        """
        self._tile_stream = next(stream for stream in self.streams if stream.name == port)
        self._tile_stream.tile_level = level
        self._restart = cycles

    def _update_tile(self, now: int) -> int:
        """Make one update, unless the block restarts after the end of a tile."""
        if self._tile_stream is not None and now >= self._restarts_until:
            tiles = self._tile_stream.tiles
            wake = self.update(now)
            if self.done or self._tile_stream.tiles == tiles:
                return wake
            # The update itself takes cycle ``now``. Its wake does not count, as the block restarts first.
            self._restarts_until = now + 1 + self._restart
        return self.busy(self._restarts_until)

    def update(self, now: int) -> int:
        """Make one update.

        All output streams have a free slot; the subclass checks single output ports itself. The subclass
        pops tokens, and sends tokens on its output streams.

        Args:
            now: current cycle.

        Returns:
            ``busy(now + 1)`` if the update fired, ``finish(now)`` if it sent or popped done, otherwise the
            result of ``wait_input`` for a missing token.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define update")

    def quiet(self) -> int:  # C: noexcept
        """Return how many more elements the block can take before an element makes it push elsewhere.

        A push to a port that is no output stream counts, such as a memory request. Stops and done do not
        count as elements. The result is ``MAX_TIME`` if no element causes such a push, 0 if the next one may.
        """
        return 0

    def send_control(self, kind: int, level: int) -> None:
        """Send the same control token on every output.

        Args:
            kind: ``STOP``, ``EMPTY`` or ``DONE``.
            level: level of a stop; 0 for the other kinds.
        """
        for stream in self.streams:
            stream.push(kind, level)

    def check_shape(self, channels: list[Channel], now: int, first_has_empties: bool = True) -> None:
        """Check that the visible heads of several streams of the same shape belong together.

        Args:
            channels: the streams, each with a visible token.
            now: current cycle.
            first_has_empties: whether N is allowed in the first stream; it is always allowed in the others.

        Raises:
            SimulationError: unless all heads are elements or N, stops of the same level, or done.
        """
        # The payload is a level only if the first head is a stop.
        first_kind, level = inline.control(channels, 0), inline.coordinate(channels, 0)
        if first_kind == EMPTY and not first_has_empties:
            self.refuse_heads(channels, now)
        for index in range(1, len(channels)):
            kind = inline.control(channels, index)
            if kind == first_kind and (kind != STOP or inline.coordinate(channels, index) == level):
                continue
            if kind not in (DATA, EMPTY) or first_kind not in (DATA, EMPTY):
                self.refuse_heads(channels, now)

    def refuse_heads(self, channels: list[Channel], now: int) -> None:
        """Raise ``SimulationError``: the heads of several streams of the same shape do not belong together.

        Args:
            channels: the streams, each with a visible token.
            now: current cycle.
        """
        heads = [
            f"{written_head(channel, channel.protocol)} on {port.name}{f'[{index}]' if port.array else ''}"
            for port in self.declared_ports()
            for index, channel in enumerate(self.channels(port.name))
            if channel in channels
        ]
        raise SimulationError(
            f"cycle {now}, {self.name}: {', '.join(heads)} in the same place; the streams must have the same "
            "shape"
        )

    def finish(self, now: int) -> int:
        """Mark the block as done, and return the state of this cycle, which is busy.

        The caller has sent done, or popped done if the block has no output.
        """
        self.done = True
        self.done_cycle = now
        return self.busy(now + 1)

    def _first_full(self) -> Channel | None:
        """Return the first bounded channel of an output stream without a free slot, or None."""
        if self.only_bound is not None:
            return None if self.only_bound.can_push() else self.only_bound
        for index in range(len(self.bounds)):
            if not inline.can_push(self.bounds, index):
                full: Channel = self.bounds[index]
                return full
        return None

    def _look_for_input(self, now: int) -> None:
        """Set ``first_input`` to this cycle if any input shows a token."""
        if any(channel.can_pop() for channel in self.inputs):
            self.first_input = now

    def counters(self) -> dict[str, int]:
        """Return the counters of the block, and the tokens of each output by kind."""
        counts = super().counters()
        for stream in self.streams:
            counts |= stream.counters()
        if self._tile_stream is not None:
            counts["restart_cycles"] = self._restart * self._tile_stream.tiles
        return counts
