# cython: infer_types=True
"""The word dropper: a block that clears the bits of bit vectors whose inner fibers are empty."""

from __future__ import annotations

from collections import deque

from fiberscope.hw.streams import bits
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.droppers import StopMerger
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q19
from fiberscope.hw.streams.tokens import BV, DATA, DONE, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError


class WordDropper(StreamBlock):
    """Clears the bits of outer words whose inner fibers are empty, and drops words of 0 and empty fibers.

    Interface: ``in_outer`` carries words. ``in_inner`` carries a fiber of words for each set bit of an outer
    word. The remaining words leave on ``out_outer`` and ``out_inner``, without the stops of empty fibers; see
    ``EmptyFiberDropper``.

    Timing: an outer word is taken in the same cycle as its first inner token, if that token is visible. Then
    one inner token is taken a cycle. The outer word moves on in the cycle in which its last fiber ends. Both
    output streams have the timing of an ``EmptyFiberDropper``, before which tokens wait in a queue. The queue
    has one slot if an output channel is bounded, else it is unbounded.

    Quirks: Q18, see ``EmptyFiberDropper``. Q19, the stop of an empty outer fiber does not wait for an inner
    stop.

    Counts: ``cleared`` bits.

    Source: the public simulator (weiya711/sam at 6e477d1).

    Raises:
        SimulationError: during the run, if the streams do not match.
    """

    PORTS = (
        Input("in_outer", BV),
        Input("in_inner", BV),
        output_stream("out_outer", BV),
        output_stream("out_inner", BV),
    )
    COUNTERS = ("cleared",)

    in_outer: Channel
    in_inner: Channel
    out_outer: OutputStream
    out_inner: OutputStream
    merger_outer: StopMerger  # C: hidden; both once elaborated
    merger_inner: StopMerger  # C: hidden

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.outer: deque[tuple[int, int]] = deque()  # tokens (kind, payload) to process
        self.inner: deque[tuple[int, int]] = deque()  # inner tokens to process
        self.inner_out: deque[tuple[int, int]] = deque()  # inner tokens to send
        self.outer_out: deque[tuple[int, int]] = deque()  # outer tokens to send
        self.word = 0  # C: object
        self.fibers = 0  # C: object; bits of the word whose fiber has not ended, from the lowest on
        self.has_element = False  # whether the current inner fiber has data
        self.awaits_bare_stop = False  # whether the stop of an empty outer fiber waits for its inner stop
        self.level = 0  # level of this stop
        self.after_stop = True  # whether the last outer token was a stop, or there was none
        self.cleared = 0
        self.done_outputs = 0  # number of outputs on which done was sent

    def elaborate(self) -> None:
        """Fetch the streams."""
        super().elaborate()
        self.merger_outer = StopMerger(self.out_outer, self.quirks)
        self.merger_inner = StopMerger(self.out_inner, self.quirks)

    def update(self, now: int) -> int:
        """Move tokens one stage forward: from the inputs, through the block, to the outputs."""
        fired = self._move_token(self.in_outer, self.outer, self.outer)  # C: bint
        fired = self._move_token(self.in_inner, self.inner, self.inner_out) or fired
        fired = self._process(now) or fired
        fired = self._offer_oldest(self.merger_outer, self.outer_out) or fired
        fired = self._offer_oldest(self.merger_inner, self.inner_out) or fired
        if self.done_outputs == 2:
            return self.finish(now)
        if fired:
            return self.busy(now + 1)
        return self.wait_input(
            self.in_inner if self.outer or self.fibers or self.awaits_bare_stop else self.in_outer
        )

    def _move_token(
        self, source: Channel, queue: deque[tuple[int, int]], second_queue: deque[tuple[int, int]]
    ) -> bool:
        """Move a token from an input to its queue, and to a second queue; return whether there was one."""
        if not source.can_pop() or (self.bounded and (queue or second_queue)):
            return False
        token = (source.control(), source.coordinate())
        source.pop()
        queue.append(token)
        if second_queue is not queue:
            second_queue.append(token)
        return True

    def _offer_oldest(self, merger: StopMerger, queue: deque[tuple[int, int]]) -> bool:
        """Offer the oldest token of a queue to its output; return whether there was one."""
        if not queue:
            return False
        kind, payload = queue[0]  # C: kind=long, payload=long
        if merger.offer(kind, payload, 0, 0.0):
            queue.popleft()
            self.done_outputs += kind == DONE
        return True

    def _process(self, now: int) -> bool:
        """Start the next outer token, and process an inner token; return whether either was possible."""
        fired = False
        if not self.fibers and not self.awaits_bare_stop and self.outer:
            fired = True
            kind, payload = self.outer.popleft()  # C: kind=long, payload=long
            self._start_outer(kind, payload)
        if (self.fibers or self.awaits_bare_stop) and self.inner:
            fired = True
            self._take_inner(self.inner.popleft()[0], now)
        return fired

    def _start_outer(self, kind: int, payload: int) -> None:
        """Begin an outer token: wait for the fibers of a word or for a bare inner stop, else pass it on.

        An outer stop directly after another stop ends an empty outer fiber, which has a bare inner stop.
        """
        self.awaits_bare_stop = kind == STOP and self.after_stop and not self.quirks & Q19
        self.after_stop = kind == STOP
        if kind == DATA:
            self.word = self.fibers = bits.from_payload(payload)
            self.has_element = False
        elif self.awaits_bare_stop:
            self.level = payload
        else:
            self.outer_out.append((kind, payload))

    def _take_inner(self, kind: int, now: int) -> None:
        """Process an inner token of the current outer token; raise ``SimulationError`` if it does not fit."""
        if kind == DONE or (self.awaits_bare_stop and kind == DATA):
            inner = "D" if kind == DONE else "a word"
            raise SimulationError(
                f"cycle {now}, {self.name}: {inner} on in_inner does not fit in_outer: a fiber belongs to "
                "each set bit, and to each empty outer fiber a bare stop"
            )
        if kind == DATA:
            self.has_element = True
        elif self.awaits_bare_stop:
            self.awaits_bare_stop = False
            self.outer_out.append((STOP, self.level))
        else:
            self._end_fiber()

    def _end_fiber(self) -> None:
        """End the fiber of the lowest bit left: clear the bit of an empty fiber, send a finished word."""
        bit = bits.lowest(self.fibers)
        self.fibers &= self.fibers - 1
        if not self.has_element:
            self.word -= bits.with_bit(0, bit)
            self.cleared += 1
        if not self.fibers and self.word:
            self.outer_out.append((DATA, bits.payload(self.word)))
        self.has_element = False
