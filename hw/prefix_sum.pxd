cimport cython

from hw.rows cimport RowPipeline

cdef class PrefixSum(RowPipeline):
    cdef readonly str form
    cdef readonly long total

    cdef int _begin(self) except -1
    cdef int _compute(self, long number, long reference, long place) except -1
