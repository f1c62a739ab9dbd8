cimport cython

from fiberscope.accelerators.graphicionado.store cimport Edges, Frontier
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, OPEN, START_BYTES

cdef class Dispatcher(Component):
    cdef Edges edges
    cdef Frontier frontier
    cdef long vertex_count
    cdef long group
    cdef bint counted
    cdef long coarsen
    cdef long line_bytes
    cdef long turn
    cdef long readers
    cdef readonly long dealt
    cdef readonly long vertices
    cdef public Channel entries
    cdef public Channel wanted
    cdef public Channel starts
    cdef public list jobs
    cdef public list sources

    @cython.locals(looked_up=bint, progress=bint, ready=Channel)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _look_up(self) except -1
    @cython.final
    cdef long _first(self, long place) noexcept
    @cython.final
    @cython.locals(jobs=Channel, sources=Channel)
    cdef bint _deal(self, Channel ready) except -1
    @cython.final
    @cython.locals(jobs=Channel, sources=Channel)
    cdef long _roomiest(self) except -2
    @cython.final
    @cython.locals(sources=Channel)
    cdef bint _end(self, Channel ready) except -1
