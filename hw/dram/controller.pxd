cimport cython

from fiberscope.hw.dram.device cimport Device
from fiberscope.hw.dram.queues cimport BurstQueues
from fiberscope.hw.dram.refresh cimport RefreshTimer
from fiberscope.hw.dram.returns cimport Returns

cdef long FAR, NOBODY, READS, WRITES, OPENED, CLOSED
cdef long COLUMN, ROW, ANY_KIND

@cython.final
cdef class Controller:
    cdef readonly Device device
    cdef readonly BurstQueues queues
    cdef readonly Returns returns
    cdef readonly long waiting
    cdef readonly long hits, misses, conflicts, last_write
    cdef readonly long[::1] read_bursts
    cdef readonly long[::1] write_bursts
    cdef long _read_latency, _write_high, _write_low
    cdef bint _in_order, _keeps_hits, _two_buses
    cdef long _opened_bound, _column_bound, _row_bound
    cdef long[::1] _next_row, _held
    cdef readonly RefreshTimer refresh
    cdef long _kept, _last, _search
    cdef long[::1] _spared
    cdef readonly long mode

    cdef int enqueue(self, long which, long bank, long row, long line, long request, long cycle) except -1
    cdef void _lower_bound(self, long entry) noexcept
    cdef void recheck(self) noexcept
    cdef bint step(self, long now) except -1
    cdef long wake(self, long now) noexcept
    cdef bint _serve_opened(self, long now) except -1
    cdef bint _serve_queue(self, long now, long kind) except -1
    cdef inline long _bound(self, long kind) noexcept
    cdef inline void _choose_mode(self) noexcept
    cdef long _first_ready(self, long now, long kind) noexcept
    cdef bint _preempts_hit(self, long entry) noexcept
    cdef inline long _ready(self, long entry, long kind) noexcept
    cdef inline long _hits(self, long entry) noexcept
    cdef inline long _row_ready(self, long entry) noexcept
    cdef inline long _column_ready(self, long entry) noexcept
    cdef int _advance(self, long entry, long now) except -1
    cdef void _count(self, long entry, long open_row) noexcept
    cdef int _issue_column(self, long which, long entry, long now) except -1
    cdef int _close_row(self, long bank, long now) except -1
    cdef int _open_row(self, long entry, long bank, long now) except -1
    cdef int catch_up(self, long now) except -1
    cdef long _next_refresh_step(self) noexcept
    cdef void _fall_due(self, long now) noexcept
    cdef void _keep_bank(self) noexcept
    cdef inline bint _all_wait(self) noexcept
    cdef long _refresh_ready(self) noexcept
    cdef long _bank_refresh_ready(self, long bank) noexcept
    cdef bint _serve_refresh(self, long now) except -1
    cdef int _refresh_bank(self, long bank, long now) except -1
    cdef int _refresh_all(self, long pseudo, long now) except -1
    cdef inline void _row_closed(self, long bank) noexcept
