cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long Q21, Q22, DATA, DONE, STOP, NO_CHUNK

cdef class Split(StreamBlock):
    cdef readonly long factor
    cdef readonly bint original
    cdef readonly long chunk
    cdef readonly bint open
    cdef readonly bint after_stop
    cdef readonly long chunks
    cdef public Channel in_crd
    cdef public OutputStream out_outer
    cdef public OutputStream out_inner

    @cython.locals(source=Channel, kind=long, payload=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    @cython.locals(chunk=long)
    cdef void _place(self, long coordinate) except *
    @cython.final
    cdef int _end_fiber(self, long level) except -1

cdef class Flatten(StreamBlock):
    cdef readonly long factor
    cdef readonly long kind
    cdef readonly long outer
    cdef readonly bint holds
    cdef readonly bint wants_outer
    cdef public Channel in_outer
    cdef public Channel in_inner
    cdef public OutputStream out_crd

    @cython.locals(inner=Channel, kind=long, payload=long, ends=bint)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef int _take_outer(self) except -1
    @cython.final
    cdef long _end(self, long kind, long payload, long now) except? -2
    @cython.final
    cdef long _pair_blindly(self, long kind, long payload, long now) except? -2
    @cython.final
    cdef int _refuse(self, long kind, long payload, long now) except -1
