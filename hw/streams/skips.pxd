cimport cython

from fiberscope.hw.streams.growing cimport Growing
from fiberscope.sim.channel cimport Channel

cdef long DATA, STOP

@cython.final
cdef class Skips:
    cdef readonly bint public
    cdef readonly bint pending
    cdef readonly long kind
    cdef readonly long coordinate
    cdef readonly long fiber
    cdef readonly long last
    cdef readonly long stops_waiting
    cdef readonly Growing waiting
    cdef readonly long next
    cdef readonly long sent_stops
    cdef readonly long stops
    cdef readonly long applied
    cdef readonly long late
    cdef readonly long overtaken
    cdef readonly long longest_queue

    cpdef int hear(self, Channel port) except -1
    cpdef long queued(self) noexcept
    cpdef bint can_take(self) noexcept
    cpdef int sent(self, long coordinate) except -1
    cpdef int sent_stop(self) except -1
    cpdef bint apply(self) except -1
    cdef int _queue(self, long kind, long coordinate) except -1
    cdef void _supersede(self) noexcept
    @cython.locals(stop=bint)
    cdef int _take(self) except -1
    cdef bint _applies(self, bint stop) noexcept
