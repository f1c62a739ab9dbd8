cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long DATA, DONE

cdef class BitExpander(StreamBlock):
    cdef readonly object left
    cdef readonly long first
    cdef readonly long reference
    cdef readonly long words
    cdef public Channel in_bv
    cdef public Channel in_ref
    cdef public OutputStream out_crd
    cdef public OutputStream out_ref

    @cython.locals(kind=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    @cython.locals(kind=long, payload=long)
    cdef long _take(self, long now) except -1
    @cython.final
    @cython.locals(source=Channel)
    cdef int _take_reference(self, long kind, long payload, long now) except -1
    @cython.final
    cdef int _send_bit(self) except -1
