cimport cython

from fiberscope.accelerators.graphicionado.store cimport Edges, Vertices
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP
cdef long FREE, READING, STOPPED, ENDED

cdef class EdgePipe(Component):
    cdef Edges store
    cdef Vertices of
    cdef long streams
    cdef bint all_active
    cdef long turn
    cdef long through
    cdef long told
    cdef long readers
    cdef signed char[::1] states
    cdef long[::1] vertices
    cdef long[::1] ends
    cdef long[::1] firsts
    cdef long[::1] behind
    cdef double[::1] properties
    cdef readonly long edges
    cdef readonly long passed
    cdef readonly long dropped
    cdef public list sources
    cdef public list elements
    cdef public list stops
    cdef public Channel sent

    @cython.locals(progress=bint, blocked=bint, sent=bint, source=Channel)
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _is_free(self) noexcept
    @cython.final
    @cython.locals(sources=Channel)
    cdef bint _begin(self, long reader) except -1
    @cython.final
    cdef int _turn_to(self, long reader, long vertex) except -1
    @cython.final
    @cython.locals(stops=Channel)
    cdef bint _wants_sending(self, long reader, Channel source) except -1
    @cython.final
    cdef bint _is_of_present(self, long reader, long edge) except -1
    @cython.final
    cdef int _send(self, long reader, Channel source) except -1
    @cython.final
    cdef long _tell(self, long now) except? -2
