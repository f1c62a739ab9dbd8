# cython: infer_types=True
"""Says which lines of properties are applied, and which vertices of each."""

from __future__ import annotations

from fiberscope.accelerators.graphicionado.protocols import APPLY, LINE
from fiberscope.hw.memory.touched import FOUND
from fiberscope.hw.stream import DATA, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

NO_LINE = -1
ONE = 1  # as wide as a word when compiled, where the literal is not

PHASES = ("idle", "all", "found", "rest")
IDLE, ALL, SELECTED, REST = range(len(PHASES))


class ApplyOrder(Component):
    """Names the lines whose vertices are applied, in order: all, or those of vertices or blocks found.

    Interface: a token on ``applies`` begins, its control says whether all are to be applied: then what is
    found is passed by. ``wanted`` gets lines, the vertices of each as bits of a mask, and a stop.

    Timing: a line or a bit found a cycle; a line of found vertices is wanted when the next is begun.

    Counts: ``lines`` wanted.

    Args:
        name: instance name.
        line_vertices: vertices whose properties are in a line.
        block: vertices that a found bit stands for.
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
        self.block_lines = block // line_vertices  # 0 of single vertices
        self.whole = (ONE << line_vertices) - 1
        self.first = self.end = 0  # vertices of the slice
        self.phase = IDLE
        self.line = NO_LINE  # that is to be wanted next
        self.mask = 0
        self.left = 0  # lines of a block, this one counted
        self.lines = 0

    def select(self, first: int, end: int) -> None:
        """Apply the vertices of a slice, from a multiple of a line's or a block's."""
        self.first, self.end = first, end

    def tick(self, now: int) -> int:
        """Want a line, or take a bit."""
        if self.phase == IDLE:
            if not self.applies.can_pop():
                return self.idle()
            self._begin()
        if self.phase == ALL:
            return self._want_next(now)
        if self.phase == REST:
            return self._pass_by(now)
        return self._select(now)

    def _begin(self) -> None:
        self.phase = ALL if self.applies.control() else SELECTED
        self.line = self.first // self.line_vertices if self.phase == ALL else NO_LINE
        self.mask = self.left = 0
        self.applies.pop()

    def _want_next(self, now: int) -> int:
        """Want the next of all lines."""
        first = self.line * self.line_vertices
        if first >= self.end:
            self.phase = REST
            return self._pass_by(now)
        passed = self._pass_one()
        if not self.wanted.can_push():
            return self.busy(now + 1) if passed else self.wait_output(self.wanted)
        there = self.end - first
        self._want(self.whole if there >= self.line_vertices else (ONE << there) - 1)
        self.line += 1
        return self.busy(now + 1)

    def _want(self, mask: int) -> None:
        self.wanted.push(DATA, self.line, mask)
        self.lines += 1

    def _pass_one(self) -> bool:
        """Return whether there was something found to pass by, as it is applied with all."""
        channel = self.found
        if channel is None or not channel.can_pop() or channel.control() == STOP:
            return False
        channel.pop()
        return True

    def _pass_by(self, now: int) -> int:
        """Skip the remaining vertices that are found, one a cycle; then end."""
        if self._pass_one():
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

    def _select(self, now: int) -> int:
        """Want the line that is complete, or add what is found to it."""
        if self.left > 0:
            return self._want_of_block(now)
        channel = self.found
        assert channel is not None  # connected where anything is selected
        if not channel.can_pop():
            return self.wait_input(channel)
        stops, bit = channel.control() == STOP, channel.coordinate()
        if self.line != NO_LINE and (stops or bit // self.line_vertices != self.line):
            return self._want_selected(now)
        if stops:
            return self._end(now)
        channel.pop()
        self._add(bit)
        return self.busy(now + 1)

    def _add(self, bit: int) -> None:
        if self.block_lines:
            self.line, self.left = bit * self.block_lines, self.block_lines
        else:
            self.line = bit // self.line_vertices
            self.mask |= ONE << (bit - self.line * self.line_vertices)

    def _want_selected(self, now: int) -> int:
        if not self.wanted.can_push():
            return self.wait_output(self.wanted)
        self._want(self.mask)
        self.line, self.mask = NO_LINE, 0
        return self.busy(now + 1)

    def _want_of_block(self, now: int) -> int:
        if not self.wanted.can_push():
            return self.wait_output(self.wanted)
        self._want(self.whole)
        self.line += 1
        self.left -= 1
        if self.left == 0:
            self.line = NO_LINE
        return self.busy(now + 1)
