cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, NO_LINE, ONE
cdef long IDLE, ALL, SELECTED, REST

cdef class ApplyOrder(Component):
    cdef readonly long line_vertices
    cdef long block_lines
    cdef long whole
    cdef long first
    cdef long end
    cdef readonly long phase
    cdef long line
    cdef long mask
    cdef long left
    cdef readonly long lines
    cdef public Channel applies
    cdef public Channel found
    cdef public Channel wanted

    cpdef int select(self, long first, long end) except -1
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef int _begin(self) except -1
    @cython.final
    @cython.locals(passed=bint)
    cdef long _want_next(self, long now) except? -2
    @cython.final
    cdef int _want(self, long mask) except -1
    @cython.final
    @cython.locals(found=Channel)
    cdef bint _pass_one(self) except -1
    @cython.final
    cdef long _pass_by(self, long now) except? -2
    @cython.final
    cdef long _end(self, long now) except? -2
    @cython.final
    @cython.locals(found=Channel, stops=bint, bit=long)
    cdef long _select(self, long now) except? -2
    @cython.final
    cdef int _add(self, long bit) except -1
    @cython.final
    cdef long _want_selected(self, long now) except? -2
    @cython.final
    cdef long _want_of_block(self, long now) except? -2
