cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long DATA, DONE, EMPTY, STOP

cdef class DenseLocator(StreamBlock):
    cdef readonly long size
    cdef readonly long found
    cdef readonly long missed
    cdef public Channel in_crd
    cdef public Channel in_ref
    cdef public Channel in_base
    cdef public OutputStream out_crd
    cdef public OutputStream out_ref
    cdef public OutputStream out_ref2

    @cython.locals(kind=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    @cython.locals(kind=long, reference=long, base=long)
    cdef long _kind(self) except -1
    @cython.final
    cdef long _base(self) noexcept
    @cython.final
    cdef int _send(self, long kind) except -1
    @cython.final
    @cython.locals(coordinate=long)
    cdef int _send_found(self) except -1
