cimport cython

from fiberscope.hw.lanes.rows cimport ArrayPipeline

cdef class SortingNetwork(ArrayPipeline):
    cdef readonly long comparators
    cdef readonly long chunks

    cdef int _compute(self, long number, long reference, long place) except -1
    @cython.locals(before=long, count=long, last=long)
    cdef int _take(self, long place) except -1
    @cython.final
    @cython.locals(coordinate=long, reference=long, value=double)
    cdef int _insert(self, long first, long last) except -1
