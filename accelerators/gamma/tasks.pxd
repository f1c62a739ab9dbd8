cimport cython

from fiberscope.hw.fibers.tasks cimport TaskInputs

@cython.final
cdef class TaskTable(TaskInputs):
    cdef public long[::1] parents
    cdef public long[::1] missing
    cdef public long[::1] last_nonzeros
    cdef public long[::1] output_starts
    cdef public long[::1] output_lengths
    cdef public long[::1] row_lengths
