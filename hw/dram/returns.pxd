cimport cython

cdef long FAR

@cython.final
cdef class Returns:
    cdef readonly long capacity
    cdef readonly long count
    cdef readonly long[::1] tag
    cdef readonly long[::1] address
    cdef readonly long[::1] arrival
    cdef long _head, _unused_count
    cdef long[::1] _request, _due, _missing, _unused

    cdef long open(self, long tag, long address, long bursts, long cycle) noexcept
    cdef void append(self, long request, long due) noexcept
    cdef long due(self) noexcept
    cdef bint completes(self) noexcept
    cdef long pop(self) noexcept
