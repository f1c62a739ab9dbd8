cimport cython

cdef long NOBODY, LISTS, WRITES, SIEVE

@cython.final
cdef class BurstQueues:
    cdef readonly long[::1] bank
    cdef readonly long[::1] row
    cdef readonly long[::1] line
    cdef readonly long[::1] request
    cdef readonly long[::1] arrival
    cdef readonly long[::1] write
    cdef readonly long[::1] column
    cdef readonly long[::1] counted
    cdef readonly long[::1] following
    cdef readonly long[::1] heads
    cdef readonly long[::1] counts
    cdef long[::1] _before, _tails, _sieve
    cdef long _free

    cdef long take(self) noexcept
    cdef void give_back(self, long entry) noexcept
    cdef void append(self, long which, long entry) noexcept
    cdef void remove(self, long which, long entry) noexcept
    cdef bint will_write(self, long line) noexcept
