from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long STOP

cdef class FirstTouches(Component):
    cdef readonly long count
    cdef readonly long touches
    cdef public Channel touched
    cdef public Channel ready

    cpdef long tick(self, long now) except? -2
