cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long Q18, DATA, DONE, STOP

@cython.final
cdef class FiberMaker:
    cdef OutputStream outer_stream
    cdef OutputStream inner_stream
    cdef bint open
    cdef long outer
    cdef bint ends_all

    cdef long offer(self, long kind, long outer, long inner) except -1
    cdef long _end(self) except -1

cdef class PointToFiber(StreamBlock):
    cdef FiberMaker maker
    cdef public Channel in_outer
    cdef public Channel in_inner
    cdef public OutputStream out_outer
    cdef public OutputStream out_inner

    @cython.locals(outer=Channel, inner=Channel, kind=long, sent=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef int _refuse(self, long now) except -1
