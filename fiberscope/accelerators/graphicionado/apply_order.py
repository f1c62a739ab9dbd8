# cython: infer_types=True
"""The order of the apply phase: the lines of properties to apply, and the vertices in each line."""

from __future__ import annotations

from fiberscope.accelerators.graphicionado.protocols import APPLY, LINE
from fiberscope.hw.memory.touched import FOUND
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

NO_LINE = -1
ONE = 1  # a variable has the width of a word when compiled; a literal has not

PHASES = ("idle", "all", "found", "rest")
IDLE, ALL, SELECTED, REST = range(len(PHASES))


class ApplyOrder(Component):
    """A component that requests the lines of the apply phase: all lines, or the lines of touched vertices.

    Interface: a token on ``applies`` begins an apply phase. If its control is not 0, all vertices of the
    slice are applied, and the bits on ``found`` are discarded. Otherwise, the vertices or blocks of the bits
    on ``found`` are applied. ``wanted`` gets each line with a mask of the vertices to apply, then a stop.

    Timing: one line or one found bit per cycle; if all vertices are applied, one line and one discarded bit.
    The line of found vertices is requested when a bit of another line, or the stop, arrives.

    Counts: ``lines`` requested.

    Args:
        line_vertices: number of vertices whose properties are in a line.
        block: number of vertices that a found bit stands for.
    """

    PORTS = (Input("applies", APPLY), Input("found", FOUND, optional=True), Output("wanted", LINE))
    COUNTERS = ("lines",)
    SIGNALS = (Signal("phase", 2, "state", PHASES), Signal("lines", 48))

    applies: Channel
    found: Channel | None
    wanted: Channel

    def __init__(self, name: str, *, line_vertices: int, block: int) -> None:
        super().__init__(name)
        self.line_vertices = line_vertices
        self.block_lines = block // line_vertices  # lines of a block; 0 if a bit stands for a single vertex
        self.full_mask = (ONE << line_vertices) - 1
        self.first = self.end = 0  # range of vertices of the slice
        self.phase = IDLE
        self.line = NO_LINE  # line to request next
        self.mask = 0
        self.remaining_lines = 0  # lines of the current block not yet requested
        self.lines = 0

    def select(self, first: int, end: int) -> None:
        """Set the range of vertices of the slice; ``first`` is the first vertex of a line, or of a block."""
        self.first, self.end = first, end

    def tick(self, now: int) -> int:
        """Request a line, or take a found bit."""
        if self.phase == IDLE:
            if not self.applies.can_pop():
                return self.idle()
            self._begin()
        if self.phase == ALL:
            return self._request_next(now)
        if self.phase == REST:
            return self._discard_rest(now)
        return self._request_touched(now)

    def _begin(self) -> None:
        self.phase = ALL if self.applies.control() else SELECTED
        self.line = self.first // self.line_vertices if self.phase == ALL else NO_LINE
        self.mask = self.remaining_lines = 0
        self.applies.pop()

    def _request_next(self, now: int) -> int:
        """Request the next line of a phase in which all vertices are applied; discard a found bit."""
        first = self.line * self.line_vertices
        if first >= self.end:
            self.phase = REST
            return self._discard_rest(now)
        has_discarded = self._discard_bit()
        if not self.wanted.can_push():
            return self.busy(now + 1) if has_discarded else self.wait_output(self.wanted)
        count = self.end - first
        self._request(self.full_mask if count >= self.line_vertices else (ONE << count) - 1)
        self.line += 1
        return self.busy(now + 1)

    def _request(self, mask: int) -> None:
        self.wanted.push(DATA, self.line, mask)
        self.lines += 1

    def _discard_bit(self) -> bool:
        """Discard a found bit, whose vertices are applied with all others; return whether there was a bit."""
        channel = self.found
        if channel is None or not channel.can_pop() or channel.control() == STOP:
            return False
        channel.pop()
        return True

    def _discard_rest(self, now: int) -> int:
        """Discard the remaining found bits, one per cycle; then end the phase."""
        if self._discard_bit():
            return self.busy(now + 1)
        if self.found is not None and not self.found.can_pop():
            return self.wait_input(self.found)
        return self._end(now)

    def _end(self, now: int) -> int:
        if not self.wanted.can_push():
            return self.wait_output(self.wanted)
        self.wanted.push(STOP)
        if self.found is not None:
            self.found.pop()
        self.phase = IDLE
        return self.busy(now + 1)

    def _request_touched(self, now: int) -> int:
        """Request the line if it is complete, or add a found bit to it."""
        if self.remaining_lines > 0:
            return self._request_block(now)
        channel = self.found
        assert channel is not None  # the machine connects ``found`` wherever vertices are selected
        if not channel.can_pop():
            return self.wait_input(channel)
        is_stop, bit = channel.control() == STOP, channel.coordinate()
        if self.line != NO_LINE and (is_stop or bit // self.line_vertices != self.line):
            return self._request_selected(now)
        if is_stop:
            return self._end(now)
        channel.pop()
        self._add(bit)
        return self.busy(now + 1)

    def _add(self, bit: int) -> None:
        if self.block_lines:
            self.line, self.remaining_lines = bit * self.block_lines, self.block_lines
        else:
            self.line = bit // self.line_vertices
            self.mask |= ONE << (bit - self.line * self.line_vertices)

    def _request_selected(self, now: int) -> int:
        if not self.wanted.can_push():
            return self.wait_output(self.wanted)
        self._request(self.mask)
        self.line, self.mask = NO_LINE, 0
        return self.busy(now + 1)

    def _request_block(self, now: int) -> int:
        if not self.wanted.can_push():
            return self.wait_output(self.wanted)
        self._request(self.full_mask)
        self.line += 1
        self.remaining_lines -= 1
        if self.remaining_lines == 0:
            self.line = NO_LINE
        return self.busy(now + 1)
