cimport cython

cdef long FAR

@cython.final
cdef class RefreshTimer:
    cdef readonly bint by_bank
    cdef readonly long due, owed, pseudo, bank
    cdef readonly long[::1] made
    cdef readonly long[::1] wanted
    cdef bint _ahead
    cdef long _pseudo_channels, _turns, _interval, _rounds, _turn, _taken

    cdef void fall_due(self, long now) noexcept
    cdef void choose(self) noexcept
    cdef void done(self) noexcept
