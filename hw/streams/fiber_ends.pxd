cimport cython

@cython.final
cdef class FiberEnds:
    cdef readonly bint forgets_empty
    cdef readonly bint begun
    cdef readonly long level_before

    cpdef void element(self) noexcept
    @cython.locals(empty=bint, ends=bint)
    cpdef bint stop(self, long level) noexcept
