cimport cython

from fiberscope.hw.lanes.rows cimport ConstantPipeline

cdef class Divider(ConstantPipeline):
    cdef readonly long bits_per_stage
    cdef readonly long by_zero

    cdef int _compute(self, long number, long reference, long place) except -1
