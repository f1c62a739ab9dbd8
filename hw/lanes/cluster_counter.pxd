cimport cython

from fiberscope.hw.lanes.rows cimport ArrayPipeline

cdef class ClusterCounter(ArrayPipeline):
    cdef readonly long clusters

    cdef int _compute(self, long number, long reference, long place) except -1
