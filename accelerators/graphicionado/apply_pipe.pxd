cimport cython

from fiberscope.accelerators.graphicionado.store cimport Frontier, Vertices
from fiberscope.sim cimport words
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, WRITE, ONE
cdef long MIN, RANK, OWN
cdef double DAMPING

cdef class ApplyPipe(Component):
    cdef Vertices vertices
    cdef Frontier frontier
    cdef object function
    cdef long way
    cdef double neutral
    cdef long base
    cdef long line_bytes
    cdef long line_vertices
    cdef bint write_all
    cdef bint lists
    cdef long busy_until
    cdef bint under_way
    cdef long line
    cdef long mask
    cdef long leaving_line
    cdef long leaving
    cdef readonly long applied
    cdef readonly long changed
    cdef readonly long lines_applied
    cdef readonly long lines_written
    cdef public Channel lines
    cdef public Channel requests
    cdef public Channel entries

    @cython.locals(progress=bint)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _wait(self, long now, bint progress) except? -2
    @cython.final
    cdef bint _list(self) except -1
    @cython.final
    cdef bint _can_end(self) except -1
    @cython.final
    cdef int _begin_line(self, long now) except -1
    @cython.final
    cdef int _end_line(self) except -1
    @cython.final
    cdef long _apply(self) except -1
    @cython.final
    @cython.locals(store=Vertices)
    cdef bint _changes(self, long vertex) except -1
    @cython.final
    cdef double _new(self, double old, double reduced, long vertex) except? -1
    @cython.final
    cdef long _stop(self, long now, bint progress) except? -2
