cimport cython

@cython.final
cdef class StreamOfA:
    cdef readonly long count
    cdef public long[::1] addresses
    cdef public long[::1] needed
    cdef public long[::1] first_needed
    cdef public long[::1] merges
