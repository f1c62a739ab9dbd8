cimport cython

from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.hw.streams.output cimport OutputStream
from fiberscope.hw.streams.points cimport FiberMaker
from fiberscope.hw.streams.queue cimport Queue
from fiberscope.hw.streams.sums cimport Sums
from fiberscope.sim.channel cimport Channel

cdef long Q17, Q18, Q25, DATA, DONE, EMPTY, STOP, BEFORE_ALL, POINT

cdef class Accumulator(StreamBlock):
    cdef bint value_stops
    cdef bint runs_ahead
    cdef dict table
    cdef Sums sums
    cdef long sums_outer
    cdef Queue complete
    cdef Sums reading
    cdef readonly long last
    cdef Queue waiting
    cdef readonly bint ended
    cdef readonly bint read_all
    cdef FiberMaker maker
    cdef readonly long points
    cdef readonly long elements
    cdef readonly long merged
    cdef readonly long most_points
    cdef readonly long held
    cdef readonly long most_held
    cdef public Channel in_crd_outer
    cdef public Channel in_crd_inner
    cdef public Channel in_val
    cdef public OutputStream out_crd_outer
    cdef public OutputStream out_crd_inner
    cdef public OutputStream out_val

    @cython.locals(missing=Channel)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef Channel _missing(self)
    @cython.final
    @cython.locals(outer=Channel, inner=Channel, val=Channel, kind=long, point=long, value=double)
    cdef int _take(self, long now) except -1
    @cython.final
    @cython.locals(hits=long)
    cdef int _add(self, long outer, long inner, double value) except -1
    cpdef int accumulate(self, long outer, long now) except -1
    cpdef int end(self, long now) except -1
    @cython.final
    @cython.locals(outer=long, place=long)
    cdef int _read(self) except -1
    @cython.final
    cdef int _close(self, long outer) except -1
    @cython.final
    cdef int _put(self, long kind, long outer, long inner, double value) except -1
    @cython.final
    @cython.locals(kind=long, value=double, sent=long)
    cdef long _send(self, long now) except? -2

cdef class VectorReduce(Accumulator):
    cdef readonly long row

    cpdef int accumulate(self, long outer, long now) except -1
    cpdef int end(self, long now) except -1

cdef class MatrixReduce(Accumulator):
    cpdef int end(self, long now) except -1
