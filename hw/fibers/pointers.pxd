cimport cython

from fiberscope.hw.memory.window cimport ReorderWindow
from fiberscope.sim.channel cimport Channel

cdef long READ, TAG_MASK, NO_LINE

@cython.final
cdef class RowPointerReader:
    cdef readonly ReorderWindow window
    cdef long base
    cdef long tag_base
    cdef long line_bytes
    cdef long pointer_bytes
    cdef long line

    cpdef int forget(self) except -1
    cpdef bint locate(self, long row, Channel requests) except -1
    cpdef int receive(self, Channel replies) except -1
