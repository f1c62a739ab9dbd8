cimport cython

from fiberscope.hw.lanes.rows cimport ArrayPipeline

cdef class PrefixSum(ArrayPipeline):
    cdef readonly str form
    cdef readonly long total

    cdef int _begin(self) except -1
    cdef int _compute(self, long number, long reference, long place) except -1

cdef class PrefixPopcount(ArrayPipeline):
    cdef readonly str form
    cdef readonly long most
    cdef readonly long total

    cdef int _begin(self) except -1
    cdef int _compute(self, long number, long reference, long place) except -1
