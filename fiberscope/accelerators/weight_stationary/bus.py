"""The broadcast bus, which streams the slices of A to all processing elements, pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fiberscope.accelerators.weight_stationary.beats import Beat
from fiberscope.accelerators.weight_stationary.passes import Pass
from fiberscope.accelerators.weight_stationary.protocols import BEAT, END, WORDS
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Output, Signal


class Bus(Component):
    """A bus that broadcasts one beat per cycle to all processing elements.

    Interface: a beat is pushed into all channels of ``beats`` in the same cycle, once each of them has a free
    slot. After the last beat of a pass, an END token is pushed in the same way.

    Timing: a beat, and the END token of a pass, take one cycle each. If ``load_words`` is not 0, the bus also
    transfers the words of B before each pass.

    Args:
        passes: the passes, in the order in which they run.
        slice_beats: function from a pass to the beats of the slice of A that the pass streams.
        stream: list to which the bus appends each beat. A token carries the index of its beat in this list;
            an END token carries the number of its pass.
        load_words: number of words of B that the bus transfers in a cycle; 0 if loading B takes no time.
    """

    PORTS = (Output("beats", BEAT, array=True),)
    COUNTERS = ("streamed", "loading", "passes")
    SIGNALS = (Signal("streamed", 48), Signal("passes", 32), Signal("loading", 48))

    beats: list[Channel]

    def __init__(
        self,
        name: str,
        passes: Sequence[Pass],
        slice_beats: Callable[[Pass], Iterator[Beat]],
        stream: list[Beat],
        load_words: int,
    ) -> None:
        super().__init__(name)
        self.plan = passes
        self.slice_beats = slice_beats
        self.stream = stream
        self.load_words = load_words
        self.remaining_beats: Iterator[Beat] | None = None  # beats of the current pass; None between passes
        self.next_beat: Beat | None = None  # None if only the END token of the pass remains
        self.load_end = 0  # cycle in which the loading of B ends
        self.streamed = self.loading = self.passes = 0

    def tick(self, now: int) -> int:
        """Load B, or send the next beat or the end of a pass."""
        if now < self.load_end:
            return self.busy(self.load_end)
        if self.remaining_beats is None:
            if self.passes == len(self.plan):
                return self.idle()
            if self._start_pass(now):
                return self.busy(self.load_end)
        blocked = next((channel for channel in self.beats if not channel.can_push()), None)
        if blocked is not None:
            return self.wait_output(blocked)
        self._send()
        return self.busy(now + 1)

    def _start_pass(self, now: int) -> bool:
        """Begin the next pass; return whether B must be loaded before its first beat."""
        next_pass = self.plan[self.passes]
        self.remaining_beats = self.slice_beats(next_pass)
        self.next_beat = next(self.remaining_beats, None)
        cycles = -(-next_pass.words // self.load_words) if self.load_words else 0
        self.loading += cycles
        self.load_end = now + cycles
        return cycles > 0

    def _send(self) -> None:
        if self.next_beat is None:
            self._broadcast(END, self.passes)
            self.remaining_beats = None
            self.passes += 1
            return
        self.stream.append(self.next_beat)
        self._broadcast(WORDS, self.streamed)
        self.streamed += 1
        self.next_beat = next(self.remaining_beats or iter(()), None)

    def _broadcast(self, kind: int, number: int) -> None:
        for channel in self.beats:
            channel.push(kind, number)
