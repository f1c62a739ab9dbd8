cimport cython

cdef long CLOSED, ACTIVATES_IN_WINDOW
cdef long ACTIVATE, PRECHARGE, READ_COLUMN, WRITE_COLUMN, REFRESH, PRECHARGE_ALL

@cython.final
cdef class Device:
    cdef public list log
    cdef readonly long pseudo_channels
    cdef readonly long banks
    cdef long _banks_per_pseudo, _group_shift, _pseudo_shift, _activate_cycles
    cdef long _activate_to_read, _activate_to_write, _activate_to_precharge, _activate_to_refresh, _row_cycle
    cdef long _activate_same_group, _activate_other_group, _activate_window
    cdef long _precharge_to_activate, _precharge_to_refresh, _precharge_to_precharge
    cdef long _refresh_to_activate, _refresh_to_precharge
    cdef long _column_other_group, _column_same_group
    cdef long _read_to_write, _read_to_precharge
    cdef long _write_to_read_other_group, _write_to_read_same_group, _write_to_precharge
    cdef readonly long[::1] open_row
    cdef long[::1] _bank_activate, _bank_precharge, _bank_read, _bank_write
    cdef long[::1] _group_activate, _group_read, _group_write
    cdef long[::1] _pseudo_activate, _pseudo_precharge, _pseudo_precharge_all, _pseudo_refresh
    cdef long[::1] _pseudo_read, _pseudo_write
    cdef long _row_bus
    cdef long[::1] _open_banks, _window, _oldest

    cpdef long pseudo_channel(self, long bank) noexcept
    cpdef bint any_open(self, long pseudo) noexcept
    cpdef long read_ready(self, long bank) noexcept
    cpdef long write_ready(self, long bank) noexcept
    cpdef long activate_ready(self, long bank) noexcept
    cpdef long precharge_ready(self, long bank) noexcept
    cpdef long precharge_all_ready(self, long pseudo) noexcept
    cpdef long refresh_ready(self, long pseudo) noexcept
    cpdef int read(self, long bank, long cycle) except -1
    cpdef int write(self, long bank, long cycle) except -1
    cdef void _hold_open(self, long bank, long pseudo, long until) noexcept
    cpdef int activate(self, long bank, long row, long cycle) except -1
    cdef void _limit_activates(self, long pseudo, long cycle) noexcept
    cpdef int precharge(self, long bank, long cycle) except -1
    cpdef int precharge_all(self, long pseudo, long cycle) except -1
    cdef void _after_precharge(self, long pseudo, long cycle) noexcept
    cpdef int refresh(self, long pseudo, long cycle) except -1
    cdef int _record(self, long command, long pseudo, long bank, long row, long cycle) except -1

cdef long _later(long first, long second) noexcept
