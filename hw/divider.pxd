cimport cython

from hw.pipeline cimport Pipeline
from sim.channel cimport Channel
from sim.component cimport Component

cdef long DATA, STOP

cdef class Divider(Component):
    cdef readonly long width
    cdef readonly long bits_per_stage
    cdef readonly long largest
    cdef readonly Pipeline pipeline
    cdef long[::1] controls
    cdef long[::1] quotients
    cdef long[::1] remainders
    cdef double[::1] values
    cdef readonly bint within
    cdef readonly long divisor
    cdef readonly long divisions
    cdef readonly long by_zero
    cdef Channel divisors
    cdef Channel dividends
    cdef Channel results

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef int _enter(self, long now) except -1
    @cython.final
    cdef long _checked(self, long number, str port) except -1
    @cython.final
    cdef int _divide(self, long dividend, long slot) except -1
    @cython.final
    cdef int _leave(self, long now) except -1
