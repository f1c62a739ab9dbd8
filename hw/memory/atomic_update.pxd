cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP
cdef long LEAST, SUM
cdef long NOTHING, FIRST, END, READING

cdef class AtomicUpdate(Component):
    cdef readonly double[::1] temporary
    cdef readonly long destinations
    cdef readonly object operation
    cdef long way
    cdef readonly double neutral
    cdef readonly bint forwards
    cdef readonly long reduce_latency
    cdef readonly long window
    cdef long[::1] kinds
    cdef long[::1] places
    cdef double[::1] values
    cdef long[::1] due
    cdef long oldest
    cdef long filled
    cdef long leaving
    cdef long left
    cdef long lag
    cdef long waiting_since
    cdef long waiting_until
    cdef readonly long destination
    cdef readonly long accepted
    cdef readonly long stalls
    cdef readonly long forwarded
    cdef public Channel updates
    cdef public Channel reads
    cdef public Channel touched
    cdef public Channel temporaries

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _shows(self) noexcept
    @cython.final
    cdef bint _leave(self, long now) except -1
    @cython.final
    cdef Channel _sink(self)
    @cython.final
    @cython.locals(slot=long)
    cdef int _send(self) except -1
    @cython.final
    @cython.locals(clock=long, match=long)
    cdef bint _accepts(self, long now) noexcept
    @cython.final
    cdef long _end_of_wait(self, long match) noexcept
    @cython.final
    @cython.locals(behind=long, slot=long)
    cdef long _youngest(self, long place) noexcept
    @cython.final
    @cython.locals(place=long, before=double, first=bint)
    cdef int _accept(self, long now) except -1
    @cython.final
    @cython.locals(place=long)
    cdef int _read(self, long now) except -1
    @cython.final
    cdef double _reduced(self, double before, double value) except? -1.0
    @cython.final
    @cython.locals(slot=long)
    cdef void _enter(self, long now, long kind, long place, double value) noexcept
    @cython.final
    @cython.locals(slot=long)
    cdef long _next(self) noexcept
    @cython.final
    cdef int _check(self, long place) except -1
