cimport cython

from hw.streams.block cimport StreamBlock
from hw.streams.growing cimport Growing
from sim.channel cimport Channel

cdef long DATA, DONE, STOP, Q16

cdef class Writer(StreamBlock):
    cdef public long stored
    cdef public Channel source

    cpdef long update(self, long now) except? -2
    cpdef int take(self, long kind) except -1

cdef class ValuesWriter(Writer):
    cdef readonly Growing memory
    cdef readonly bint of_integers
    cdef public Channel in_val

    cdef int _store(self) except -1
    cpdef int take(self, long kind) except -1

cdef class CompressedWriter(Writer):
    cdef readonly Growing level
    cdef readonly Growing ends
    cdef readonly bint begun
    cdef readonly long level_before
    cdef public Channel in_crd

    cpdef int take(self, long kind) except -1
    @cython.final
    @cython.locals(empty=bint)
    cdef int _end_fiber(self, long level) except -1
