cimport cython

cdef long NONE

@cython.final
cdef class Sets:
    cdef readonly long sets
    cdef readonly bint hashed
    cdef readonly long divisor
    cdef readonly long bits

    @cython.locals(rest=long, folded=long)
    cpdef long of(self, long line) noexcept

@cython.final
cdef class TagStore:
    cdef readonly long sets
    cdef readonly long ways
    cdef readonly long priority_limit
    cdef readonly long reuse_limit
    cdef public long[::1] lines
    cdef public short[::1] pending
    cdef public signed char[::1] dirty
    cdef public unsigned short[::1] priorities
    cdef public unsigned char[::1] reuse
    cdef public unsigned short[::1] in_flight
    cdef readonly long held

    cpdef long find(self, long set_index, long line) noexcept
    cpdef long victim(self, long set_index) noexcept
    cdef bint _before(self, long place, long other) noexcept
    cpdef void place_line(self, long place, long line, long priority) noexcept
    cdef bint _equals(self, long place, long other) noexcept
    cdef void _age(self, long victim) noexcept
    cpdef void ask(self, long place, long miss) noexcept
    cpdef void arrive(self, long place) noexcept
    cpdef void note_fetch(self, long place) noexcept
    cpdef void note_read(self, long place) noexcept
    cpdef void drop(self, long place) noexcept
