# cython: infer_types=True
"""Broadcast along a loop that an operand has no part in: its reference is repeated for every coordinate."""

from __future__ import annotations

from typing import NoReturn

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN, Q0, Q12
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, REPSIG, STOP, text
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY


class RepeatSignalGenerator(StreamBlock):
    """Turns coordinates into the signal by which a repeater repeats.

    Interface: an R leaves on ``out_repsig`` for each coordinate on ``in_crd`` (N is one), an S for each stop
    of whatever level, and done.

    Timing: a token a cycle.

    Counts: ``longest_fiber``: the most repeats between two stops.

    Source: the public simulator's generator (weiya711/sam at 6e477d1).

    Args:
        name: instance name.
    """

    PORTS = (Input("in_crd", CRD), output_stream("out_repsig", REPSIG))
    COUNTERS = ("longest_fiber",)

    in_crd: Channel
    out_repsig: OutputStream

    def __init__(self, name: str, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.repeats = 0  # in the present fiber
        self.longest_fiber = 0

    def update(self, now: int) -> int:
        """Turn one token."""
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
    """Repeats each reference as often as a signal says.

    Interface: a reference or an N on ``in_ref`` is held, and leaves on ``out_ref`` once for each R on
    ``in_repsig``; an S ends its fiber. With references of depth d and a signal of depth d + 1 what leaves has
    depth d + 1. A stop on ``in_ref`` where a reference is due, of a fiber without any, comes with an S that
    has no R before it, and leaves one level higher. Coordinates may be repeated as well.

    Timing: a signal a cycle; a reference is taken in the cycle of its first signal, so that there is no cycle
    between fibers. A stop waits until the next reference is seen, and takes in a stop there (look-ahead, as
    that of a scanner); where the reference has only just been taken, a cycle more.

    Quirks: Q0, not that cycle; Q12, a signal that comes before the first reference is lost.

    Source: SAM (ASPLOS 2023), Definition 3.5; the public simulator's repeat (weiya711/sam at 6e477d1).

    Args:
        name: instance name.
        quirks: see ``StreamBlock``.

    Raises:
        SimulationError: in the run, if a signal does not fit what is held.
    """

    PORTS = (Input("in_ref", ANY), Input("in_repsig", REPSIG), output_stream("out_ref", ANY))
    SIGNALS = (*StreamBlock.SIGNALS, Signal("held", 56, "integer"))

    in_ref: Channel
    in_repsig: Channel
    out_ref: OutputStream

    def __init__(self, name: str, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.kind = DATA  # of the token that is held, and its payload
        self.held = 0
        self.holds = False
        self.owes_stop = False
        self.loses_signals = bool(quirks & Q12)  # until the first token has been taken, or a fiber lost

    def update(self, now: int) -> int:
        """Send one token."""
        if self.owes_stop:
            return self._end_fiber(now)
        new = not self.holds and self._take()
        if not self.in_repsig.can_pop():
            return self.wait_input(self.in_repsig)
        if self.holds:
            return self._repeat(new, now)
        return self._lose(now) if self.loses_signals else self.wait_input(self.in_ref)

    def _take(self) -> bool:
        """Hold the next token, if it is seen; gives whether it is."""
        if not self.in_ref.can_pop():
            return False
        self.kind, self.held = self.in_ref.control(), self.in_ref.coordinate()
        self.in_ref.pop()
        self.holds = True
        self.loses_signals = False
        return True

    def _repeat(self, new: bool, now: int) -> int:
        """Take a signal, and do to the held token what it says."""
        signal = self.in_repsig.control()
        if not self._fits(signal):
            self._refuse(signal)
        self.in_repsig.pop()
        if signal == DATA:
            self.out_ref.push(self.kind, self.held)
            return self.busy(now + 1)
        self.holds = False
        if signal == DONE:
            self.out_ref.push(DONE)
            return self.finish(now)
        return self._stop(new, now)

    def _fits(self, signal: int) -> bool:  # C: noexcept
        """Return whether the signal may come with what is held: R or S with a reference, else its like."""
        if self.kind in (DATA, EMPTY):
            return signal != DONE
        return signal == self.kind

    def _stop(self, new: bool, now: int) -> int:
        """The signal has ended the fiber: send its stop; owe it if the next token is not seen, or not yet."""
        if self.kind == STOP:
            self.out_ref.push(STOP, self.held + 1)
            return self.busy(now + 1)
        if self.in_ref.can_pop() and (self.quirks & Q0 or not new):
            return self._end_fiber(now)
        self.owes_stop = True
        return self.busy(now + 1)

    def _end_fiber(self, now: int) -> int:
        """Send the stop of a fiber if the next token is seen, which may raise its level."""
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
        """Drop a signal that comes before the first reference."""
        signal = self.in_repsig.control()
        if signal == DONE:
            self._refuse(signal)
        self.loses_signals = signal == DATA
        self.in_repsig.pop()
        return self.busy(now + 1)

    def _refuse(self, signal: int) -> NoReturn:  # C: return=int
        held = text(self.kind, self.held, 0.0, REF) if self.holds else "nothing"
        raise SimulationError(
            f"{self.name}: the signal {text(signal, 0, 0.0, REPSIG)} does not fit the reference stream, "
            f"of which {held} is held"
        )
