cimport cython

from fiberscope.sim cimport words

cdef long WORD_BITS, WORD

@cython.final
cdef class Instants:
    cdef readonly long count
    cdef long levels
    cdef long[::1] starts
    cdef unsigned int[::1] bits

    @cython.locals(level=long, place=long, before=long, one=long)
    cpdef void add(self, long instant) noexcept
    @cython.locals(level=long, place=long, one=long)
    cpdef bint remove(self, long instant) noexcept
    @cython.locals(level=long, place=long)
    cpdef long latest(self) noexcept
