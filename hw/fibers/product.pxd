cimport cython

@cython.final
cdef class ProductRows:
    cdef object coordinate_pages
    cdef object value_pages
    cdef public long[::1] starts
    cdef object order
    cdef object together
    cdef public int[::1] coordinates
    cdef public double[::1] values

    cdef object _gather(self, object lengths)
