cimport cython

@cython.final
cdef class Queue:
    cdef readonly long count
    cdef long _room
    cdef long _head
    cdef long[::1] _integers
    cdef double[::1] _values

    cdef int _allocate(self, long room) except -1
    @cython.locals(place=long)
    cpdef int put(self, long number) except -1
    @cython.locals(place=long)
    cpdef int put_value(self, double value) except -1
    cdef long _grow(self) except -1
    @cython.locals(words=long[::1], head=long, room=long, place=long)
    cdef int _double(self) except -1
    cdef long _at(self, long place) noexcept
    cpdef long integer(self, long place) noexcept
    cpdef double value(self, long place) noexcept
    cpdef int drop(self, long words) except -1
