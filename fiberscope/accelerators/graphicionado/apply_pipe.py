# cython: infer_types=True
"""A2 to A5: makes new properties of a line's vertices, writes them, and lists who is active next."""

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

ONE = 1  # as wide as a word when compiled, where the literal is not
WAYS = ("min", "rank")
MIN, RANK, OWN = range(3)


class ApplyPipe(Component):
    """Applies a vertex a cycle, a line of properties at a time.

    Interface: ``lines`` brings lines of properties, with the vertices to apply as bits of a mask, and a stop.
    A line that is to be written leaves on ``requests``; vertices whose property changed leave on ``entries``
    in order, and the stop behind them.

    Timing: a line takes a cycle for each of its vertices that are applied; in the last the line is written,
    and its changed vertices leave from then on, one a cycle, beside the next line. The latency of the
    pipeline is that of ``entries``.

    Counts: vertices ``applied`` and ``changed``; ``lines`` applied and ``written``.

    Args:
        name: instance name.
        vertices, frontier: the stream's.
        function: one of ``WAYS``, or a function of property, temporary property and out-degree.
        neutral: what a temporary property is again once it is read.
        base: address of the properties.
        line_bytes, line_vertices: of a line, and vertices in it.
        write_all: whether a line is written though nothing in it changed.
        lists: whether changed vertices are listed.
        values: the type of all values, by its name in ``TYPES``.
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
        self.way = WAYS.index(function) if isinstance(function, str) else OWN  # C: long
        self.neutral = neutral
        self.base = base
        self.line_bytes = line_bytes
        self.line_vertices = line_vertices
        self.write_all = write_all
        self.lists = lists
        self.busy_until = 0  # when the line under way is through
        self.under_way = False
        self.line = self.mask = 0  # that line, and its vertices that are applied
        self.leaving_line = self.leaving = 0  # a line whose changed vertices leave, as a mask
        self.applied = self.changed = self.lines_applied = self.lines_written = 0

    def tick(self, now: int) -> int:
        """List a vertex, end a line, begin one."""
        progress = self.leaving != 0 and self._list()
        if self.under_way and now >= self.busy_until and self._can_end():
            self._end_line()
            progress = True
        if not self.under_way and self.lines.can_pop():
            if self.lines.control() == STOP:
                return self._stop(now, progress)
            self._begin_line(now)
        if progress and self.leaving != 0:
            return self.busy(now + 1)
        if self.under_way and now < self.busy_until:
            return self.busy(self.busy_until if self.leaving == 0 else now + 1)
        return self._wait(now, progress)

    def _wait(self, now: int, progress: bool) -> int:
        if progress:
            return self.busy(now + 1)
        if self.leaving != 0:
            return self.wait_output(self.entries)
        return self.wait_output(self.requests) if self.under_way else self.idle()

    def _list(self) -> bool:
        """The first of the changed vertices leaves."""
        if not self.entries.can_push():
            return False
        vertex = self.leaving_line * self.line_vertices + raw_words.lowest_bit(self.leaving)
        self.leaving &= self.leaving - 1
        self.entries.push(DATA, vertex)
        self.frontier.add(vertex, self.vertices.properties[vertex])
        return True

    def _can_end(self) -> bool:
        """Return whether the changed vertices of the line before have left, and the line can be written."""
        return self.leaving == 0 and self.requests.can_push()

    def _begin_line(self, now: int) -> None:
        self.line, self.mask = self.lines.coordinate(), self.lines.reference()
        self.lines.pop()
        self.busy_until = now + raw_words.ones(self.mask)
        self.under_way = True

    def _end_line(self) -> None:
        """All vertices of the line are through."""
        changed = self._apply()
        if changed or self.write_all:
            self.requests.push(WRITE, 0, self.base + self.line * self.line_bytes)
            self.lines_written += 1
        if self.lists:
            self.leaving_line, self.leaving = self.line, changed
        self.changed += raw_words.ones(changed)
        self.applied += raw_words.ones(self.mask)
        self.lines_applied += 1
        self.under_way = False

    def _apply(self) -> int:
        """New properties of the line's vertices; gives those that changed, as a mask."""
        changed = 0
        left = self.mask
        while left:
            place = raw_words.lowest_bit(left)
            left &= left - 1
            vertex = self.line * self.line_vertices + place
            if vertex < self.vertices.count and self._changes(vertex):
                changed |= ONE << place
        return changed

    def _changes(self, vertex: int) -> bool:
        """Make a vertex's new property; whether it is another."""
        store = self.vertices
        old = store.properties[vertex]
        new = self._new(old, store.temporary[vertex], vertex)
        store.temporary[vertex] = self.neutral
        store.properties[vertex] = new
        return new != old

    def _new(self, old: float, reduced: float, vertex: int) -> float:
        if self.way == MIN:
            return min(old, reduced)
        degree = self.vertices.degrees[vertex]
        if self.way == RANK:
            kind = self.value_type
            damped = kind.multiply(kind.rounded(DAMPING), reduced)
            rank = kind.add(kind.rounded(1.0 - DAMPING), damped)
            return kind.rounded(rank / kind.rounded(max(degree, 1)))
        return self.function(old, reduced, float(degree))  # type: ignore[operator]  # no known name

    def _stop(self, now: int, progress: bool) -> int:
        if self.leaving != 0:
            return self.busy(now + 1) if progress else self.wait_output(self.entries)
        if not self.entries.can_push():
            return self.wait_output(self.entries)
        self.entries.push(STOP)
        self.lines.pop()
        return self.busy(now + 1)
