cimport cython

from fiberscope.hw.lanes.rows cimport ConstantPipeline

cdef class PositionMultiplier(ConstantPipeline):
    cdef long stages
    cdef long digit

    @cython.locals(total=long, stage=long, digit=long)
    cdef int _compute(self, long number, long reference, long place) except -1
