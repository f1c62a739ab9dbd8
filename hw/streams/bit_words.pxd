cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long Q20, DATA, DONE

cdef class BitVector(StreamBlock):
    cdef readonly object word
    cdef public Channel in_crd
    cdef public OutputStream out_bv

    @cython.locals(source=Channel, kind=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef int _send_word(self) except -1

cdef class Chunker(StreamBlock):
    cdef readonly long width
    cdef readonly long chunks
    cdef readonly object word
    cdef readonly long parts
    cdef readonly bint sending
    cdef readonly long place
    cdef readonly long ones
    cdef readonly long count
    cdef public Channel in_bv
    cdef public OutputStream out_bv
    cdef public OutputStream out_ref

    @cython.locals(source=Channel, kind=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    @cython.locals(source=Channel)
    cdef int _take_parts(self) except -1
    @cython.final
    cdef int _send_chunk(self) except -1
