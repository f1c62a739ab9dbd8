cimport cython

from fiberscope.hw.fibers.packing cimport LinePacker
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long PORT_SHIFT, STOP, WRITE

cdef class ListWriter(Component):
    cdef readonly long base
    cdef long tag
    cdef LinePacker packer
    cdef readonly long listed
    cdef readonly long entries_taken
    cdef readonly long lines
    cdef public Channel entries
    cdef public Channel requests
    cdef public Channel ends

    @cython.locals(stops=bint, writes=bint)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef int _add(self) except -1
    @cython.final
    cdef int _finish(self) except -1
