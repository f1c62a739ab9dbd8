# cython: infer_types=True
"""The memory controller of a DRAM channel, which schedules row and column commands and refreshes.

The controller can issue one row command (ACT, PRE, REF) and one column command (RD, WR) a cycle, or one
command in total if the standard has a single command bus. ``frfcfs`` is first-ready, first come first served:
it serves the oldest burst whose next command is ready. A burst for which a row was opened has priority over
all others, and its row is not closed before it is served. With ``row_hit_first``, a row also stays open for a
burst that came no later than the one that needs another row; otherwise, a PRE that is ready before the next
RD closes it. With ``fcfs``, only the oldest burst of the list in service gets commands, one burst after
another. Closed pages: a row closes after its last waiting burst of the same kind. The first command of a
burst decides whether it counts as a row hit, a row miss or a row conflict.

While a refresh of all banks is due, only bursts whose row was opened for them are served. While a refresh of
a single bank is due, the same holds for this bank. On its bus, only the RD or WR of such a burst goes first.
Bounds (cycles before which no candidate of a kind can be ready) avoid useless searches and wake-ups.
"""

from __future__ import annotations

import math
from array import array

from fiberscope.hw.dram.commands import CLOSED, NOBODY, OPENED, READS, WRITES
from fiberscope.hw.dram.device import Device
from fiberscope.hw.dram.queues import BurstQueues
from fiberscope.hw.dram.refresh import RefreshTimer
from fiberscope.hw.dram.returns import Returns
from fiberscope.hw.dram.specification import DramSpecification
from fiberscope.sim.constants import MAX_TIME

COLUMN = 1  # bits for the kinds of commands
ROW = 2
ANY_KIND = 3


class Controller:  # C: final
    """The scheduler of the commands of one channel.

    Args:
        specification: device and policies.
        returns: queue of the bursts that have been read.

    ``waiting`` is the number of bursts that still need a command. ``hits``, ``misses``, ``conflicts``, and
    ``read_bursts`` and ``write_bursts`` for each pseudo-channel, are counts of bursts so far. ``last_write``
    is the cycle of the last WR, 0 if none. ``mode`` is the list that is served, ``READS`` or ``WRITES``.
    """

    def __init__(self, specification: DramSpecification, returns: Returns) -> None:
        standard = specification.device
        self.device = Device(standard)
        self.queues = BurstQueues(specification.read_queue + specification.write_queue + self.device.banks)
        self.returns = returns
        self.read_latency = standard.timing.cl + standard.timing.burst  # C: long
        self._in_order = specification.scheduler == "fcfs"
        self._keeps_hits = specification.scheduler == "row_hit_first"
        self._closes = specification.page_policy == "closed"
        self._two_buses = standard.command_buses == 2
        self._write_high = math.floor(specification.write_high * specification.write_queue)  # C: long
        low = math.ceil(specification.write_low * specification.write_queue)
        self._write_low = max(1, low)  # C: long; at a mark of 0 too, reads go on when no write is left
        self.mode = READS
        self._opened_bound = self._column_bound = self._row_bound = MAX_TIME
        # By bank, the index in device.ready of the row command it needs next: at first, that of its ACT
        self._next_row = array("q", range(self.device.activates, self.device.precharges))
        self._reserved = array("q", bytes(8 * self.device.banks))  # by bank: 1 if a burst waits for its row
        self.refresh = RefreshTimer(specification)
        self._bank_due = NOBODY  # bank whose own refresh is due; it serves only a burst whose row was opened
        self._search = 0  # number of the current or last search
        self._row_search = array("q", bytes(8 * self.device.banks))  # by bank: last search that kept its row
        self._last_cycle = -1  # last simulated cycle
        self.waiting = 0
        self._reset_counts()

    def _reset_counts(self) -> None:  # C: def
        self.hits = self.misses = self.conflicts = 0
        self.last_write = 0
        self.read_bursts = array("q", bytes(8 * self.device.pseudo_channels))
        self.write_bursts = array("q", bytes(8 * self.device.pseudo_channels))

    def enqueue(
        self, queue: int, bank: int, row: int, line: int, request: int, cycle: int
    ) -> None:  # C: cdef
        """Append burst number ``line`` to ``READS`` or ``WRITES``; an entry of the pool must be free."""
        queues = self.queues
        entry = queues.allocate()
        queues.bank[entry] = bank
        queues.row[entry] = row
        queues.line[entry] = line
        queues.request[entry] = request
        queues.arrival[entry] = cycle
        queues.write[entry] = queue == WRITES
        queues.column[entry] = bank + (self.device.writes if queue == WRITES else self.device.reads)
        queues.append(queue, entry)
        self.waiting += 1
        self.refresh.waiting_bursts[bank] += 1
        if queue == self.mode:
            self._lower_bound(entry)

    def _lower_bound(self, entry: int) -> None:  # C: noexcept
        """Lower the bounds for a new candidate of the current mode."""
        ready = self._ready_cycle(entry, ANY_KIND)
        if self.device.open_row[self.queues.bank[entry]] == self.queues.row[entry]:
            self._column_bound = min(self._column_bound, ready)
        else:
            self._row_bound = min(self._row_bound, ready)

    def recheck(self) -> None:  # C: cdef, noexcept
        """Reset the bounds, after a change that can make any candidate ready."""
        self._opened_bound = self._column_bound = self._row_bound = 0

    def step(self, now: int) -> bool:  # C: cdef
        """Issue the commands that are ready in cycle ``now``; return whether there were any."""
        self._last_cycle = now
        self._fall_due(now)
        issued = self._serve_opened(now)
        if self._all_wait():
            if issued and not self._two_buses:
                return True  # the RD or WR has taken the only command bus
            return self._serve_refresh(now) or issued
        if not self._two_buses:
            return issued or self._serve_refresh(now) or self._serve_queue(now, ANY_KIND)
        if not issued:
            issued = self._serve_queue(now, COLUMN)
        return self._serve_refresh(now) or self._serve_queue(now, ROW) or issued

    def wake(self, now: int) -> int:  # C: cdef, noexcept
        """Return the next cycle with a possible command or change of mode, if no burst arrives meanwhile."""
        wake = min(self._opened_bound, self.refresh.due, self._refresh_ready())
        if not self._all_wait():
            if self._next_mode() != self.mode:
                return now + 1  # the bounds hold for the present mode only
            if not (self._in_order and self.queues.counts[OPENED]):
                wake = min(wake, self._bound(ANY_KIND))
        return max(wake, now + 1)

    def _serve_opened(self, now: int) -> bool:
        """Serve the oldest ready burst whose row was opened for it; return whether there was one."""
        if self._opened_bound > now:
            return False
        queues = self.queues
        best = NOBODY
        ready_count = 0
        earliest = MAX_TIME  # earliest cycle in which a command becomes ready
        entry = queues.heads[OPENED]
        while entry != NOBODY:
            ready = self._column_ready(entry)
            if ready > now:
                earliest = min(earliest, ready)
            else:
                ready_count += 1
                if best == NOBODY or queues.arrival[entry] < queues.arrival[best]:
                    best = entry
            entry = queues.following[entry]
        self._opened_bound = earliest if ready_count <= 1 else now + 1  # one ready burst is served now
        if best == NOBODY:
            return False
        self._issue_column(OPENED, best, now)
        return True

    def _serve_queue(self, now: int, kind: int) -> bool:
        """Issue a command of this kind for the oldest ready burst of the mode; return whether it could."""
        self._choose_mode()
        if self._bound(kind) > now or (self._in_order and self.queues.counts[OPENED]):
            return False
        entry = self._first_ready(now, kind)
        if entry == NOBODY:
            return False
        self._advance(entry, now)
        if self._in_order:
            self.recheck()  # the bounds hold for the burst that was the oldest
        return True

    def _bound(self, kind: int) -> int:  # C: noexcept, inline
        """Return a cycle before which no command of this kind is ready for the list of the current mode."""
        column_bound = max(self._column_bound, self.device.column_bus)
        if kind == COLUMN:
            return column_bound
        row_bound = max(self._row_bound, self.device.row_bus)
        return row_bound if kind == ROW else min(row_bound, column_bound)

    def _choose_mode(self) -> None:  # C: noexcept, inline
        mode = self._next_mode()
        if mode != self.mode:
            self.mode = mode
            self.recheck()

    def _next_mode(self) -> int:  # C: noexcept, inline
        """Return the mode: writes if there is no read, or from above the high mark to below the low mark."""
        reads, writes = self.queues.counts[READS], self.queues.counts[WRITES]
        if self.mode == READS:
            return WRITES if writes > self._write_high or reads == 0 else READS
        return READS if writes < self._write_low and reads else WRITES

    def _first_ready(self, now: int, kind: int) -> int:  # C: noexcept
        """Return the oldest burst with a ready command of this kind; without one, set the bound."""
        self._search += 1
        earliest = MAX_TIME
        entry = self.queues.heads[self.mode]
        while entry != NOBODY:
            ready = self._ready_cycle(entry, kind)
            if ready > now:
                earliest = min(earliest, ready)
            elif not (self._keeps_hits and self._preempts_hit(entry)):  # see the end of _issue_column
                return entry
            entry = NOBODY if self._in_order else self.queues.following[entry]
        if kind & COLUMN:
            self._column_bound = earliest
        if kind & ROW:
            self._row_bound = earliest
        return NOBODY

    def _preempts_hit(self, entry: int) -> bool:  # C: noexcept
        """Return whether a burst's next command would close a row needed by a burst that came no later."""
        queues = self.queues
        bank = queues.bank[entry]
        if self.device.open_row[bank] in (CLOSED, queues.row[entry]):
            return False
        older = queues.heads[self.mode]
        while self._row_search[bank] != self._search and older != NOBODY:
            if queues.arrival[older] > queues.arrival[entry]:
                return False
            if queues.bank[older] == bank and self._hits(older):
                self._row_search[bank] = self._search  # the row is also needed for all younger bursts
            older = queues.following[older]
        return self._row_search[bank] == self._search

    def _ready_cycle(self, entry: int, kind: int) -> int:  # C: noexcept, inline
        """Return a burst's earliest command cycle, bus ignored; at least ``MAX_TIME`` for another kind."""
        if kind == ROW:
            return self._row_ready(entry)
        hit_ready = self._column_ready(entry) + MAX_TIME * (1 - self._hits(entry))  # no mispredicted branch
        return hit_ready if kind == COLUMN else min(hit_ready, self._row_ready(entry))

    def _hits(self, entry: int) -> int:  # C: noexcept, inline
        """Return 1 if a burst's row is open and usable, else 0; a number, for arithmetic, not branches."""
        bank = self.queues.bank[entry]
        return (self.device.open_row[bank] == self.queues.row[entry]) & (bank != self._bank_due)

    def _row_ready(self, entry: int) -> int:  # C: noexcept, inline
        """Return the earliest cycle of a burst's ACT or PRE; at least ``MAX_TIME`` if it cannot have one."""
        return self.device.ready[self._next_row[self.queues.bank[entry]]] + MAX_TIME * self._hits(entry)

    def _column_ready(self, entry: int) -> int:  # C: noexcept, inline
        """Return the earliest RD or WR of a burst whose row is open; no RD while ``returns`` is full."""
        if self.returns.count == self.returns.capacity and not self.queues.write[entry]:
            return MAX_TIME
        return self.device.ready[self.queues.column[entry]]

    def _advance(self, entry: int, now: int) -> None:
        """Issue the next command of a burst."""
        bank = self.queues.bank[entry]
        row = self.device.open_row[bank]
        if not self.queues.counted[entry]:
            self._count(entry, row)
        if row == self.queues.row[entry]:
            self._issue_column(self.mode, entry, now)
        elif row == CLOSED:
            self._open_row(entry, bank, now)
        else:
            self._close_row(bank, now)

    def _count(self, entry: int, open_row: int) -> None:  # C: noexcept
        self.queues.counted[entry] = 1
        self.hits += open_row == self.queues.row[entry]
        self.misses += open_row == CLOSED
        self.conflicts += open_row not in (CLOSED, self.queues.row[entry])

    def _issue_column(self, queue: int, entry: int, now: int) -> None:
        """Issue the RD or WR of a burst, and remove the burst from the queues."""
        bank = self.queues.bank[entry]
        pseudo = self.device.pseudo_channel(bank)
        if self.queues.write[entry]:
            self.device.write(bank, now)
            self.write_bursts[pseudo] += 1
            self.last_write = now
        else:
            self.device.read(bank, now)
            self.read_bursts[pseudo] += 1
            self.returns.append(self.queues.request[entry], now + self.read_latency)
        self.queues.remove(queue, entry)
        self.queues.free(entry)
        self.waiting -= 1
        self.refresh.waiting_bursts[bank] -= 1
        if queue == OPENED:
            self._reserved[bank] = 0
        closes = self._closes and not (self._reserved[bank] or self.queues.shares_row(entry))
        if closes:
            self.device.auto_precharge(bank)
        if bank != self._bank_due and (closes or queue == OPENED):  # a due bank stays blocked
            self._next_row[bank] = bank + (self.device.activates if closes else self.device.precharges)
        if queue != OPENED:
            self._column_bound = now + 1  # the search ended at this burst; a younger one may be ready too
        # The bank may now be precharged: the burst that kept its row open is served.
        self._row_bound = min(self._row_bound, self.device.ready[self.device.precharges + bank])

    def _close_row(self, bank: int, now: int) -> None:
        self.device.precharge(bank, now)
        self._row_closed(bank)
        self._row_bound = now + 1

    def _open_row(self, entry: int, bank: int, now: int) -> None:
        """Open the row of a burst, which gives the burst priority over all others."""
        self.device.activate(bank, self.queues.row[entry], now)
        self.queues.remove(self.mode, entry)
        self.queues.append(OPENED, entry)
        self._next_row[bank] = self.device.never  # no PRE before the RD or WR of the burst
        self._reserved[bank] = 1
        self._row_bound = now + 1
        ready = self._column_ready(entry)
        self._opened_bound = min(self._opened_bound, ready)
        self._column_bound = min(self._column_bound, ready)  # other bursts may need this row as well

    def catch_up(self, now: int) -> None:  # C: cdef
        """Issue the refreshes of the cycles before ``now`` since the last step; no burst waited in them."""
        cycle = self._next_refresh_step()
        while cycle < now:
            self._fall_due(cycle)
            self._serve_refresh(cycle)
            self._last_cycle = cycle
            cycle = self._next_refresh_step()

    def _next_refresh_step(self) -> int:  # C: noexcept
        return max(self._refresh_ready() if self.refresh.owed else self.refresh.due, self._last_cycle + 1)

    def _fall_due(self, now: int) -> None:  # C: noexcept
        if self.refresh.due <= now:
            was_idle = self.refresh.owed == 0
            self.refresh.fall_due(now)
            if was_idle:
                self._keep_bank()

    def _keep_bank(self) -> None:  # C: noexcept
        """Choose the bank whose own refresh is due, and block it for the bursts of the queues."""
        if self.refresh.by_bank and self.refresh.owed:
            self.refresh.choose()
            self._bank_due = self.refresh.bank
            self._next_row[self._bank_due] = self.device.never

    def _all_wait(self) -> bool:  # C: noexcept, inline
        """Return whether a refresh of all banks is due."""
        return self.refresh.owed > 0 and not self.refresh.by_bank

    def _refresh_ready(self) -> int:  # C: noexcept
        """Return the earliest cycle of a due refresh's next command, ``MAX_TIME`` if none or if it waits."""
        if self.refresh.owed == 0:
            return MAX_TIME
        if self.refresh.by_bank:
            return self._bank_refresh_ready(self.refresh.bank)
        pseudo = self.refresh.pseudo
        for bank in range(self.device.banks):
            if self._reserved[bank] and self.device.pseudo_channel(bank) == pseudo:
                return MAX_TIME  # a PREA would close the row that was opened for a burst
        if self.device.any_open(pseudo):
            return self.device.precharge_all_ready(pseudo)
        return self.device.refresh_ready(pseudo)

    def _bank_refresh_ready(self, bank: int) -> int:  # C: noexcept
        if self._reserved[bank]:
            return MAX_TIME
        if self.device.open_row[bank] == CLOSED:
            return self.device.bank_refresh_ready(bank)
        return max(self.device.ready[self.device.precharges + bank], self.device.row_bus)

    def _serve_refresh(self, now: int) -> bool:
        """Issue the PRE, PREA, REF or REFB of a due refresh if it is ready; return whether it was."""
        if self._refresh_ready() > now:
            return False
        if self.refresh.by_bank:
            self._refresh_bank(self.refresh.bank, now)
        else:
            self._refresh_all(self.refresh.pseudo, now)
        return True

    def _refresh_bank(self, bank: int, now: int) -> None:
        if self.device.open_row[bank] == CLOSED:
            self.device.refresh_bank(bank, now)
            self.refresh.complete()
            self._row_closed(bank)
            self._bank_due = NOBODY
            self._keep_bank()  # further refreshes may be due
            self.recheck()
        else:
            self.device.precharge(bank, now)  # the bank stays blocked: its next row command is the REFB

    def _refresh_all(self, pseudo: int, now: int) -> None:
        """Issue the REF of a pseudo-channel, or the PREA before it while a row is open."""
        if self.device.any_open(pseudo):
            self.device.precharge_all(pseudo, now)
            for bank in range(self.device.banks):
                if self.device.pseudo_channel(bank) == pseudo:
                    self._row_closed(bank)
        else:
            self.device.refresh(pseudo, now)
            self.refresh.complete()
            if self.refresh.owed == 0:
                self.recheck()

    def _row_closed(self, bank: int) -> None:  # C: noexcept, inline
        """Note that a bank is closed and needs an ACT next."""
        self._next_row[bank] = self.device.activates + bank
