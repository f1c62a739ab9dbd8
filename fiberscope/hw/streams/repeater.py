# cython: infer_types=True
"""Broadcast of an operand along a loop without its index: its reference is repeated for every coordinate."""

from __future__ import annotations

from typing import NoReturn

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q0, Q12
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, REPSIG, STOP, format_token
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY


class RepeatSignalGenerator(StreamBlock):
    """Converts coordinates to the signals that control a repeater.

    Interface: for each coordinate or N on ``in_crd``, an R leaves on ``out_repsig``. For each stop, whatever
    its level, an S leaves. Done leaves as done.

    Timing: one token a cycle.

    Counts: ``longest_fiber``, the largest number of repeats between two stops.

    Source: the public simulator's generator (weiya711/sam at 6e477d1).

    Args:
        quirks: see ``StreamBlock``; no quirk has an effect.
    """

    PORTS = (Input("in_crd", CRD), output_stream("out_repsig", REPSIG))
    COUNTERS = ("longest_fiber",)

    in_crd: Channel
    out_repsig: OutputStream

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.repeats = 0  # number of repeats in the current fiber
        self.longest_fiber = 0

    def update(self, now: int) -> int:
        """Convert one token."""
        if not self.in_crd.can_pop():
            return self.wait_input(self.in_crd)
        kind = self.in_crd.control()
        self.in_crd.pop()
        if kind in (DATA, EMPTY):
            kind = DATA
            self.repeats += 1
            self.longest_fiber = max(self.longest_fiber, self.repeats)
        else:
            self.repeats = 0
        self.out_repsig.push(kind)
        return self.finish(now) if kind == DONE else self.busy(now + 1)


class Repeater(StreamBlock):
    """Repeats each reference once for each repeat signal.

    Interface: the block holds a reference or an N of ``in_ref``, and sends it on ``out_ref`` once for each R
    on ``in_repsig``. An S ends the fiber of repeats. With references of depth d and signals of depth d + 1,
    the output has depth d + 1. If ``in_ref`` has a stop instead of a reference, because a fiber of references
    is empty, the matching S has no R before it, and the stop leaves one level higher. The tokens of
    ``in_ref`` can also be coordinates.

    Timing: one signal a cycle. A reference is popped as soon as the block holds none, at the latest in the
    cycle of its first signal, so that no cycle is lost between fibers. The stop of a fiber waits until the
    next token of ``in_ref`` is visible. If that token is a stop, both are merged to one stop of a higher
    level (look-ahead, as in a scanner). If the reference was popped in the same cycle as its S, the stop
    leaves one cycle later.

    Accounting: a cycle in which only a reference is popped counts as waiting for ``in_repsig``.

    Quirks: Q0, the stop does not take that additional cycle. Q12, a signal before the first reference is
    lost.

    Source: SAM (ASPLOS 2023), Definition 3.4; the public simulator's repeat (weiya711/sam at 6e477d1).

    Raises:
        SimulationError: during the run, if a signal does not match the token that the block holds.
    """

    PORTS = (Input("in_ref", ANY), Input("in_repsig", REPSIG), output_stream("out_ref", ANY))
    SIGNALS = (*StreamBlock.SIGNALS, Signal("held", 56, "integer"))

    in_ref: Channel
    in_repsig: Channel
    out_ref: OutputStream

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.kind = DATA  # kind of the token that the block holds
        self.held = 0  # payload of this token
        self.holds_token = False  # whether the block holds a token
        self.owes_stop = False  # whether the stop of the last fiber has not been sent
        self.loses_signals = bool(
            quirks & Q12
        )  # with Q12, until the first token was taken or the signals of a fiber were lost

    def update(self, now: int) -> int:
        """Send a pending stop, or process one signal."""
        if self.owes_stop:
            return self._end_fiber(now)
        new = not self.holds_token and self._hold_next()
        if not self.in_repsig.can_pop():
            return self.wait_input(self.in_repsig)
        if self.holds_token:
            return self._repeat(new, now)
        return self._lose(now) if self.loses_signals else self.wait_input(self.in_ref)

    def _hold_next(self) -> bool:
        """Pop and hold the next token of ``in_ref``, and return whether there was one."""
        if not self.in_ref.can_pop():
            return False
        self.kind, self.held = self.in_ref.control(), self.in_ref.coordinate()
        self.in_ref.pop()
        self.holds_token = True
        self.loses_signals = False
        return True

    def _repeat(self, new: bool, now: int) -> int:
        """Pop a signal, and send the held token, a stop or done accordingly."""
        signal = self.in_repsig.control()
        if not self._matches(signal):
            self._refuse(signal)
        self.in_repsig.pop()
        if signal == DATA:
            self.out_ref.push(self.kind, self.held)
            return self.busy(now + 1)
        self.holds_token = False
        if signal == DONE:
            self.out_ref.push(DONE)
            return self.finish(now)
        return self._stop(new, now)

    def _matches(self, signal: int) -> bool:  # C: noexcept
        """Return whether the signal matches the held token: R or S for a reference, else the same kind."""
        if self.kind in (DATA, EMPTY):
            return signal != DONE
        return signal == self.kind

    def _stop(self, new: bool, now: int) -> int:
        """Send the stop of the fiber, or hold it back until the next token of ``in_ref`` is visible."""
        if self.kind == STOP:
            self.out_ref.push(STOP, self.held + 1)
            return self.busy(now + 1)
        if self.in_ref.can_pop() and (self.quirks & Q0 or not new):
            return self._end_fiber(now)
        self.owes_stop = True
        return self.busy(now + 1)

    def _end_fiber(self, now: int) -> int:
        """Send the stop of a fiber once the next token is visible, because a stop there raises the level."""
        if not self.in_ref.can_pop():
            return self.wait_input(self.in_ref)
        level = 0
        if self.in_ref.control() == STOP:
            level = self.in_ref.coordinate() + 1
            self.in_ref.pop()
        self.out_ref.push(STOP, level)
        self.owes_stop = False
        return self.busy(now + 1)

    def _lose(self, now: int) -> int:
        """Drop a signal that comes before the first reference (Q12).

        After a stop is dropped, later signals wait for the first reference.
        """
        signal = self.in_repsig.control()
        if signal == DONE:
            self._refuse(signal)
        self.loses_signals = signal == DATA
        self.in_repsig.pop()
        return self.busy(now + 1)

    def _refuse(self, signal: int) -> NoReturn:  # C: return=int
        """Raise ``SimulationError``: the signal does not match the held token, or none is held."""
        held_text = format_token(self.kind, self.held, 0.0, REF) if self.holds_token else "nothing"
        signal_text = format_token(signal, 0, 0.0, REPSIG)
        raise SimulationError(
            f"{self.name}: the signal {signal_text} does not fit the reference stream, "
            f"of which {held_text} is held"
        )
