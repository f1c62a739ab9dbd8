cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim.channel cimport Channel

cdef long DATA, DONE

cdef class WordIntersect(StreamBlock):
    cdef readonly bint emits_zeros
    cdef readonly object left
    cdef object word_a
    cdef object word_b
    cdef long reference_a
    cdef long reference_b
    cdef readonly long words
    cdef readonly long matches
    cdef public list in_bv
    cdef public list in_ref
    cdef Channel bv_a
    cdef Channel bv_b
    cdef Channel ref_a
    cdef Channel ref_b
    cdef public OutputStream out_bv
    cdef public OutputStream out_ref0
    cdef public OutputStream out_ref1

    @cython.locals(channel=Channel, kind_a=long, kind_b=long, level=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef int _join(self, long kind_a, long kind_b, long now) except -1
    @cython.final
    cdef int _take_a(self) except -1
    @cython.final
    cdef int _take_b(self) except -1
    @cython.final
    cdef int _send_references(self) except -1
