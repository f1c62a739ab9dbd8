"""The data SRAM's read side: loads stationary values, then streams columns past them."""

from __future__ import annotations

from collections.abc import Callable

from fiberscope.accelerators.sigma.plan import Pass, Plan
from fiberscope.accelerators.sigma.protocols import COLUMNS, LINE, PASS
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal

__all__ = ["Distributor"]


class Distributor(Component):
    """Loads one Flex-DPE after the other, then sends each column to all that the chunk lies in, at once.

    Interface: passes come in on ``ready``; a line goes out on the ``lines`` of its Flex-DPE, columns on the
    ``columns`` of all that take part. Nothing holds up a Flex-DPE, so columns are sent no faster than the
    accumulators take their sums.

    Timing: a line takes ``line_cycles``; a column ``sending`` of its table, and the next begins ``interval``
    cycles after it. Before a new fold nothing is sent for ``flush`` cycles. Without double buffering lines
    and columns take turns; with it the lines of the next pass are loaded meanwhile.

    Args:
        name: instance name.
        plan: what is to be done.
        line_cycles: cycles of loading one Flex-DPE.
        flush: cycles.
        double_buffer: whether lines are loaded while columns are sent.
        at_once: says whether the columns of a pass may be one token, where nothing else happens meanwhile.
    """

    PORTS = (Input("ready", PASS), Output("lines", LINE, array=True), Output("columns", COLUMNS, array=True))
    COUNTERS = ("lines_loaded", "columns_sent", "flushes")
    SIGNALS = (
        Signal("lines_loaded", 32),
        Signal("columns_sent", 48),
        Signal("flushes", 32),
        Signal("pass_number", 32),
        Signal("column", 32),
    )

    ready: Channel
    lines: list[Channel]
    columns: list[Channel]

    def __init__(
        self,
        name: str,
        plan: Plan,
        *,
        line_cycles: int,
        flush: int,
        double_buffer: bool,
        at_once: Callable[[], bool],
    ) -> None:
        super().__init__(name)
        self.plan = plan
        self.line_cycles = line_cycles
        self.flush = flush
        self.double_buffer = double_buffer
        self.at_once = at_once
        self.taken: list[_LoadingPass] = []  # the pass whose columns are sent, and the one behind it
        self.column = 0  # of the first of them, the next to be sent
        self.next_column = 0  # the cycle from which on it may be
        self.sent_at = -1  # the cycle at whose end what is being sent has left, -1: nothing is
        self.count = 0  # columns that it has
        self.sending_until = self.loading_until = 0
        self.expecting = not plan.finished  # whether passes are to come
        self.lines_loaded = self.columns_sent = self.flushes = 0

    @property
    def pass_number(self) -> int:
        """The pass under way, 0 if there is none."""
        return self.taken[0].what.number if self.taken else 0

    def tick(self, now: int) -> int:
        """Go on to the next pass, load a line, send a column."""
        self._finish(now)
        self._take(now)
        self._load(now)
        self._send(now)
        return self._rest(now)

    def _finish(self, now: int) -> None:
        """Drop a pass whose last column is over."""
        if (
            self.taken
            and self.sent_at < 0
            and self.column == self.taken[0].what.last
            and now >= self.next_column
        ):
            self.taken.pop(0)
            if self.taken:
                self._begin(now)

    def _take(self, now: int) -> None:
        while len(self.taken) < 2 and self.ready.can_pop():
            pass_ = self.plan.passes[self.ready.coordinate()]
            self.ready.pop()
            self.taken.append(_LoadingPass(pass_))
            self.expecting = not pass_.final
            if len(self.taken) == 1:
                self._begin(now)

    def _begin(self, now: int) -> None:
        """The first of those taken is the one to work on."""
        pass_ = self.taken[0].what
        self.column = pass_.first
        if pass_.begins and pass_.table.flush:
            self.next_column = now + self.flush
            self.flushes += 1

    def _load(self, now: int) -> None:
        if now < self.loading_until or not (self.double_buffer or now >= self.next_column):
            return
        for load in self.taken if self.double_buffer else self.taken[:1]:
            if load.line < load.end:
                self.lines[load.line % len(self.lines)].push(0, load.what.number)
                load.line += 1
                load.loaded_at = self.loading_until = now + self.line_cycles
                self.lines_loaded += 1
                return

    def _send(self, now: int) -> None:
        if self.sent_at < 0 and self._may_send(now):
            table = self.taken[0].what.table
            self.count = self.taken[0].what.last - self.column if self._steady(now) else 1
            self.sent_at = now + table.sending - 1
            self.sending_until = now + self.count * table.sending
            self.next_column = now + self.count * table.interval
        if self.sent_at == now:
            pass_ = self.taken[0].what
            for line in pass_.table.chunk.lines:
                self.columns[line % len(self.columns)].push(self.count, pass_.number, self.column)
            self.column += self.count
            self.columns_sent += self.count
            self.sent_at = -1

    def _may_send(self, now: int) -> bool:
        if not self.taken or now < self.next_column:
            return False
        load = self.taken[0]
        return load.line == load.end and now >= load.loaded_at and self.column < load.what.last

    def _steady(self, now: int) -> bool:
        """Return whether nothing but columns is to be sent until the pass is over."""
        if not self.double_buffer or not self.at_once():
            return self.at_once()
        behind = self.taken[1:]
        loaded = self.taken[0].what.final or any(load.line == load.end for load in behind)
        return loaded and now >= self.loading_until

    def _rest(self, now: int) -> int:
        """Sleep until the next of what is to happen."""
        times = (self.sent_at, self.next_column, self.sending_until, self.loading_until)
        coming = min((time for time in times if time > now), default=-1)
        if now < max(self.sending_until, self.loading_until):
            return self.busy(coming)
        if self.taken:
            self.wait_any_output(self.columns)
            return coming
        return self.wait_input(self.ready) if self.expecting else self.idle()


class _LoadingPass:
    """A pass, and how far its lines are loaded."""

    def __init__(self, what: Pass) -> None:
        self.what = what
        self.line, self.end = what.table.lines.start, what.table.lines.stop
        if not what.begins:
            self.line = self.end
        self.loaded_at = 0
