# cython: infer_types=True
"""Pipeline stages A2 to A5: an apply pipe that updates and writes properties and lists changed vertices."""

from __future__ import annotations

from collections.abc import Callable

from fiberscope.accelerators.graphicionado.protocols import LINE
from fiberscope.accelerators.graphicionado.store import Frontier, Vertices
from fiberscope.hw.fibers.list_writer import LISTED
from fiberscope.hw.memory.protocol import REQUEST, WRITE
from fiberscope.hw.stream import DATA, STOP
from fiberscope.hw.value_type import AUTO, TYPES, ValueType
from fiberscope.sim import raw_words
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.workloads.vertex_program import DAMPING

ONE = 1  # a variable has the width of a word when compiled; a literal has not
FUNCTIONS = ("min", "rank")
MIN, RANK, CUSTOM = range(3)


class ApplyPipe(Component):
    """An apply pipe that applies one vertex per cycle, one line of properties after the other.

    Interface: ``lines`` brings lines of properties, each with a mask of the vertices to apply, and a stop.
    Writes of lines leave on ``requests``. Vertices whose property changed leave on ``entries`` in order, and
    the stop follows them.

    Timing: a line takes one cycle for each vertex that is applied. After these cycles, the line is written,
    and the next line begins in the same cycle. The changed vertices of the written line leave from the next
    cycle on, one per cycle, while the next line is applied. A line ends only when the changed vertices of the
    line before it have left. The latency of the pipeline is the latency of ``entries``.

    Counts: vertices ``applied`` and ``changed``; ``lines_applied`` and ``lines_written``.

    Args:
        vertices, frontier: vertices and active vertices of the stream.
        function: one of ``FUNCTIONS``, or a function of property, temporary property and out-degree.
        neutral: value to which a temporary property is reset after it is read.
        base: byte address of the properties.
        line_bytes, line_vertices: bytes of a line, and number of vertices in a line.
        write_all: whether a line is written even if no property in it changed.
        lists: whether changed vertices are listed.
        values: name of the type of all values in ``TYPES``.
    """

    PORTS = (Input("lines", LINE), Output("requests", REQUEST), Output("entries", LISTED))
    COUNTERS = ("applied", "changed", "lines_applied", "lines_written")
    SIGNALS = (Signal("applied", 48), Signal("changed", 48))

    lines: Channel
    requests: Channel
    entries: Channel

    def __init__(
        self,
        name: str,
        vertices: Vertices,
        frontier: Frontier,
        function: str | Callable[[float, float, float], float],
        *,
        neutral: float,
        base: int,
        line_bytes: int,
        line_vertices: int,
        write_all: bool,
        lists: bool,
        values: str = AUTO,
    ) -> None:
        super().__init__(name)
        self.vertices = vertices
        self.frontier = frontier
        self.value_type: ValueType = TYPES[values]  # C: readonly ValueType
        self.function = function
        self.function_number = FUNCTIONS.index(function) if isinstance(function, str) else CUSTOM  # C: long
        self.neutral = neutral
        self.base = base
        self.line_bytes = line_bytes
        self.line_vertices = line_vertices
        self.write_all = write_all
        self.lists = lists
        self.busy_until = 0  # cycle in which the current line ends
        self.is_active = False
        self.line = self.mask = 0  # number of the current line, and mask of its vertices to apply
        self.leaving_line = self.leaving = 0  # line whose changed vertices leave, and mask of these vertices
        self.applied = self.changed = self.lines_applied = self.lines_written = 0

    def tick(self, now: int) -> int:
        """List a changed vertex, end the current line and begin the next line."""
        progress = self.leaving != 0 and self._list()
        if self.is_active and now >= self.busy_until and self._can_end():
            self._end_line()
            progress = True
        if not self.is_active and self.lines.can_pop():
            if self.lines.control() == STOP:
                return self._stop(now, progress)
            self._begin_line(now)
        if progress and self.leaving != 0:
            return self.busy(now + 1)
        if self.is_active and now < self.busy_until:
            return self.busy(self.busy_until if self.leaving == 0 else now + 1)
        return self._wait(now, progress)

    def _wait(self, now: int, progress: bool) -> int:
        if progress:
            return self.busy(now + 1)
        if self.leaving != 0:
            return self.wait_output(self.entries)
        return self.wait_output(self.requests) if self.is_active else self.idle()

    def _list(self) -> bool:
        """Send the first changed vertex and add it to the frontier; return whether a slot was free."""
        if not self.entries.can_push():
            return False
        vertex = self.leaving_line * self.line_vertices + raw_words.lowest_bit(self.leaving)
        self.leaving &= self.leaving - 1
        self.entries.push(DATA, vertex)
        self.frontier.add(vertex, self.vertices.properties[vertex])
        return True

    def _can_end(self) -> bool:
        """Return whether the changed vertices of the previous line have left and a write can be sent."""
        return self.leaving == 0 and self.requests.can_push()

    def _begin_line(self, now: int) -> None:
        self.line, self.mask = self.lines.coordinate(), self.lines.reference()
        self.lines.pop()
        self.busy_until = now + raw_words.ones(self.mask)
        self.is_active = True

    def _end_line(self) -> None:
        """End the current line: apply its vertices, write it and list the vertices that changed."""
        changed = self._apply()
        if changed or self.write_all:
            self.requests.push(WRITE, 0, self.base + self.line * self.line_bytes)
            self.lines_written += 1
        if self.lists:
            self.leaving_line, self.leaving = self.line, changed
        self.changed += raw_words.ones(changed)
        self.applied += raw_words.ones(self.mask)
        self.lines_applied += 1
        self.is_active = False

    def _apply(self) -> int:
        """Compute the new properties of the line's vertices; return a mask of the vertices that changed."""
        changed = 0
        pending = self.mask
        while pending:
            position = raw_words.lowest_bit(pending)
            pending &= pending - 1
            vertex = self.line * self.line_vertices + position
            if vertex < self.vertices.count and self._update(vertex):
                changed |= ONE << position
        return changed

    def _update(self, vertex: int) -> bool:
        """Compute and store the new property of a vertex; return whether it differs from the old property."""
        store = self.vertices
        old = store.properties[vertex]
        new = self._compute_property(old, store.temporary[vertex], vertex)
        store.temporary[vertex] = self.neutral
        store.properties[vertex] = new
        return new != old

    def _compute_property(self, old: float, reduced: float, vertex: int) -> float:
        if self.function_number == MIN:
            return min(old, reduced)
        degree = self.vertices.degrees[vertex]
        if self.function_number == RANK:
            kind = self.value_type
            damped = kind.multiply(kind.round_value(DAMPING), reduced)
            rank = kind.add(kind.round_value(1.0 - DAMPING), damped)
            return kind.round_value(rank / kind.round_value(max(degree, 1)))
        return self.function(old, reduced, float(degree))  # type: ignore[operator]  # no known name

    def _stop(self, now: int, progress: bool) -> int:
        if self.leaving != 0:
            return self.busy(now + 1) if progress else self.wait_output(self.entries)
        if not self.entries.can_push():
            return self.wait_output(self.entries)
        self.entries.push(STOP)
        self.lines.pop()
        return self.busy(now + 1)
