cimport cython

@cython.final
cdef class Growing:
    cdef readonly long room
    cdef readonly long count
    cdef long[::1] _integers
    cdef double[::1] _values

    cdef int _allocate(self) except -1
    cpdef int append(self, long number) except -1
    cpdef long integer(self, long place) noexcept
    cpdef int clear(self) except -1
    cpdef int append_value(self, double value) except -1
    @cython.locals(words=long[::1])
    cdef int _double(self) except -1
