cimport cython

cdef long NONE

@cython.final
cdef class MissTable:
    cdef readonly long registers
    cdef readonly long used
    cdef public long[::1] lines
    cdef public long[::1] places
    cdef public long[::1] first
    cdef long[::1] last
    cdef long next_register
    cdef long lowest
    cdef public long[::1] operations
    cdef public long[::1] target_tags
    cdef long[::1] following
    cdef long free_target

    cpdef bint full(self) noexcept
    cpdef bint can_wait(self) noexcept
    cpdef long open(self, long line, long place) noexcept
    cpdef void close(self, long miss) noexcept
    cpdef void wait(self, long miss, long operation, long tag) noexcept
    cpdef long next_target(self, long miss) noexcept
