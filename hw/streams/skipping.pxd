cimport cython

from fiberscope.hw.streams.compressed cimport CompressedScanner
from fiberscope.hw.streams.skips cimport Skips
from fiberscope.sim.channel cimport Channel

cdef long DATA, EMPTY, STOP, IN_FIBER, Q7

cdef class SkippingScanner(CompressedScanner):
    cdef readonly Skips skips
    cdef readonly long skipped
    cdef public Channel in_skip
    cdef long _sent_kind
    cdef long _sent_coordinate
    cdef long _sent_reference
    cdef long _sent_cycle
    cdef long _now

    @cython.locals(wake=long)
    cpdef long tick(self, long now) except? -2
    cpdef int send(self, long kind, long coordinate, long reference) except -1
    cpdef long send_first(self, long now) except? -2
    cpdef long send_next(self, long now) except? -2
    cdef long _drain(self) except? -2
    @cython.locals(wanted=long)
    cdef long _skip(self, long due, long now) except? -2
    cdef long _repeat(self, long now) except? -2
