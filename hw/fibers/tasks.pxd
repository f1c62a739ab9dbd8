cdef class TaskInputs:
    cdef readonly long count
    cdef readonly long radix
    cdef public long[::1] rows
    cdef public long[::1] first_inputs
    cdef public long[::1] inputs
    cdef public long[::1] starts
    cdef public long[::1] ends
