cimport cython

@cython.final
cdef class Level:
    cdef long[::1] segments
    cdef long[::1] coordinates
    cdef double[::1] values
    cdef readonly long fibers

    cdef int _check_segments(self) except -1
    cdef int _check_coordinates(self) except -1
    cpdef int check_fiber(self, long fiber, str reader) except -1
    cpdef long begin(self, long fiber) noexcept
    cpdef long end(self, long fiber) noexcept
    @cython.locals(low=long, high=long, middle=long)
    cpdef long find(self, long fiber, long coordinate) noexcept
    cpdef long coordinate(self, long position) noexcept
    cpdef double value(self, long position) noexcept
