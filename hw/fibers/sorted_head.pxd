cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, LIST_BITS
cdef long IDLE_PHASE, TAKING, WALKING

@cython.final
cdef class SortedHeads:
    cdef readonly long filled
    cdef long[::1] _keys

    cpdef long position(self, long column, long source) noexcept
    @cython.locals(key=long, position=long, place=long, moved=long)
    cpdef long push(self, long column, long source) noexcept
    cpdef long column(self) noexcept
    cpdef long source(self) noexcept
    cpdef void pop(self) noexcept
    @cython.locals(place=long)
    cdef long _before(self, long key) noexcept

cdef class SortedHeadUnit(Component):
    cdef readonly long entries
    cdef readonly str form
    cdef readonly bint walks
    cdef readonly SortedHeads heads
    cdef double[::1] values
    cdef readonly long phase
    cdef readonly long row
    cdef readonly long lists
    cdef readonly long awaited
    cdef readonly long placed
    cdef readonly long rows
    cdef readonly long merged_elements
    cdef readonly long swaps
    cdef public Channel tasks
    cdef public Channel elements
    cdef public Channel merged
    cdef public Channel successors

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _begin(self, long now) except? -2
    @cython.final
    cdef long _position(self) noexcept
    @cython.final
    cdef long _walk(self, long now) except? -2
    @cython.final
    cdef long _end_of_walk(self, long now) except? -2
    @cython.final
    cdef bint _is_blocked(self) noexcept
    @cython.final
    cdef Channel _blocking(self)
    @cython.final
    cdef bint _stays(self) noexcept
    @cython.final
    @cython.locals(source=long, column=long, position=long)
    cdef int _take(self) except -1
    @cython.final
    cdef int _check(self, long column, long source) except -1
    @cython.final
    cdef long _let_leave(self, long now) except? -2
    @cython.final
    @cython.locals(source=long)
    cdef int _emit(self) except -1
