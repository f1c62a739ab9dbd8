cimport cython

from sim.channel cimport Channel
from sim.component cimport Component

cdef long PORT_SHIFT

cdef class Crossbar(Component):
    cdef readonly long interleave_bytes
    cdef readonly long transfers
    cdef readonly long conflicts
    cdef readonly list inputs
    cdef readonly list outputs
    cdef long input_count
    cdef long output_count
    cdef readonly long[::1] turns
    cdef long[::1] winners
    cdef long[::1] contenders
    cdef long[::1] wanted

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _arbitrate(self) except -1
    @cython.final
    cdef long _route(self, Channel source) except -1
    @cython.final
    cdef int _grant(self, long output) except -1
    @cython.final
    cdef int _move(self, Channel source, long output) except -1
    @cython.final
    cdef Channel _input(self, long index)
    @cython.final
    cdef Channel _output(self, long index)
