cimport cython

from hw.streams.block cimport StreamBlock
from hw.streams.fiber_ends cimport FiberEnds
from hw.streams.growing cimport Growing
from sim.channel cimport Channel

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

cdef class DenseWriter(StreamBlock):
    cdef readonly long size
    cdef readonly Growing memory
    cdef readonly long stored
    cdef readonly long fibers
    cdef readonly FiberEnds ends
    cdef public Channel in_crd
    cdef public Channel in_val

    @cython.locals(kind=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef int _store(self, long coordinate, double value) except -1
    @cython.final
    cdef int _end_fiber(self, long level) except -1
