cimport cython

from hw.level cimport Level
from hw.streams.block cimport StreamBlock
from hw.streams.output cimport OutputStream
from sim.channel cimport Channel

cdef long DATA, DONE, EMPTY, STOP, MISSING

cdef class Locator(StreamBlock):
    cdef readonly bint missing_empty
    cdef readonly long found
    cdef readonly long missed
    cdef bint _searching
    cdef long _ends
    cdef public Channel in_crd
    cdef public Channel in_ref
    cdef public Channel in_base
    cdef public OutputStream out_crd
    cdef public OutputStream out_ref
    cdef public OutputStream out_ref2

    cpdef long find(self, long fiber, long coordinate) except? -2
    cpdef long search_cycles(self, long fiber) except -1
    @cython.locals(kind=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    @cython.locals(kind=long, reference=long, base=long)
    cdef long _kind(self) except -1
    @cython.final
    cdef bint _goes_on(self, long now) except -1
    @cython.final
    cdef long _base(self) noexcept
    @cython.final
    @cython.locals(reference=long)
    cdef int _send(self, long kind) except -1
    @cython.final
    cdef int _miss(self) except -1
    @cython.final
    cdef int _send_found(self, long reference) except -1

cdef class DenseLocator(Locator):
    cdef readonly long size

    cpdef long find(self, long fiber, long coordinate) except? -2

cdef class CompressedLocator(Locator):
    cdef readonly Level level

    @cython.locals(left=long, cycles=long)
    cpdef long search_cycles(self, long fiber) except -1
    @cython.locals(end=long, position=long, here=bint)
    cpdef long find(self, long fiber, long coordinate) except? -2
