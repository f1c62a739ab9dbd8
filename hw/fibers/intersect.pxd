cimport cython

from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, FIBER_NUMBERS, NEITHER, SIDE_A, SIDE_B, NO_COORDINATE

cdef class Intersector(Component):
    cdef readonly bint begun
    cdef readonly long steps
    cdef readonly long matches
    cdef readonly long dropped
    cdef readonly long fibers
    cdef public Channel a
    cdef public Channel b
    cdef public Channel matches_a
    cdef public Channel matches_b

    @cython.final
    cdef long _wait_for_head(self, bint shown_a, bint shown_b) except? -2
    @cython.final
    cdef bint _has_space(self) noexcept
    @cython.final
    cdef long _wait_for_space(self) except? -2
    @cython.final
    cdef void _drop(self, long elements) noexcept
    @cython.final
    cdef void _count_match(self) noexcept
    @cython.final
    cdef int _push_stops(self) except -1

cdef class TwoFingerIntersector(Intersector):
    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _lagging(self) noexcept
    @cython.final
    cdef int _pair(self) except -1
    @cython.final
    cdef int _drop_head(self, Channel side) except -1

@cython.final
cdef class Window:
    cdef readonly long size
    cdef readonly long held
    cdef long _head
    cdef long[::1] _controls
    cdef long[::1] _coordinates
    cdef long[::1] _references
    cdef double[::1] _values

    cdef long _place(self, long index) noexcept
    cpdef int fill(self, Channel source) except -1
    cpdef bint stopped(self) noexcept
    cpdef long coordinate(self) noexcept
    cpdef int send(self, Channel matches) except -1
    cdef void leave(self, long tokens) noexcept
    cdef long below(self, long coordinate) noexcept
    cdef long elements(self) noexcept

cdef class SkipAheadIntersector(Intersector):
    cdef readonly long window
    cdef readonly Window window_a
    cdef readonly Window window_b
    cdef readonly long skipping
    cdef readonly bint told
    cdef readonly long continued
    cdef readonly long skips
    cdef public Channel skips_a
    cdef public Channel skips_b

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef long _step(self, long now) except? -2
    @cython.final
    cdef int _pair(self, bint stopped) except -1
    @cython.final
    cdef int _skip(self, long side, long coordinate) except -1
    @cython.final
    cdef int _drop_rest(self, long side) except -1
    @cython.final
    cdef int _leave(self, long side, long elements, long control, long coordinate) except -1
    @cython.final
    cdef Window _window(self, long side)

cdef long _shown(Window window) noexcept
