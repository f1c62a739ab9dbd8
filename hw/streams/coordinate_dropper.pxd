cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long Q19, DATA, DONE, STOP, NOTHING_HELD

cdef class CoordinateDropper(StreamBlock):
    cdef readonly tuple ports
    cdef readonly object carries
    cdef readonly long outer_kind
    cdef readonly long outer
    cdef readonly bint wants_outer
    cdef readonly bint wants_inner
    cdef readonly bint after_stop
    cdef readonly bint pairs
    cdef readonly bint seen
    cdef readonly long held_kind
    cdef readonly long held
    cdef readonly double held_value
    cdef readonly long dropped
    cdef public Channel in_outer
    cdef public Channel in_inner
    cdef public OutputStream out_outer
    cdef public OutputStream out_inner

    @cython.locals(fired=bint, stops=bint)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef bint _take_outer(self) except -1
    @cython.final
    @cython.locals(kind=long, payload=long)
    cdef long _take_inner(self, long now) except? -2
    @cython.final
    cdef int _check(self, long kind, long payload, long now) except -1
    @cython.final
    cdef int _refuse(self, long kind, long payload, long now) except -1
    @cython.final
    @cython.locals(empty=bint)
    cdef int _forward(self, long kind, long payload, double value) except -1

cdef class ValueDropper(StreamBlock):
    cdef readonly long dropped
    cdef public Channel in_outer
    cdef public Channel in_inner
    cdef public OutputStream out_outer
    cdef public OutputStream out_inner

    @cython.locals(crd=Channel, val=Channel, kind=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef int _refuse(self, long now) except -1
