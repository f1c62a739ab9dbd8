# Written by hand: a benchmark of the engine is to change only by hand.
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef class Counter(Component):
    cdef public long count
    cdef public long sent
    cdef Channel out
    cpdef long tick(self, long now) except? -2

cdef class Increment(Component):
    cdef public long additions
    cdef Channel source
    cdef Channel out
    cpdef long tick(self, long now) except? -2

cdef class Total(Component):
    cdef public long total
    cdef Channel source
    cpdef long tick(self, long now) except? -2
