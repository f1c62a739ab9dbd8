cimport cython

from sim.channel cimport Channel
from sim.component cimport Component

cdef long DATA, STOP, WAY_BITS, WAY_MASK

cdef long IDLE_PHASE, LOADING, EMITTING, ENDING

cdef class HighRadixMerger(Component):
    cdef readonly long radix
    cdef readonly bint merging
    cdef readonly long task
    cdef readonly long fan_in
    cdef readonly long loaded
    cdef readonly long emptied
    cdef readonly long size
    cdef long[::1] heap
    cdef readonly long merged_elements
    cdef readonly long merges
    cdef public Channel tasks
    cdef public list ways
    cdef public Channel merged

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _begin(self) except -1
    @cython.final
    @cython.locals(way=Channel)
    cdef long _see_heads(self) except -2
    @cython.final
    @cython.locals(way=Channel)
    cdef int _emit(self) except -1
    @cython.final
    cdef void _sift_up(self, long place, long key) noexcept
    @cython.final
    cdef void _sift_down(self, long key) noexcept
    @cython.final
    cdef long _phase(self) noexcept
    @cython.final
    cdef long _head(self, long place) noexcept

cdef long _way_of(long key) noexcept
