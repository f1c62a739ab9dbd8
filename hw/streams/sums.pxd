cimport cython

@cython.final
cdef class Sums:
    cdef list order
    cdef dict sums
    cdef dict hits

    @cython.locals(hits=long)
    cdef long add(self, long coordinate, double value) except -1
    cdef long next(self, long last) except -1
    cdef bint ends_with(self, long coordinate) except -1
