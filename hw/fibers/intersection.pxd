cimport cython

cdef long TO_THE_MATCH

@cython.final
cdef class FiberIntersection:
    cdef long[::1] coordinates_a
    cdef long[::1] coordinates_b
    cdef double[::1] values_a
    cdef double[::1] values_b
    cdef readonly bint skip
    cdef readonly long a
    cdef readonly long b
    cdef long end_a
    cdef long end_b
    cdef readonly bint met
    cdef readonly long steps
    cdef readonly long matches

    cpdef void begin(self, long a, long end_a, long b, long end_b) noexcept
    cpdef bint ended(self) noexcept
    cpdef bint run(self, long most) noexcept
    cpdef double dot(self) noexcept
    cpdef void take(self) noexcept
