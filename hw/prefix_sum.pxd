cimport cython

from hw.pipeline cimport Pipeline
from sim.channel cimport Channel
from sim.component cimport Component

cdef long DATA, STOP

cdef class PrefixSum(Component):
    cdef readonly str form
    cdef readonly long lanes
    cdef readonly long width
    cdef readonly long largest
    cdef readonly Pipeline pipeline
    cdef long[::1] lengths
    cdef long[::1] sums
    cdef long[::1] references
    cdef double[::1] values
    cdef readonly bint within
    cdef readonly long total
    cdef readonly long rows
    cdef readonly long numbers
    cdef list inputs
    cdef list outputs

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _full(self) noexcept
    @cython.final
    cdef long _shown(self) noexcept
    @cython.final
    cdef Channel _missing(self)
    @cython.final
    cdef int _enter(self, long now) except -1
    @cython.final
    cdef int _add(self, Channel source, long lane, long place) except -1
    @cython.final
    cdef int _leave(self, long now) except -1
    @cython.final
    cdef Channel _input(self, long lane)
    @cython.final
    cdef Channel _output(self, long lane)
