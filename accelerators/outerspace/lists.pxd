cimport cython

@cython.final
cdef class RowLists:
    cdef readonly object row_products
    cdef readonly long most_lists
    cdef readonly int[::1] rows
    cdef readonly long[::1] first
    cdef public long[::1] addresses
    cdef public long[::1] following
    cdef public long[::1] heads
    cdef public int[::1] columns
    cdef public double[::1] values
