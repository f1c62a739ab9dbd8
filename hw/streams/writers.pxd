cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.fiber_ends cimport FiberEnds
from fiberscope.hw.streams.growing cimport Growing
from fiberscope.sim.channel cimport Channel

cdef long DATA, DONE, STOP

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

cdef class FiberWriter(Writer):
    cdef readonly Growing level
    cdef readonly FiberEnds ends
    cdef readonly Growing fibers
    cdef readonly Growing stops

    cpdef int take(self, long kind) except -1

cdef class CompressedWriter(FiberWriter):
    cdef public Channel in_crd

cdef class BitVectorWriter(FiberWriter):
    cdef public Channel in_bv
