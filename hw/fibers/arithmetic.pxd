cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP

cdef class Multiplier(Component):
    cdef double[::1] scales
    cdef long registers
    cdef readonly long multiply
    cdef public Channel operands
    cdef public Channel products

    cpdef long tick(self, long now) except? -2

cdef class PairMultiplier(Component):
    cdef readonly long multiply
    cdef public Channel a
    cdef public Channel b
    cdef public Channel products

    cpdef long tick(self, long now) except? -2

cdef class Accumulator(Component):
    cdef readonly bint holding
    cdef readonly long coordinate
    cdef readonly double sum
    cdef readonly long add
    cdef readonly long emitted
    cdef public Channel products
    cdef public Channel sums

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _wait_for(self, long slots) except? -2
    @cython.final
    cdef int _emit(self) except -1
    @cython.final
    cdef int _hold(self) except -1
