cimport cython

@cython.final
cdef class ReorderWindow:
    cdef readonly long size
    cdef readonly long sent
    cdef readonly long arrived
    cdef signed char[::1] _here

    cpdef long in_flight(self) noexcept
    cpdef bint has_room(self) noexcept
    cpdef long send(self) except -1
    cpdef long receive(self, long slot) except -1
