cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP
cdef long HOP, WEIGH, COPY, OWN

cdef class EdgeProcessor(Component):
    cdef object function
    cdef long way
    cdef double[::1] weights
    cdef bint weighted
    cdef long streams
    cdef long through
    cdef readonly long edges
    cdef public Channel source
    cdef public Channel updates

    @cython.locals(last=bint, stops=bint)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef int _end(self, bint last) except -1
    @cython.final
    @cython.locals(value=double, weight=double)
    cdef double _message(self) except? -1
