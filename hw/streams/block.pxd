cimport cython

from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef class StreamBlock(Component):
    cdef readonly long quirks
    cdef readonly bint done
    cdef readonly long first_input
    cdef readonly long done_cycle
    cdef readonly list streams
    cdef readonly list inputs
    cdef readonly bint bounded

    @cython.locals(full=Channel)
    cpdef long tick(self, long now) except? -2
    cpdef long update(self, long now) except? -2
    @cython.locals(stream=OutputStream)
    cpdef int send_control(self, long kind, long level) except -1
    cpdef long finish(self, long now) except? -2
    @cython.final
    @cython.locals(full=Channel, stream=OutputStream)
    cdef Channel _full(self)
    cdef int _look_for_input(self, long now) except -1
