cimport cython

@cython.final
cdef class Pipeline:
    cdef readonly long depth
    cdef readonly long filled
    cdef readonly long lag
    cdef readonly long oldest
    cdef long[::1] _due

    cpdef long due(self) noexcept
    cpdef bint stands(self, long now) noexcept
    cpdef long leave(self, long now) noexcept
    cpdef long enter(self, long now) noexcept
