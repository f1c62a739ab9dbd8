cimport cython

from hw.rows cimport ArrayPipeline
from sim.channel cimport Channel

cdef class Divider(ArrayPipeline):
    cdef readonly long bits_per_stage
    cdef readonly long divisor
    cdef readonly long by_zero
    cdef Channel divisors

    cdef bint _can_begin(self) noexcept
    cdef int _begin(self) except -1
    cdef int _compute(self, long number, long reference, long place) except -1
    cdef long _wait(self, long shown) except? -2
