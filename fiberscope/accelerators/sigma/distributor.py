"""Read side of the data SRAM, which loads stationary values and then streams columns to the Flex-DPEs."""

from __future__ import annotations

from collections.abc import Callable

from fiberscope.accelerators.sigma.plan import Pass, Plan
from fiberscope.accelerators.sigma.protocols import COLUMNS, LINE, PASS
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal


class Distributor(Component):
    """A distributor that loads the Flex-DPEs one after the other, then broadcasts the columns of each pass.

    Interface: ``ready`` brings passes. A stationary line is pushed into the channel of ``lines`` of its
    Flex-DPE. A column is pushed into the channels of ``columns`` of all Flex-DPEs that hold a part of the
    chunk, in one cycle. A Flex-DPE never stalls; therefore columns are sent no faster than the accumulators
    take their sums.

    Timing: a line takes ``line_cycles``. A column takes the ``send_cycles`` of its table, and the next
    column begins ``interval`` cycles after the start of the previous one. Before a new fold, no column is
    sent for ``flush`` cycles. With double buffering, the lines of the next pass are loaded while columns are
    sent; without it, lines and columns alternate.

    Args:
        plan: the passes of the run.
        line_cycles: cycles to load one line into a Flex-DPE.
        flush: cycles without columns before a new fold.
        double_buffer: whether lines are loaded while columns are sent.
        at_once: function that returns whether one token may stand for all remaining columns of a pass. Such a
            token is sent only if no line is to be loaded in the meantime.
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
        self.queue: list[_LoadingPass] = []  # pass whose columns are sent, then the pass after it
        self.column = 0  # next column to send of the first pass
        self.next_column = 0  # first cycle in which that column may be sent
        self.served_at = 0  # cycle from which the accumulators can take the next column, seen from here
        self.sent_at = -1  # last cycle of the current transfer, in which its token is pushed; -1 for none
        self.count = 0  # number of columns in the current transfer
        self.sending_until = self.loading_until = 0
        self.expecting = not plan.finished  # whether more passes arrive
        self.lines_loaded = self.columns_sent = self.flushes = 0

    @property
    def pass_number(self) -> int:
        """Return the number of the pass whose columns are sent, 0 if there is no pass."""
        return self.queue[0].pass_.number if self.queue else 0

    def tick(self, now: int) -> int:
        """Drop a finished pass, take new passes, load a line and send a column."""
        self._finish(now)
        self._take(now)
        self._load(now)
        self._send(now)
        return self._wait(now)

    def _finish(self, now: int) -> None:
        """Drop the first pass when the interval after its last column has ended."""
        if (
            self.queue
            and self.sent_at < 0
            and self.column == self.queue[0].pass_.end
            and now >= self.next_column
        ):
            self.queue.pop(0)
            if self.queue:
                self._begin(now)

    def _take(self, now: int) -> None:
        while len(self.queue) < 2 and self.ready.can_pop():
            pass_ = self.plan.passes[self.ready.coordinate()]
            self.ready.pop()
            self.queue.append(_LoadingPass(pass_))
            self.expecting = not pass_.is_final
            if len(self.queue) == 1:
                self._begin(now)

    def _begin(self, now: int) -> None:
        """Begin the first pass that was taken, with a flush if it is the first pass of a new fold."""
        pass_ = self.queue[0].pass_
        self.column = pass_.first
        if pass_.is_chunk_start and pass_.table.flush:
            self.next_column = now + self.flush
            self.flushes += 1

    def _load(self, now: int) -> None:
        if now < self.loading_until or not (self.double_buffer or now >= self.next_column):
            return
        for load in self.queue if self.double_buffer else self.queue[:1]:
            if load.line < load.line_end:
                self.lines[load.line % len(self.lines)].push(0, load.pass_.number)
                load.line += 1
                load.loaded_at = self.loading_until = now + self.line_cycles
                self.lines_loaded += 1
                return

    def _send(self, now: int) -> None:
        if self.sent_at < 0 and self._may_send(now):
            table = self.queue[0].pass_.table
            self.count = self.queue[0].pass_.end - self.column if self._can_batch(now) else 1
            self.sent_at = now + table.send_cycles - 1
            self.sending_until = now + self.count * table.send_cycles
            self.next_column = now + self.count * table.interval
        if self.sent_at == now:
            pass_ = self.queue[0].pass_
            for line in pass_.table.chunk.lines:
                self.columns[line % len(self.columns)].push(self.count, pass_.number, self.column)
            self.served_at = now + (self.count - 1) * pass_.table.interval + pass_.table.serve_cycles
            self.column += self.count
            self.columns_sent += self.count
            self.sent_at = -1

    def _may_send(self, now: int) -> bool:
        if not self.queue or now < max(self.next_column, self._send_start()):
            return False
        load = self.queue[0]
        return load.line == load.line_end and now >= load.loaded_at and self.column < load.pass_.end

    def _send_start(self) -> int:
        """Return the first cycle in which a column is not too early for the accumulators."""
        return self.served_at - self.queue[0].pass_.table.send_cycles + 1 if self.queue else -1

    def _can_batch(self, now: int) -> bool:
        """Return whether one token may stand for all remaining columns of the pass.

        With double buffering, no line must be left to load: the lines of the next pass have been loaded, or
        the run has no next pass.
        """
        if not self.double_buffer or not self.at_once():
            return self.at_once()
        is_loaded = self.queue[0].pass_.is_final or any(load.line == load.line_end for load in self.queue[1:])
        return is_loaded and now >= self.loading_until

    def _wait(self, now: int) -> int:
        """Return the cycle of the next event of this distributor, with the reason to wait for it."""
        times = (self.sent_at, self.next_column, self.sending_until, self.loading_until, self._send_start())
        next_event = min((time for time in times if time > now), default=-1)
        if now < max(self.sending_until, self.loading_until):
            return self.busy(next_event)
        if self.queue:
            self.wait_any_output(self.columns)
            return next_event
        return self.wait_input(self.ready) if self.expecting else self.idle()


class _LoadingPass:
    """A pass and the lines that are still to load for it: ``line`` to ``line_end`` - 1."""

    def __init__(self, pass_: Pass) -> None:
        self.pass_ = pass_
        self.line, self.line_end = pass_.table.lines.start, pass_.table.lines.stop
        if not pass_.is_chunk_start:
            self.line = self.line_end
        self.loaded_at = 0
