"""The vector reducer: a block that adds up the fibers of each list to one fiber."""

from __future__ import annotations

from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, STOP, VAL
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input

NO_STOP = -1


class VectorReducer(StreamBlock):
    """Adds up the fibers of each list, coordinate by coordinate.

    Interface: ``in_crd`` carries coordinates of depth d, ``in_val`` their values. The sums leave, sorted by
    coordinate, as fibers of depth d - 1 on ``out_crd`` and ``out_val``. A value N counts as 0. In contrast to
    an accumulator of points, this block needs no coordinates of outer loops, because stops end the lists. The
    memory of the model is unbounded; that of hardware has a limit.

    Timing: one token of each input a cycle. After the stop of a list no token is taken until its sums have
    left, one a cycle, and then the stop of the list, one level lower.

    Counts: ``points`` taken, each of which reads, adds and writes; ``elements``, the number of sums;
    ``most_held``, the largest number of sums held at once, which is the capacity that hardware needs.

    Source: SAM (ASPLOS 2023), Definition 3.7, a reducer of n = 1. The graphs of the SAM hardware use this
    name for the block.

    Args:
        quirks: see ``StreamBlock``; no quirk has an effect.

    Raises:
        SimulationError: during the run, if the streams differ in shape; the message has the cycle and both
            tokens.
    """

    PORTS = (
        Input("in_crd", CRD),
        Input("in_val", VAL),
        output_stream("out_crd", CRD),
        output_stream("out_val", VAL),
    )
    COUNTERS = ("points", "elements", "most_held")

    in_crd: Channel
    in_val: Channel
    out_crd: OutputStream
    out_val: OutputStream

    def __init__(self, name: str, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.sums: dict[int, float] = {}
        self.complete: list[tuple[int, float]] = []  # sums to send, in reverse order
        self.stop = NO_STOP  # level of the stop to send after these sums
        self.points = 0
        self.elements = 0
        self.most_held = 0

    def update(self, now: int) -> int:
        """Send the next sum or the stop of a list, or take a token of each input."""
        if self.complete:
            coordinate, value = self.complete.pop()
            self.out_crd.push(DATA, coordinate)
            self.out_val.push(DATA, 0, value)
            return self.busy(now + 1)
        if self.stop != NO_STOP:
            self.send_control(STOP, self.stop)
            self.stop = NO_STOP
            return self.busy(now + 1)
        for channel in (self.in_crd, self.in_val):
            if not channel.can_pop():
                return self.wait_input(channel)
        return self._take_tokens(now)

    def _take_tokens(self, now: int) -> int:
        """Take a point, or stops; a stop above level 0 ends the list, so that its sums can leave."""
        crd, val = self.in_crd, self.in_val
        kind, level = crd.control(), crd.coordinate()
        self.check_shape(self.inputs, now, False)
        if kind == DATA:
            self._add(level, val.value() if val.control() == DATA else 0.0)
        elif kind == STOP and level:
            self.complete = sorted(self.sums.items(), reverse=True)
            self.sums, self.stop = {}, level - 1
        crd.pop()
        val.pop()
        if kind == DONE:
            self.send_control(DONE, 0)
            return self.finish(now)
        return self.busy(now + 1)

    def _add(self, coordinate: int, value: float) -> None:
        """Add a value to the sum of its coordinate in the current list."""
        self.points += 1
        if coordinate in self.sums:
            value = self.value_type.add(self.sums[coordinate], value)
        else:
            self.elements += 1
        self.sums[coordinate] = value
        self.most_held = max(self.most_held, len(self.sums))
