cimport cython

from hw.level cimport Level
from sim.channel cimport Channel
from sim.component cimport Component

cdef long DATA, STOP, NO_FIBER

cdef class LeaderFollowerIntersector(Component):
    cdef readonly Level follower
    cdef readonly bint indexed
    cdef readonly long fiber
    cdef readonly long low
    cdef readonly long high
    cdef readonly long end
    cdef readonly long lookups
    cdef readonly long probes
    cdef readonly long matches
    cdef readonly long fibers
    cdef public Channel leader
    cdef public Channel references
    cdef public Channel matches_leader
    cdef public Channel matches_follower

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef int _begin(self) except -1
    @cython.final
    cdef bint _look_up(self) noexcept
    @cython.final
    cdef long _middle(self) noexcept
    @cython.final
    cdef void _halve(self) noexcept
    @cython.final
    cdef int _go_on(self, bint found) except -1
    @cython.final
    cdef int _match(self) except -1
    @cython.final
    cdef int _finish(self) except -1
