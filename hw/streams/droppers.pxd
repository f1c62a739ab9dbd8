cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long Q18, DONE, STOP, NO_STOP

cdef class Dropper(StreamBlock):
    cdef readonly tuple ports
    cdef public Channel in_stream
    cdef public OutputStream out_stream

    @cython.final
    @cython.locals(source=Channel)
    cdef int pass_head(self) except -1

cdef class StopDropper(Dropper):
    cdef readonly long dropped

    @cython.locals(source=Channel, kind=long)
    cpdef long update(self, long now) except? -2

@cython.final
cdef class StopMerger:
    cdef OutputStream stream
    cdef long quirks
    cdef bint begun
    cdef long level
    cdef readonly long dropped

    cdef bint offer(self, long kind, long payload, double value) except -1

cdef class EmptyFiberDropper(Dropper):
    cdef StopMerger merger

    @cython.locals(source=Channel, kind=long)
    cpdef long update(self, long now) except? -2
