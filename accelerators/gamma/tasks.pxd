cimport cython

@cython.final
cdef class TaskTable:
    cdef readonly long count
    cdef readonly long radix
    cdef public long[::1] rows
    cdef public long[::1] first_inputs
    cdef public long[::1] inputs
    cdef public long[::1] parents
    cdef public long[::1] missing
    cdef public long[::1] last_nonzeros
    cdef public long[::1] starts
    cdef public long[::1] ends
    cdef public long[::1] output_starts
    cdef public long[::1] output_lengths
    cdef public long[::1] row_lengths
