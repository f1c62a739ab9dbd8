cimport cython

from fiberscope.hw.fibers.level cimport Level
from fiberscope.sim.channel cimport Channel
from fiberscope.sim.component cimport Component

cdef long DATA, STOP, FIBER_NUMBERS, NO_FIBER, NO_TARGET

cdef class LevelScanner(Component):
    cdef readonly Level level
    cdef readonly long window
    cdef readonly long fiber
    cdef readonly long position
    cdef readonly long end
    cdef readonly long target
    cdef readonly long scanned
    cdef readonly long fibers
    cdef readonly long skipped
    cdef readonly long heeded
    cdef readonly long late
    cdef public Channel references
    cdef public Channel skips
    cdef public Channel elements

    cpdef long tick(self, long now) except? -2
    @cython.final
    cdef bint _hear(self) except -1
    @cython.final
    cdef int _begin(self) except -1
    @cython.final
    cdef long _pass_over(self) noexcept
    @cython.final
    cdef int _send(self) except -1
