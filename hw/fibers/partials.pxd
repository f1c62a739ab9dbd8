cimport cython

@cython.final
cdef class PartialStore:
    cdef readonly long granule
    cdef public int[::1] coordinates
    cdef public double[::1] values
    cdef readonly long used
    cdef dict free

    cpdef long allocate(self, long elements) except -1
    cpdef release(self, long start, long elements)
    cdef long _size(self, long elements) except -1
    cdef _grow(self, long elements)
