cimport cython

from fiberscope.hw.fibers.packing cimport LinePacker
from fiberscope.hw.streams.block cimport StreamBlock
from fiberscope.sim.channel cimport Channel

cdef long DATA, DONE, EMPTY, STOP, WRITE

cdef class LineWriter(StreamBlock):
    cdef readonly long base
    cdef readonly LinePacker packer
    cdef readonly bint of_stops
    cdef readonly long entries
    cdef readonly long lines
    cdef public Channel in_stream
    cdef public Channel requests

    @cython.locals(kind=long)
    cpdef long update(self, long now) except? -2
    @cython.final
    cdef bint _has_entry(self, long kind) noexcept
    @cython.final
    cdef bint _writes(self, long kind) noexcept
