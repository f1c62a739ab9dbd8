cimport cython

cdef long CLOSED, ACTIVATES_IN_WINDOW
cdef long NONE, ACTIVATE, PRECHARGE, READ_COLUMN, WRITE_COLUMN, REFRESH, PRECHARGE_ALL, REFRESH_BANK

@cython.final
cdef class Device:
    cdef public list log
    cdef readonly long pseudo_channels
    cdef readonly long banks
    cdef long _group_banks, _pseudo_banks, _group_shift, _pseudo_shift, _activate_cycles
    cdef long _activate_to_read, _activate_to_write, _activate_to_precharge, _activate_to_refresh, _row_cycle
    cdef long _activate_same_group, _activate_other_group, _activate_window
    cdef long _precharge_to_activate, _precharge_to_refresh, _precharge_to_precharge
    cdef long _refresh_to_activate, _refresh_to_precharge, _activate_to_bank_refresh
    cdef long _bank_refresh_to_refresh, _bank_refresh_to_activate
    cdef long _bank_refresh_to_other_refresh, _bank_refresh_to_other_activate
    cdef long _column_other_group, _column_same_group, _column_to_column
    cdef long _read_to_write, _read_to_precharge
    cdef long _write_to_read_other_group, _write_to_read_same_group, _write_to_precharge
    cdef readonly long[::1] open_row
    cdef readonly long reads, writes, activates, precharges, never
    cdef readonly long[::1] ready
    cdef readonly long row_bus, column_bus
    cdef long[::1] _precharge_all, _refresh, _any_bank_refresh, _bank_refresh, _open_banks, _window, _oldest
    cdef long[::1] _column_bus
    cdef readonly long[::1] issued
    cdef readonly long row_command, row_bank, row, column_command, column_bank

    cpdef void begin(self) noexcept

    cpdef long pseudo_channel(self, long bank) noexcept
    cpdef bint any_open(self, long pseudo) noexcept
    cpdef long precharge_all_ready(self, long pseudo) noexcept
    cpdef long refresh_ready(self, long pseudo) noexcept
    cpdef long bank_refresh_ready(self, long bank) noexcept
    cpdef int read(self, long bank, long cycle) except -1
    cpdef int write(self, long bank, long cycle) except -1
    cdef void _take_column_bus(self, long pseudo, long cycle) noexcept
    cdef void _in_pseudo(self, long command, long pseudo, long until) noexcept
    cdef void _in_group(self, long command, long bank, long until) noexcept
    cdef void _in_bank(self, long command, long bank, long until) noexcept
    cdef void _hold_open(self, long bank, long pseudo, long until) noexcept
    cpdef int activate(self, long bank, long row, long cycle) except -1
    cdef long _next_in_window(self, long pseudo, long cycle) noexcept
    cpdef int precharge(self, long bank, long cycle) except -1
    cpdef int precharge_all(self, long pseudo, long cycle) except -1
    cdef void _after_precharge(self, long pseudo, long cycle) noexcept
    cpdef int refresh(self, long pseudo, long cycle) except -1
    cpdef int refresh_bank(self, long bank, long cycle) except -1
    cdef int _record(self, long command, long pseudo, long bank, long row, long cycle) except -1

cdef void _raise(long[::1] ready, long first, long last, long until) noexcept
