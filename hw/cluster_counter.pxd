cimport cython

from hw.rows cimport ArrayPipeline

cdef class ClusterCounter(ArrayPipeline):
    cdef readonly long clusters

    cdef int _compute(self, long number, long reference, long place) except -1
