from hw.streams.block cimport StreamBlock
from hw.streams.growing cimport Growing
from sim.channel cimport Channel

cdef long DATA, DONE

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
