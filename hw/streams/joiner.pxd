cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.sim cimport inline
from fiberscope.sim.channel cimport Channel

cdef long DATA, DONE, EMPTY, STOP, Q2, Q11, NOTHING, EMPTY_KEY, STOP_KEY, DONE_KEY

cdef class Joiner(StreamBlock):
    cdef dict __dict__  # for as many outputs as there are operands
    cdef readonly long ways
    cdef readonly bint looks_ahead
    cdef readonly long[::1] keys
    cdef readonly long[::1] kinds
    cdef readonly long[::1] references
    cdef readonly tuple ports
    cdef readonly list out_refs
    cdef public list in_crd
    cdef public list in_ref
    cdef public OutputStream out_crd

    @cython.locals(missing=Channel, way=long)
    cpdef long update(self, long now) except? -2
    cpdef long join(self, long now) except? -2
    cpdef bint ends_alone(self) except -1
    cpdef bint accepts_empty(self) except -1
    @cython.final
    @cython.locals(crd=Channel, ref=Channel, way=long)
    cdef Channel _missing(self)
    @cython.final
    @cython.locals(crd=Channel, ref=Channel, kind=long, payload=long)
    cdef int _read(self, long way, long now) except -1
    @cython.final
    cdef int advance(self, long way, long now) except -1
    @cython.final
    @cython.locals(way=long)
    cdef int advance_all(self, long now) except -1
    @cython.final
    @cython.locals(way=long, highest=long)
    cdef long highest(self) noexcept
    @cython.final
    @cython.locals(way=long, lowest=long)
    cdef long lowest(self) noexcept
    @cython.final
    cdef int push_head(self, OutputStream stream, long key) except -1
    @cython.final
    @cython.locals(stream=OutputStream)
    cdef int send_reference(self, long way) except -1
    @cython.final
    @cython.locals(way=long)
    cdef int send_equal(self, long key) except -1
    @cython.final
    cdef long send_done(self, long now) except? -2
    @cython.final
    cdef int check_stops(self, long lowest, long now) except -1
