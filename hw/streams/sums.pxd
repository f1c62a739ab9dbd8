cimport cython

cdef long FIRST_ROOM

@cython.final
cdef class Sums:
    cdef readonly long count
    cdef long _room
    cdef long[::1] _order
    cdef long[::1] _elements
    cdef double[::1] _sums

    cdef int _allocate(self, long room) except -1
    @cython.locals(place=long, element=long)
    cpdef long add(self, long coordinate, double value) except -1
    @cython.locals(order=long[::1], element=long, at=long)
    cdef int _insert(self, long place, long coordinate, double value) except -1
    @cython.locals(order=long[::1], elements=long[::1], sums=double[::1], place=long)
    cdef int _double(self) except -1
    @cython.locals(low=long, high=long, middle=long)
    cpdef long behind(self, long coordinate) noexcept
    cpdef long coordinate(self, long place) noexcept
    cpdef double sum(self, long place) noexcept
