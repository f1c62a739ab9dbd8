cimport cython

@cython.final
cdef class CompressedRows:
    cdef readonly long rows
    cdef public long[::1] pointers
    cdef public int[::1] coordinates
    cdef public double[::1] values
