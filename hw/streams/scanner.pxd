cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long DATA, DONE, EMPTY, STOP, WANTS_FIBER, OWES_STOP, IN_FIBER, Q0, Q5

cdef class Scanner(StreamBlock):
    cdef public long mode
    cdef public Channel in_ref
    cdef public OutputStream out_crd
    cdef public OutputStream out_ref

    cpdef long update(self, long now) except? -2
    cpdef long begin(self, long reference, long now) except? -2
    cpdef long advance(self, long now) except? -2
    cpdef int send(self, long kind, long coordinate, long reference) except -1
    cpdef long end_fiber(self, long now) except? -2
    cpdef long take_stop(self, long level, long now) except? -2
    cpdef long end_empty_fiber(self, long now) except? -2
    cpdef long take_empty(self, long now) except? -2
    @cython.final
    @cython.locals(kind=long, payload=long)
    cdef long _take(self, long now) except? -2
